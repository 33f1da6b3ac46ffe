"""Skills drafted from what recurred: ``.memsearch/skill-candidates/<name>/SKILL.md`` with a
``meta.json`` beside it, as memsearch keeps them.

A draft is told to no agent. Installing one is the owner's act: it is copied into folders that he
names, and taken out of them byte for byte. A draft rests on notes of several days or sessions, its
commands have been run in this project, and it follows the Agent Skills specification
(https://agentskills.io/specification), checked by its reference library. Skills that consolidation
made, and the owner accepted, are candidates like these.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from memsearch_engine.actions.index import Actions
from memsearch_engine.core import agent_registry, safe_files
from memsearch_engine.core.errors import (
    MemsearchError,
    NotFound,
    SettingsError,
    Unreachable,
    UsageError,
)
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import plain
from memsearch_engine.core.settings import Settings, SkillTask
from memsearch_engine.core.state import using
from memsearch_engine.journal.disk import append, locked, replace
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.text import balance_fences
from memsearch_engine.longterm import pages, reading
from memsearch_engine.longterm.asking import Asker
from memsearch_engine.longterm.jobs import NOTHING_TO_DO, Jobs, Refusal
from memsearch_engine.longterm.reading import Material
from memsearch_engine.secrets.scan import redact

TASK: Literal["memory_to_skill"] = "memory_to_skill"
FOLDER = "skill-candidates"
_MAX_SKILLS, _MAX_BODY, _MAX_LINES = 5, 12_000, 160
_MAX_FILE = 256 * 1024
_COMMANDS = 60  # that are shown to a model
_SHOWN, _SHOWN_CHARACTERS = 8, 3000  # skills that are shown to a model, and characters of one
_MOST, _MAX_SOURCES = 500, 200
#: Languages of code that nobody runs line by line in a shell.
_NO_SHELL = frozenset(
    "python py json jsonc yaml yml toml ini xml html css scss sql js javascript ts typescript tsx jsx go rust java kotlin c cpp csharp ruby php "
    "markdown md diff patch text txt output log".split()
)
#: Programs that do harm, or bring code in, whoever names them.
_PROGRAMS = frozenset(
    "rm curl wget sudo chmod chown dd git ssh scp rsync kill pkill docker kubectl helm terraform npm npx pnpm yarn pip pipx uv poetry sh bash zsh eval "
    "source mv cp make python python3 node cargo go mkfs crontab systemctl".split()
)
_CODE = re.compile(r"`([^`\n]+)`")
_PLACEHOLDER = re.compile(r"<[a-z][\w -]{0,40}>")
SCHEMA = """
CREATE TABLE IF NOT EXISTS skills_trash (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL, skill TEXT NOT NULL, meta TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS skills_written (hash TEXT PRIMARY KEY, how TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""


class _Meta(msgspec.Struct):
    """What a ``meta.json`` says, as far as it says it in the shape that memsearch gives it."""

    name: str = ""
    status: str = "candidate"
    description: str = ""
    occurrences: int | list[Any] | None = None
    sources: list[str] = []
    reason: str = ""
    created_at: str = ""
    updated_at: str = ""
    content_hash: str = ""
    installed_hash: str = ""
    installed_at: str = ""
    installed_paths: list[str] = []

    @property
    def seen(self) -> int:
        count = self.occurrences
        return (
            count
            if isinstance(count, int)
            else len(count)
            if count is not None
            else len(self.sources)
        )


class Drafted(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str
    body: str
    notes: list[str]
    reason: str = ""


class SkillsAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What a model has to answer, key by key."""

    skills: list[Drafted]


class Candidate(msgspec.Struct):
    """A draft.

    Attributes:
        path: of its SKILL.md. seen: the notes that it rests on, counted. sources: their ids.
        state: ``new``, ``installed``, ``update ready`` (it differs from what was installed),
            ``edited`` (what was installed was).
        installed: where this home has put it.
        gone, overtaken: of its notes, those that are not there any more, and those that a newer
            one replaces.
        problems: what the specification's validator says. is_strange: this home did not draft
            it: it came with a clone, or is memsearch's.
    """

    name: str
    description: str
    path: str
    text: str
    seen: int
    sources: list[str]
    reason: str
    state: str
    installed: list[str]
    gone: list[str] = []
    superseded: list[str] = []
    problems: list[str] = []
    of_consolidation: bool = False
    is_strange: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether its text is not the one that was installed."""
        return self.state in ("new", "update ready")


class Result(msgspec.Struct):
    """What a run came to. ``state``: ``drafted``, ``unchanged``, ``skipped``, ``failed``;
    ``names``: of what was drafted or revised; ``refused``: name -> why a skill that a model
    proposed was not taken.
    """

    state: str
    reason: str = ""
    names: list[str] = []
    refused: dict[str, str] = {}
    tokens: int = 0


# -- what is there


def store(project: Project) -> str:
    return os.path.join(os.path.dirname(project.memory), FOLDER)


def slug_of(name: str) -> str:
    """A name as the specification wants it: a-z, 0-9 and single hyphens, at most 64."""
    return (
        re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9]+", "-", name.lower())).strip("-")[:64].strip("-")
    )


def all_of(
    home: Home, project: Project, stands: Callable[[str], str] | None = None
) -> list[Candidate]:
    """Every draft of a project, and the skills that consolidation made, by name.

    Args:
        stands: a note's id -> ``gone``, ``overtaken`` or ''.
    """
    found: dict[str, Candidate] = {}
    ours = _written(home)
    for folder, metas in (
        (home.longterm / "skills", home.root / "skills"),
        (Path(store(project)), None),
    ):
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(folder))[:_MOST]:
                candidate = _read(
                    folder / name,
                    metas / f"{name}.json" if metas else folder / name / "meta.json",
                    stands,
                )
                if candidate is None:
                    continue
                candidate.of_consolidation = metas is not None
                candidate.is_strange = metas is None and hash_of(candidate.text) not in ours
                if (
                    name not in found or not candidate.is_strange
                ):  # what came along takes no other one's place
                    found[name] = candidate
    return [found[name] for name in sorted(found)]


def _written(home: Home) -> dict[str, str]:
    """hash of a text that this home has written -> ``model`` or ``hand``."""
    with using(home, SCHEMA) as db:
        return dict(db.execute("SELECT hash, how FROM skills_written").fetchall())


def get(
    home: Home, project: Project, name: str, stands: Callable[[str], str] | None = None
) -> Candidate:
    """Raises NotFound."""
    for candidate in all_of(home, project, stands):
        if candidate.name == name:
            return candidate
    raise NotFound(f"no skill {name}", "`memsearch skills list` lists them")


def _read(folder: Path, meta_file: Path, stands: Callable[[str], str] | None) -> Candidate | None:
    name = folder.name
    if slug_of(name) != name:
        return None
    try:
        text = safe_files.read(folder / "SKILL.md", _MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return None
    meta = _meta(meta_file)
    was = meta.installed_hash
    state = "new" if not was else "installed" if was == hash_of(text) else "update ready"
    standing = {source: stands(source) for source in meta.sources[:_MAX_SOURCES]} if stands else {}
    return Candidate(
        name,
        plain(meta.description or _described(text)),
        str(folder / "SKILL.md"),
        text,
        meta.seen,
        meta.sources,
        plain(meta.reason),
        state,
        [],
        [s for s, how in standing.items() if how == "gone"],
        [s for s, how in standing.items() if how == "overtaken"],
    )


def _meta(file: Path) -> _Meta:
    try:
        return msgspec.json.decode(safe_files.read(file, _MAX_FILE), type=_Meta)
    except (
        OSError,
        msgspec.DecodeError,
        ValueError,
        RecursionError,
    ):  # it may have come with a clone
        return _Meta()


def _described(text: str) -> str:
    match = re.search(r"(?m)^description:\s*(.+)$", text[:4000])
    return match[1].strip().strip("\"'") if match else ""


def hash_of(text: str) -> str:
    """A text's hash, as memsearch notes it: git's of a blob."""
    data = text.encode("utf-8", "surrogateescape")
    return (
        "gitblob:"
        + hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    )


# -- making


def chosen(settings: Settings) -> tuple[str, SkillTask] | None:
    """The agent whose table enables it, and that table; None where none does."""
    for agent in agent_registry.names():
        plugin = settings.plugins.get(agent)
        if plugin and plugin.memory_to_skill and plugin.memory_to_skill.enabled:
            return agent, plugin.memory_to_skill
    return None


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
    clock: Callable[[], float] = time.time,
) -> Result:
    """Have skills drafted from what recurred, if notes have come since the last time and its pause
    is over.

    Args:
        force: the owner asks: neither counts. agent: whose table says how. provider, model:
            whom to ask instead.

    Raises:
        SettingsError: nobody may be asked.
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
            f"memsearch config set plugins.claude-code.{TASK}.enabled true, or name one: --provider NAME",
        )
    task = msgspec.structs.replace(
        task, provider=provider or task.provider, model=model or ("" if provider else task.model)
    )
    folder = reading.folder_of(project, task.input_dir)
    jobs = Jobs(home, clock)
    claim = jobs.claim(
        TASK,
        project.id,
        reading.newest(folder),
        cooldown_s=task.min_interval_hours * 3600,
        force=force,
        cap=2,
    )
    if isinstance(claim, Refusal):
        return Result("skipped", str(claim))
    asker: Asker | None = None
    try:
        with jobs.settling(claim) as lost:
            material = reading.collect(
                home, project, folder, max(1000, settings.documents.input_tokens * 3 // 4)
            )
            if not material.notes:
                result = Result("unchanged", "there is no note that a model may be shown")
            else:
                asker = Asker(home, settings, task, name, lambda: lost.is_set() or stop())
                system = pages.prompt(settings, TASK).replace(
                    "MIN_OCCURRENCES", str(task.min_occurrences)
                )
                answer = asker.ask(
                    system,
                    _question(home, project, material),
                    material,
                    lambda text: pages.answered(text, SkillsAnswer),
                )
                result = _take(home, project, answer, material, task.min_occurrences)
            result.tokens = asker.tokens if asker else 0
            if not jobs.succeed(claim, result.state if asker else NOTHING_TO_DO):
                raise ModelError("another process took the job over", again=True)
            return result
    except SettingsError:
        raise
    except (MemsearchError, OSError) as error:
        return Result("failed", str(error), tokens=asker.tokens if asker else 0)


def _question(home: Home, project: Project, material: Material) -> str:
    parts = ["Which procedures recur?"]
    existing = [candidate for candidate in all_of(home, project) if not candidate.is_strange][
        :_SHOWN
    ]
    if existing:
        parts += [
            "",
            "Skills that exist:",
            *(
                f"<skill>\n{reading.quoted(redact(plain(skill.text), home)[0][:_SHOWN_CHARACTERS])}\n</skill>"
                for skill in existing
            ),
        ]
    if commands := _recurring(home, project):
        parts += ["", "Commands that were run in several sessions (sessions, command):", *commands]
    return "\n".join([*parts, "", f"<notes>\n{reading.quoted(material.text)}\n</notes>"])


def _recurring(home: Home, project: Project) -> list[str]:
    sessions: dict[str, set[str]] = {}
    with contextlib.closing(Actions(home)) as actions:
        for act in actions.that_worked([project.memory]):
            if not act.outside:
                sessions.setdefault(act.command, set()).add(act.session)
    often = sorted(
        ((len(of), command) for command, of in sessions.items() if len(of) > 1), reverse=True
    )[:_COMMANDS]
    return [f"{count}  {redact(plain(command), home)[0][:200]}" for count, command in often]


def _take(
    home: Home, project: Project, answer: SkillsAnswer, material: Material, least: int
) -> Result:
    result = Result("unchanged", "nothing that recurs is worth a skill")
    known, ours = {candidate.name: candidate for candidate in all_of(home, project)}, _written(home)
    with contextlib.closing(Actions(home)) as actions:
        confirmed = _confirmer(actions, project)
    for drafted in answer.skills[:_MAX_SKILLS]:
        name = slug_of(drafted.name)
        sources = list(
            dict.fromkeys(
                source for note in drafted.notes if (source := note[:12]) in material.notes
            )
        )
        seen = {
            (material.notes[source].session or material.notes[source].day) for source in sources
        }
        body, why = checked_body(home, drafted.body, confirmed)
        old = known.get(name)
        if not name or not body:
            result.refused[drafted.name[:80]] = why or "it has no name"
        elif orders(drafted.description, his_words=False):
            result.refused[name] = "its description reads like an order to agents"
        elif len(seen) < least:
            result.refused[name] = f"seen in {len(seen)} sessions or days, {least} are wanted"
        elif old is not None and ours.get(hash_of(old.text)) != "model":
            result.refused[name] = "it exists, and was written or edited by hand"
        elif old is not None and not set(sources) - set(old.sources):
            result.refused[name] = "it exists, and no new note speaks for another text"
        else:
            text = render(name, drafted.description, body, home)
            if problems := validated(name, text):
                result.refused[name] = problems[0]
                continue
            if old is not None:
                _keep(home, project, old)
            write(
                home,
                project,
                name,
                text,
                drafted.description,
                sources,
                len(seen),
                drafted.reason,
                "model",
            )
            result.names.append(name)
    if result.names:
        result.state, result.reason = "drafted", ""
    elif result.refused:
        result.reason = "; ".join(f"{name}: {why}" for name, why in result.refused.items())
    return result


def _confirmer(actions: Actions, project: Project) -> Callable[[str], bool]:
    """Whether a command was run in this project, and worked; what stands in <angle brackets> may
    have been anything.
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
    """A skill's text as it may be written, and why it may not be ('' where it may): no secret,
    comment, front matter or order to an agent, and no command that was never run, in whatever block
    of code it stands.
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
    """The lines of code that an agent may take for commands: of every block that is in no other
    language, and inline where a program is called (CommonMark).
    """
    from markdown_it import MarkdownIt  # 90 ms, and few commands ask

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


def render(name: str, description: str, body: str, home: Home) -> str:
    """A SKILL.md. What stands in its front matter is quoted: it is a model's text."""
    described = " ".join(redact(plain(description), home)[0].split())[:1000]
    return f"---\nname: {name}\ndescription: {json.dumps(described, ensure_ascii=False)}\n---\n\n{body}\n"


def validated(name: str, text: str) -> list[str]:
    """What the specification's reference library says against a skill."""
    from skills_ref.validator import validate  # 100 ms, and few commands ask

    with tempfile.TemporaryDirectory(prefix="memsearch-") as folder:
        place = Path(folder, name)
        place.mkdir()
        (place / "SKILL.md").write_text(text, encoding="utf-8")
        return [str(problem) for problem in validate(place)]


def write(
    home: Home,
    project: Project,
    name: str,
    text: str,
    description: str,
    sources: Iterable[str],
    seen: int,
    reason: str,
    how: Literal["model", "hand"],
) -> str:
    """Write a draft, or a new text of one. Returns its path. Raises Unreachable, UsageError."""
    folder = os.path.join(store(project), name)
    with locked(home, folder):
        meta = _meta(Path(folder, "meta.json"))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        meta.name, meta.created_at, meta.updated_at, meta.content_hash = (
            name,
            meta.created_at or now,
            now,
            hash_of(text),
        )
        meta.description = " ".join(plain(description).split())[:1000]
        meta.sources = sorted({*meta.sources, *sources})
        meta.occurrences = max(seen, meta.seen)
        meta.reason = " ".join(plain(reason).split())[:300] or meta.reason
        with using(home, SCHEMA) as db:
            db.execute(
                "INSERT OR REPLACE INTO skills_written (hash, how, at) VALUES (?,?,?)",
                (hash_of(text), how, time.time()),
            )
        _put(os.path.join(folder, "SKILL.md"), text)
        _put(os.path.join(folder, "meta.json"), _encoded(meta))
    return os.path.join(folder, "SKILL.md")


def _encoded(meta: _Meta) -> str:
    return msgspec.json.format(msgspec.json.encode(meta), indent=2).decode() + "\n"


def _put(path: str, text: str) -> None:
    try:
        before = safe_files.read(path, _MAX_FILE)
    except FileNotFoundError:
        append(path, text.encode("utf-8", "replace"))
        return
    except OSError as error:
        raise Unreachable(
            f"{path} can't be read: {error.strerror or error}", "nothing was changed"
        ) from error
    if before != text.encode("utf-8", "replace"):
        replace(path, before, text.encode("utf-8", "replace"))


# -- installing


def note_installed(
    home: Home, candidate: Candidate, paths: list[str], text: str | None = None
) -> None:
    """Note where a draft was installed, and as what (*text*; as it stands by default); no paths:
    nowhere any more.
    """
    file = (
        Path(home.root, "skills", f"{candidate.name}.json")
        if candidate.of_consolidation
        else Path(candidate.path).with_name("meta.json")
    )
    meta = _meta(file)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    meta.status, meta.installed_paths, meta.updated_at = (
        "installed" if paths else "candidate",
        paths,
        now,
    )
    meta.installed_hash = hash_of(candidate.text if text is None else text) if paths else ""
    meta.installed_at = now if paths else ""
    if candidate.of_consolidation:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home, str(file)):
        _put(str(file), _encoded(meta))


# -- taking away


def remove(home: Home, project: Project, candidate: Candidate) -> int:
    """Take a draft out of the project; what it was is kept. Returns the number by which it comes
    back.

    Raises UsageError: consolidation made it, and its review takes it out.
    """
    if candidate.of_consolidation:
        raise UsageError(
            f"{candidate.name} is of the long-term memory",
            f"remove {candidate.path}: the next consolidation knows that it is your word",
        )
    folder = Path(candidate.path).parent
    with locked(home, str(folder)):
        number = _keep(home, project, candidate)
        safe_files.real(str(folder))
        for name in ("SKILL.md", "meta.json"):  # what else lies there is its owner's
            with contextlib.suppress(FileNotFoundError):
                os.unlink(folder / name)
        with contextlib.suppress(OSError):
            folder.rmdir()
    return number


def _keep(home: Home, project: Project, candidate: Candidate) -> int:
    """Keep a draft's text for ``restore``. Returns its number."""
    meta = _encoded(_meta(Path(candidate.path).with_name("meta.json")))
    with using(home, SCHEMA) as db:
        values = (time.time(), project.id, candidate.name, candidate.text, meta)
        query = "INSERT INTO skills_trash (at, project, name, skill, meta) VALUES (?,?,?,?,?)"
        return int(db.execute(query, values).lastrowid or 0)


def restore(home: Home, project: Project, name: str) -> str:
    """Bring the draft of that name back that was removed last. Returns its path. Raises NotFound,
    UsageError: there is one of that name.
    """
    with using(home, SCHEMA) as db:
        row = db.execute(
            "SELECT id, skill, meta FROM skills_trash WHERE project=? AND name=? ORDER BY id DESC LIMIT 1",
            (project.id, name),
        ).fetchone()
    if row is None:
        raise NotFound(f"no skill {name} was removed here", "memsearch skills list")
    folder = os.path.join(store(project), name)
    if os.path.lexists(os.path.join(folder, "SKILL.md")):
        raise UsageError(f"there is a skill {name}", f"memsearch skills remove {name}")
    with locked(home, folder):
        _put(os.path.join(folder, "SKILL.md"), row[1])
        _put(os.path.join(folder, "meta.json"), row[2])
        with using(home, SCHEMA) as db:
            db.execute("DELETE FROM skills_trash WHERE id=?", (row[0],))
    return os.path.join(folder, "SKILL.md")
