"""A home, sessions of Claude Code that have become quiet, and a model on loopback that reads and
writes memory.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import locate
from memsearch_engine.core.settings import Provider, Settings
from memsearch_engine.core.settings_schema import LlmSettings, LongtermSettings, PhaseModelSettings
from memsearch_engine.longterm import pipeline

from tests.mock_model import MockModel, Reply

HOUR = 3600.0


class Desk:
    """``learn``: what the model answers to a session, by a word in it; ``edit``: what it does to
    the files, step by step.
    """

    def __init__(self, root: Path, kind: str = "openai") -> None:
        self.root, self.home = root, Home(root / "home").ensure()
        self.claude = root / "claude" / "projects"
        self.learn: dict[str, dict[str, Any] | str | int] = {}
        self.edit: Callable[[Desk], list[Reply]] = lambda desk: desk.write_all()
        self._steps: list[Reply] | None = None
        self.model = MockModel(self._reply)
        provider = Provider(type=kind, base_url=f"{self.model.url}/v1", api_key="k", model="m")  # type: ignore[arg-type]
        self.settings = Settings(
            llm=LlmSettings(providers={"mine": provider}),
            longterm=LongtermSettings(
                enabled=True,
                extract=PhaseModelSettings(provider="mine"),
                consolidate=PhaseModelSettings(provider="mine"),
            ),
        )
        self.folders = AgentFolders({"claude-code": [self.claude]})

    # -- sessions

    def project(self, name: str = "shop") -> Path:
        folder = self.root / name
        (folder / ".memsearch" / "memory").mkdir(parents=True, exist_ok=True)
        return folder

    def scope(self, name: str = "shop") -> str:
        registry = Registry(self.home)
        try:
            return registry.at(locate(self.project(name), self.home)).id
        finally:
            registry.close()

    def session(
        self,
        said: str,
        answer: str = "It is done.",
        *,
        project: str = "shop",
        hours: float = 24.0,
        name: str = "",
        tool: tuple[str, str, str] | None = None,
    ) -> str:
        """Write a session that has been quiet for so many hours. Returns its id."""
        name = name or str(uuid.uuid4())
        cwd = str(self.project(project))
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - hours * HOUR))
        base = {
            "sessionId": name,
            "cwd": cwd,
            "timestamp": at,
            "version": "2.1.330",
            "isSidechain": False,
            "userType": "external",
        }
        lines: list[dict[str, Any]] = [
            {
                **base,
                "type": "user",
                "uuid": "u1",
                "parentUuid": None,
                "promptId": f"p-{name}",
                "message": {"role": "user", "content": said},
            }
        ]
        if tool:
            lines += [
                {
                    **base,
                    "type": "assistant",
                    "uuid": "a0",
                    "parentUuid": "u1",
                    "message": {
                        "id": "m0",
                        "role": "assistant",
                        "content": [
                            {
                                "type": "tool_use",
                                "id": "t1",
                                "name": tool[0],
                                "input": {"command": tool[1]},
                            }
                        ],
                        "stop_reason": "tool_use",
                    },
                },
                {
                    **base,
                    "type": "user",
                    "uuid": "u2",
                    "parentUuid": "a0",
                    "promptId": f"p-{name}",
                    "message": {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "t1", "content": tool[2]}
                        ],
                    },
                },
            ]
        lines.append(
            {
                **base,
                "type": "assistant",
                "uuid": "a1",
                "parentUuid": lines[-1]["uuid"],
                "message": {
                    "id": "m1",
                    "role": "assistant",
                    "content": [{"type": "text", "text": answer}],
                    "stop_reason": "end_turn",
                },
            }
        )
        folder = self.claude / "-shop"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        quiet = time.time() - hours * HOUR
        os.utime(path, (quiet, quiet))
        return name

    def touch(self, name: str, hours: float) -> None:
        """The session goes on, and becomes quiet again."""
        path = self.claude / "-shop" / f"{name}.jsonl"
        quiet = time.time() - hours * HOUR
        os.utime(path, (quiet, quiet))

    # -- the model

    def _reply(self, request: dict[str, Any]) -> Reply:
        text = json.dumps(request, ensure_ascii=False)
        if "finished session of a coding agent" in text:
            for word, answer in self.learn.items():
                if word in text:
                    return answer if isinstance(answer, str | int) else json.dumps(answer)
            return json.dumps({"raw_memory": "", "rollout_summary": "", "rollout_slug": None})
        if self._steps is None:
            self._steps = list(self.edit(self))
        if self._steps:
            return self._steps.pop(0)
        self._steps = None
        return "The files are up to date."

    def write_all(self) -> list[Reply]:
        """One bullet per memory: under its project, or everywhere."""
        from memsearch_engine.longterm.store import SessionMemories

        bullets: dict[str, list[str]] = {}
        for memory in SessionMemories(self.home).select(self.settings.longterm.memories):
            for line in memory.raw_memory.splitlines():
                scope, _, words = line.lstrip("- ").partition(") ")
                heading = (
                    "## Everywhere"
                    if scope == "(everywhere"
                    else f"## Project {memory.project_name} ({memory.project[:8]})"
                )
                bullets.setdefault(heading, []).append(f"- {words} [mem:{memory.id}]")
        body = (
            "\n\n".join("\n".join([heading, *lines]) for heading, lines in sorted(bullets.items()))
            or "## Everywhere"
        )
        return [
            ("list_files", {}),
            ("read_file", {"path": "raw_memories.md", "first_line": 1, "lines": 500}),
            ("write_file", {"path": "MEMORY.md", "content": body + "\n"}),
            ("write_file", {"path": "memory_summary.md", "content": f"v1\n\n{body}\n"}),
        ]

    def teaches(self, word: str, *bullets: str, slug: str = "a-lesson") -> None:
        raw = "\n".join(f"- {bullet}" for bullet in bullets)
        self.learn[word] = {
            "raw_memory": raw,
            "rollout_summary": f"The session was about {word}.",
            "rollout_slug": slug,
        }

    # -- running

    def run(self, **how: Any) -> pipeline.RunReport:
        return pipeline.run(self.home, self.settings, self.folders, **how)

    def file(self, name: str) -> str:
        path = self.home.longterm / name
        return path.read_text() if path.exists() else ""
