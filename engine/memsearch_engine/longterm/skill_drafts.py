"""Has a model draft skills from procedures that recur in a project's notes.

A draft must cite notes of several days or sessions. Its commands must have run in this project. It
follows the Agent Skills specification (https://agentskills.io/specification).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator

import msgspec

from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, SkillTask
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.text import balance_fences, plain
from memsearch_engine.longterm.drafting import Drafting, Material, quoted
from memsearch_engine.longterm.skills import (
    TASK,
    all_of,
    chosen,
    hash_of,
    keep,
    render,
    slug_of,
    validated,
    write,
    written,
)
from memsearch_engine.secrets.scan import redact

_MAX_SKILLS, _MAX_BODY, _MAX_LINES = 5, 12_000, 160
_COMMANDS = 60  # maximum commands that a model receives
_SHOWN, _SHOWN_CHARACTERS = 8, 3000  # maximum skills that a model receives, and characters of each
#: Code languages that are not run line by line in a shell.
_NO_SHELL = frozenset(
    "python py json jsonc yaml yml toml ini xml html css scss sql js javascript ts typescript tsx "
    "jsx go rust java kotlin c cpp csharp ruby php "
    "markdown md diff patch text txt output log".split()
)
#: Programs that do harm or download code, whatever the source of the command.
_PROGRAMS = frozenset(
    "rm curl wget sudo chmod chown dd git ssh scp rsync kill pkill docker kubectl helm terraform "
    "npm npx pnpm yarn pip pipx uv poetry sh bash zsh eval "
    "source mv cp make python python3 node cargo go mkfs crontab systemctl".split()
)
_CODE = re.compile(r"`([^`\n]+)`")
_PLACEHOLDER = re.compile(r"<[a-z][\w -]{0,40}>")


class Drafted(msgspec.Struct, forbid_unknown_fields=True):
    """A skill in a model's answer. ``notes``: ids of the notes that support it."""

    name: str
    description: str
    body: str
    notes: list[str]
    reason: str = ""


class SkillsAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON object that a model must answer with."""

    skills: list[Drafted]


class SkillDraftResult(msgspec.Struct):
    """The result of a run.

    Attributes:
        state: ``drafted``, ``unchanged``, ``skipped``, ``failed``.
        names: the skills that were drafted or revised.
        refused: name of a proposed skill -> why it was refused.
    """

    state: str
    reason: str = ""
    names: list[str] = []
    refused: dict[str, str] = {}
    tokens: int = 0


def distill(
    home: Home,
    settings: Settings,
    project: Project,
    *,
    force: bool = False,
    agent: str = "",
    provider: str = "",
    model: str = "",
    stop: Callable[[], bool] = lambda: False,
) -> SkillDraftResult:
    """Have skills drafted from recurring procedures; see ``Drafting``.

    Args:
        agent: the agent that provides the settings table.

    Raises:
        SettingsError: the settings name no model.
    """
    plugin = settings.plugins.get(agent) if agent else None
    name, task = (
        (agent, plugin.memory_to_skill)
        if plugin and plugin.memory_to_skill
        else chosen(settings) or (agent, SkillTask())
    )
    if not provider and not (task.enabled or (force and agent)):
        raise SettingsError(
            "no model may be asked for skills",
            f"memsearch config set plugins.claude-code.{TASK}.enabled true, or name one: "
            "--provider NAME",
        )
    drafting = _SkillDrafting(
        home, settings, project, name, task, provider=provider, model=model, stop=stop
    )
    return drafting.run(force=force)


class _SkillDrafting(Drafting[SkillTask, SkillsAnswer, SkillDraftResult]):
    kind, shape = TASK, SkillsAnswer

    def result(self, state: str, reason: str) -> SkillDraftResult:
        return SkillDraftResult(state, reason)

    def room(self) -> int:
        return max(1000, self.settings.documents.input_tokens * 3 // 4)

    def system(self) -> str:
        least = str(self.task.min_occurrences)
        return super().system().replace("MIN_OCCURRENCES", least)

    def question(self, material: Material) -> str:
        home, project = self.home, self.project
        parts = ["Which procedures recur?"]
        existing = [candidate for candidate in all_of(home, project) if not candidate.is_strange][
            :_SHOWN
        ]
        if existing:
            parts += [
                "",
                "Skills that exist:",
                *(
                    "<skill>\n"
                    f"{quoted(redact(plain(skill.text), home)[0][:_SHOWN_CHARACTERS])}\n"
                    "</skill>"
                    for skill in existing
                ),
            ]
        if commands := _recurring(home, project):
            parts += [
                "",
                "Commands that were run in several sessions (sessions, command):",
                *commands,
            ]
        return "\n".join([*parts, "", f"<notes>\n{quoted(material.text)}\n</notes>"])

    def take(self, answer: SkillsAnswer, material: Material) -> SkillDraftResult:
        found = SkillDraftResult("unchanged", "nothing that recurs is worth a skill")
        with contextlib.closing(ActionIndex(self.home)) as actions:
            confirmed = _confirmer(actions, self.project)
        for drafted in answer.skills[:_MAX_SKILLS]:
            name = slug_of(drafted.name)
            body, why = checked_body(self.home, drafted.body, confirmed)
            if not name or not body:
                found.refused[drafted.name[:80]] = why or "it has no name"
            elif refusal := self._refused(name, body, drafted, material):
                found.refused[name] = refusal
            else:
                found.names.append(name)
        if found.names:
            found.state, found.reason = "drafted", ""
        elif found.refused:
            found.reason = "; ".join(f"{name}: {why}" for name, why in found.refused.items())
        return found

    def _refused(self, name: str, body: str, drafted: Drafted, material: Material) -> str:
        """Write a draft. Returns why it was refused; '' if it was written."""
        cited = (note[:12] for note in drafted.notes)
        sources = list(dict.fromkeys(note for note in cited if note in material.notes))
        notes = [material.notes[source] for source in sources]
        seen = len({note.session or note.day for note in notes})
        known = {candidate.name: candidate for candidate in all_of(self.home, self.project)}
        old = known.get(name)
        if orders(drafted.description, his_words=False):
            return "its description reads like an order to agents"
        if seen < self.task.min_occurrences:
            return f"seen in {seen} sessions or days, {self.task.min_occurrences} are wanted"
        if old is not None and written(self.home).get(hash_of(old.text)) != "model":
            return "it exists, and was written or edited by hand"
        if old is not None and not set(sources) - set(old.sources):
            return "it exists, and no new note speaks for another text"
        text = render(name, drafted.description, body, self.home)
        if problems := validated(name, text):
            return problems[0]
        if old is not None:
            keep(self.home, self.project, old)
        write(
            self.home,
            self.project,
            name,
            text,
            drafted.description,
            sources,
            seen,
            drafted.reason,
            "model",
        )
        return ""


def _recurring(home: Home, project: Project) -> list[str]:
    sessions: dict[str, set[str]] = {}
    with contextlib.closing(ActionIndex(home)) as actions:
        for act in actions.that_worked([project.memory]):
            if not act.outside:
                sessions.setdefault(act.command, set()).add(act.session)
    often = sorted(
        ((len(of), command) for command, of in sessions.items() if len(of) > 1), reverse=True
    )[:_COMMANDS]
    return [f"{count}  {redact(plain(command), home)[0][:200]}" for count, command in often]


def _confirmer(actions: ActionIndex, project: Project) -> Callable[[str], bool]:
    """Return a function that says whether a command has succeeded in this project.

    Text in <angle brackets> matches anything.
    """
    ran = {" ".join(act.command.split()) for act in actions.that_worked([project.memory])}

    def confirmed(line: str) -> bool:
        line = " ".join(line.removeprefix("$ ").split())
        if line in ran:
            return True
        pattern = r"\S+".join(map(re.escape, _PLACEHOLDER.split(line)))
        return bool(_PLACEHOLDER.search(line)) and any(
            re.fullmatch(pattern, command) for command in ran
        )

    return confirmed


def checked_body(home: Home, body: str, confirmed: Callable[[str], bool]) -> tuple[str, str]:
    """Clean the text of a skill and check it.

    The text must have no secret, comment, front matter or order to an agent, and no command that
    was never run, in any code block.

    Returns:
        The clean text, and why it is refused ('' if it is valid).
    """
    lines = [
        line.rstrip()
        for line in redact(plain(body), home)[0][:_MAX_BODY].strip().splitlines()[:_MAX_LINES]
        if "<!--" not in line
        and "memsearch-memory" not in line
        and line.strip() != "---"
        and not orders(line, his_words=False)
    ]
    text = balance_fences("\n".join(lines).strip())
    if not any(char.isalnum() for char in text):
        return "", "it says nothing"
    if orders(" ".join(text.split()), his_words=False):
        return "", "it reads like an order to agents"
    for line in _commands(text):
        if not confirmed(line):
            return "", f"it has a command that was never run here: {line[:80]}"
    return text, ""


def _commands(text: str) -> Iterator[str]:
    """Yield the lines of code that an agent may take for commands.

    They are all blocks except those of another language, and inline code that calls a program
    (CommonMark).
    """
    from markdown_it import MarkdownIt  # takes 90 ms, and few commands need it

    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block"):
            language = re.split(r"[\s{]", token.info.strip().lower(), maxsplit=1)[0]
            for line in token.content.splitlines() if language not in _NO_SHELL else ():
                if line.strip() and not line.lstrip().startswith("#"):
                    yield line.strip()
        elif token.type == "inline":
            for code in _CODE.findall(token.content):
                words = code.strip().removeprefix("$ ").split()
                if len(words) > 1 and os.path.basename(words[0]) in _PROGRAMS:
                    yield code.strip()
