"""What a hook costs an agent, beside a bare Python start: `memsearch hook claude-code Stop`,
`SessionStart` and `UserPromptSubmit`.

    python benchmarks/hook.py                # about 3 minutes

Hooks are started as `memsearch plugins install` writes them, beside `python -I -c pass`.

Whole processes, run in turn, with payloads as Claude Code 2.1 sends them, with the service up and
down; every Stop names another turn of a session whose transcript exists. "python, _json and os" has
the modules that any hook
must import to read JSON and write a file: what is left above it is ours.

At a prompt and around an action the hook waits for what bears on it, in a project of --chunks notes
(random vectors, see fill.py) and as many turns with five actions each, with the prompts of
tests/evaluation/recall; the service is given all the time it wants, so that late answers show.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from common import END, Product, Report, Run, arguments, in_turn, make_corpus, p95, run, workplace
from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.installing import hook_argv
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm.injected import prepare

from memsearch_tui.demo.history import build
from tests.evaluation.recall import chats


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument(
        "--chunks", type=int, default=10_000, help="notes of the project in which prompts are sent"
    )
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (folder, product):
        project = build(folder / "demo", END, 400).projects["orders-api"]
        product.root = project
        agent = {"CLAUDE_CONFIG_DIR": str(folder / "demo" / "agents" / "claude")}
        product.env.update(agent)
        os.environ.update(agent)  # the service is started from here
        measure(report, product, folder, options.times)
    with workplace() as (folder, product):
        make_corpus(product.root, options.chunks)
        product.fill()
        at_prompts(report, product, options)
    report.save()


def at_prompts(report: Report, product: Product, options) -> None:
    origin = Origin(product.home)
    origin.trust(product.place.memory)
    origin.close()
    product.home.config.write_text("[recall]\nwait_ms = 3000\n")
    product.start().close()
    registry = Registry(product.home)
    prepare(product.home, product.place.memory, registry.at(product.place).id)  # what hooks read
    registry.close()
    prompts = cycle(
        case["prompt"] for voice in chats.voices() for case in (*voice.cases, *voice.none)
    )

    def hook() -> Run:
        payload = {"session_id": "s", "prompt": next(prompts), "cwd": str(product.root)}
        argv = [*hook_argv(), "hook", "claude-code", "UserPromptSubmit"]
        return run(argv, product.env, product.root, json.dumps(payload).encode())

    def around(event: str) -> Run:
        payload = {"session_id": "s", "cwd": str(product.root), **next(actions[event])}
        argv = [*hook_argv(), "hook", "claude-code", event]
        return run(argv, product.env, product.root, json.dumps(payload).encode())

    actions = acted(product, options.chunks)
    ways = {
        "python -I -c pass": lambda: run([sys.executable, "-I", "-c", "pass"], product.env),
        "hook UserPromptSubmit": hook,
        "hook PreToolUse": lambda: around("PreToolUse"),
        "hook PostToolUseFailure": lambda: around("PostToolUseFailure"),
    }
    found = in_turn(ways, 2 * options.times, warm=2)
    report.processes(
        f"at a prompt and around an action, {options.chunks:,} notes", found, ["python -I -c pass"]
    )
    for way in list(ways)[1:]:
        print(f"{way}, p95: {p95(run.wall for run in found[way]):.0f} ms")


def acted(product: Product, turns: int) -> dict[str, Iterator[dict]]:
    """Record the actions of many turns; return payloads about their files, commands and errors."""
    chance = random.Random(7)
    files = [f"app/part_{n % 40}/module_{n}.py" for n in range(400)]
    actions = ActionIndex(product.home)
    errors = [
        f"RuntimeError: worker {word} lost its lease on shard {n}"
        for n in range(40)
        for word in ("alpha", "beta", "gamma")
    ]
    for number in range(turns):
        error, file = chance.choice(errors), chance.choice(files)
        command = f"pytest tests/test_{number % 300}.py -q"
        turn = Turn(
            "claude-code",
            f"session-{number // 20}",
            f"turn-{number}",
            tools=[
                ToolCall("Bash", json.dumps({"command": command}), error, True),
                ToolCall("Edit", json.dumps({"file_path": file})),
                ToolCall("Bash", f"make step-{number % 50}"),
                ToolCall("Bash", command, "3 passed"),
                ToolCall("Bash", f"git commit -m 'step {number}'"),
            ],
        )
        actions.put(turn, product.place.memory, f"{number:012x}", 1.7e9 + 600 * number)
    actions.close()
    before = [
        {"tool_name": "Edit", "tool_input": {"file_path": str(product.root / file)}}
        for file in files[:20]
    ]
    before += [
        {"tool_name": "Bash", "tool_input": {"command": f"pytest tests/test_{n}.py -q"}}
        for n in range(20)
    ]
    after = [
        {"tool_name": "Bash", "tool_input": {"command": "pytest"}, "error": error}
        for error in errors
    ]
    return {"PreToolUse": cycle(before), "PostToolUseFailure": cycle(after)}


def measure(report: Report, product: Product, folder: Path, times: int) -> None:
    turns = cycle(sorted(_turns(folder / "demo" / "agents" / "claude")))
    base = {
        "python -I -c pass": lambda: run([sys.executable, "-I", "-c", "pass"], product.env),
        "python, _json and os": lambda: run(
            [*hook_argv()[:-1], "-c", "import _json, os, select, time"], product.env
        ),
    }

    def hook(event: str) -> Run:
        transcript, prompt = next(turns)
        payload = {
            "session_id": transcript.stem,
            "transcript_path": str(transcript),
            "cwd": str(product.root),
            "permission_mode": "default",
            "hook_event_name": event,
        }
        if event == "Stop":
            payload |= {
                "prompt_id": prompt,
                "stop_hook_active": False,
                "last_assistant_message": "Prices are integer minor units now. " * 40,
                "background_tasks": [],
                "session_crons": [],
            }
        else:
            payload |= {"source": "startup", "model": "claude-sonnet-4-5"}
        argv = [*hook_argv(), "hook", "claude-code", event]
        return run(argv, product.env, product.root, json.dumps(payload).encode())

    for state in ("service down", "service up"):
        connection = product.start() if state == "service up" else None
        ways = base | {
            f"hook {event}": lambda event=event: hook(event) for event in ("Stop", "SessionStart")
        }
        report.processes(state, in_turn(ways, times, warm=2), ["python -I -c pass"])
        if connection:
            done = connection.call("inbox", dict, timeout_s=300)
            connection.close()
            waiting = {event["reason"] for event in done["waiting"]}
            print(
                "then in the queue: "
                f"{len(done['waiting'])} events {' / '.join(sorted(waiting)[:3])[:200]}"
            )


def _turns(folder: Path) -> set[tuple[Path, str]]:
    """Every (transcript, prompt id) of the sample year."""
    return {
        (path, prompt)
        for path in folder.rglob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
        if (prompt := json.loads(line).get("promptId"))
    }


if __name__ == "__main__":
    main()
