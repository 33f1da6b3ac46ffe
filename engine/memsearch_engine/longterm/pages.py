"""PROJECT.md and USER.md: where a project stands, and how its developer likes to work; one page
each in the project's ``.memsearch``.

A model proposes changes from the newest notes, as a leased job, where the owner has enabled it
(memsearch's tasks ``project_review`` and ``user_profile``) or asks for it. Nothing takes effect
without the owner's word on each piece. What he wrote by hand is never changed by a proposal.
Sessions are told, and searches find, only lines that he accepted or released: the file may have
come with a clone.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from memsearch_engine.core import agent_registry, freshness, safe_files
from memsearch_engine.core.errors import (
    Conflict,
    MemsearchError,
    NotFound,
    SettingsError,
    Unreachable,
    UsageError,
)
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.llm.tokens import estimate
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import plain
from memsearch_engine.core.settings import Settings, Task
from memsearch_engine.core.state import using
from memsearch_engine.injection.usage import cited
from memsearch_engine.journal.disk import append, locked, replace
from memsearch_engine.journal.instructions import orders
from memsearch_engine.longterm import reading
from memsearch_engine.longterm.asking import Asker
from memsearch_engine.longterm.jobs import NOTHING_TO_DO, Claim, Jobs, Refusal
from memsearch_engine.longterm.reading import Material
from memsearch_engine.longterm.review import Hunk, units
from memsearch_engine.secrets.scan import redact

T = TypeVar("T")
Page = Literal["project", "user"]
Spot = tuple[str, str]  #: the headings above a line (``##`` and deeper), and the line
PAGES: tuple[Page, ...] = ("project", "user")
FILES: dict[Page, str] = {"project": "PROJECT.md", "user": "USER.md"}
TASKS: dict[Page, Literal["project_review", "user_profile"]] = {
    "project": "project_review",
    "user": "user_profile",
}
_MAX_PAGE, _MAX_LINE, _MAX_LINES = 24_000, 600, 200  # characters and lines of a page
_MAX_FILE = 256 * 1024
_SOURCES = {"project": 1, "user": 2}  # sessions that a bullet has to rest on
_MIN_ROOM = 500  # tokens of notes, without which nothing can be said
_VERSIONS = 20  # of a page that can be taken back
_LEADS = 5
_UNDER = "\x1f"  # between headings
_REWORDED = 0.5  # how alike two lines are that say the same
_BULLET = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(\S.*)$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_JSON = re.compile(r"\A\s*(?:```(?:json)?\s*\n)?(\{.*\})\s*(?:\n```)?\s*\Z", re.S)
SCHEMA = """
CREATE TABLE IF NOT EXISTS living_waiting (
  project TEXT NOT NULL, page TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (project, page)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS living_lines (
  project TEXT NOT NULL, page TEXT NOT NULL, trail TEXT NOT NULL, line TEXT NOT NULL, how TEXT NOT NULL,
  PRIMARY KEY (project, page, trail, line)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS living_versions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, page TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL, before BLOB,
  after BLOB NOT NULL);
"""


class PageAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What a model has to answer, key by key."""

    action: Literal["none", "replace"]
    reason: str
    content: str = ""


class Draft(msgspec.Struct):
    """What is proposed for a page. ``id``: its name for good; ``at``: seconds since 1970;
    ``reason``: the model's.
    """

    id: str
    page: Page
    at: float
    hunks: list[Hunk]
    reason: str

    @property
    def waiting(self) -> list[Hunk]:
        return [hunk for hunk in self.hunks if hunk.state == "open"]


class PageState(msgspec.Struct):
    """A page as it stands. ``told``: what sessions may be told of it; ``strange``: its lines that
    nobody accepted or released; ``draft``: the name of what waits.
    """

    page: Page
    path: str
    text: str
    told: str
    strange: list[Spot]
    waiting: list[Hunk]
    draft: str = ""
    reason: str = ""
    enabled_by: str = ""


class Result(msgspec.Struct):
    """What a run came to. ``state``: ``review`` (changes wait), ``unchanged``, ``skipped``,
    ``failed``; ``left_out``: bullets that rested on too little, and changes to lines of the
    owner's.
    """

    page: Page
    state: str
    reason: str = ""
    hunks: int = 0
    tokens: int = 0
    left_out: int = 0


# -- where, and whose


def path_of(settings: Settings, project: Project, page: Page) -> str:
    """The page's file, in the project's ``.memsearch`` or where the owner's settings say (below the
    project). Raises SettingsError.
    """
    enabled = chosen(settings, page)
    output_file = enabled[1].output_file if enabled else ""
    if not output_file:
        return os.path.join(os.path.dirname(project.memory), FILES[page])
    path = os.path.normpath(os.path.join(project.root, output_file))
    if not path.startswith(project.root + os.sep) or not path.endswith(".md"):
        raise SettingsError(
            f"`{TASKS[page]}.output_file` {output_file!r} is no markdown file in the project"
        )
    return path


def chosen(settings: Settings, page: Page) -> tuple[str, Task] | None:
    """The agent whose table enables a page, and that table; None where none does."""
    for agent in agent_registry.names():
        plugin = settings.plugins.get(agent)
        task = getattr(plugin, TASKS[page], None) if plugin else None
        if task is not None and task.enabled:
            return agent, task
    return None


def read(settings: Settings, project: Project, page: Page) -> str:
    """The page as it stands, what is no text in it replaced; '' where there is none. Raises
    Unreachable.
    """
    return plain((_bytes(path_of(settings, project, page)) or b"").decode("utf-8", "replace"))


def lines_of(home: Home, project: Project, page: Page) -> dict[Spot, str]:
    """Where and what a line is -> ``made`` (it was proposed, and accepted) or ``released`` (the
    owner's word for what he or others wrote).
    """
    query = "SELECT trail, line, how FROM living_lines WHERE project=? AND page=?"
    with using(home, SCHEMA) as db:
        return {(trail, line): how for trail, line, how in db.execute(query, (project.id, page))}


def stamp(settings: Settings, project: Project) -> tuple[tuple[int, int], ...]:
    """Changes with the pages' files."""
    found = []
    for page in PAGES:
        try:
            info = os.lstat(path_of(settings, project, page))
            found.append((info.st_mtime_ns, info.st_size))
        except (OSError, SettingsError):
            found.append((0, 0))
    return tuple(found)


def accepted_text(home: Home, settings: Settings, project: Project, page: Page) -> str:
    """The page as far as it may be told: lines that the owner accepted or released where they
    stand, under their headings, without secrets, and none that reads like an order.
    """
    known = lines_of(home, project, page)
    kept: list[str] = []
    above: tuple[str, ...] = ()
    for trail, line in _spots(read(settings, project, page)):
        if (trail, line) not in known or orders(line, his_words=False) or "memsearch:" in line:
            continue
        headings = tuple(trail.split(_UNDER)) if trail else ()
        kept += headings[len(os.path.commonprefix([above, headings])) :]
        kept.append(line)
        above = headings
    text = redact("\n".join(kept), home)[0]
    return "" if orders(" ".join(kept), his_words=False) else text


def strange(home: Home, settings: Settings, project: Project, page: Page) -> list[Spot]:
    """Lines of a page that nobody has accepted or released: they are told to no session."""
    known = lines_of(home, project, page)
    return [spot for spot in _spots(read(settings, project, page)) if spot not in known]


def release(
    home: Home, project: Project, page: Page, spots: Iterable[Spot], *, off: bool = False
) -> None:
    """The owner's word for these lines where they stand; *off*: it is taken back."""
    with using(home, SCHEMA) as db, transaction(db):
        if off:
            rows = [(project.id, page, *spot) for spot in spots]
            db.executemany(
                "DELETE FROM living_lines WHERE project=? AND page=? AND trail=? AND line=?", rows
            )
        else:
            _note_lines(db, project, page, spots, "released")
    freshness.changed(home)


def _spots(text: str) -> list[Spot]:
    """All lines that say something, each with the headings above it."""
    found: list[Spot] = []
    trail: list[str] = []
    for line, is_heading in _lines(text.splitlines()):
        if is_heading:
            level = len(line) - len(line.lstrip("#"))
            trail = [
                *(above for above in trail if len(above) - len(above.lstrip("#")) < level),
                line.strip(),
            ]
        elif line.strip():
            found.append(
                (_UNDER.join(above for above in trail if not above.startswith("# ")), line)
            )
    return found


def _lines(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is a heading: in a code block there is none (CommonMark: a fence is
    closed by one at least as long).
    """
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(mark[1][0]):
            fence = ""
        yield line, not fence and not mark and bool(re.match(r"#{1,6}\s", line))


def _note_lines(
    db: sqlite3.Connection, project: Project, page: Page, spots: Iterable[Spot], how: str
) -> None:
    rows = [(project.id, page, trail, line, how) for trail, line in spots if line.strip()]
    db.executemany(
        "INSERT OR REPLACE INTO living_lines (project, page, trail, line, how) VALUES (?,?,?,?,?)",
        rows,
    )


# -- making


def due(settings: Settings) -> list[Page]:
    """The pages that some agent's table enables."""
    return [page for page in PAGES if chosen(settings, page)]


def run(
    home: Home,
    settings: Settings,
    project: Project,
    page: Page,
    *,
    force: bool = False,
    provider: str = "",
    model: str = "",
    stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.time,
) -> Result:
    """Have a page proposed anew, if notes have come since the last time and its pause is over.

    Args:
        force: the owner asks: neither counts. provider, model: whom to ask instead of what the
            settings say.

    Raises:
        SettingsError: nobody may be asked, or the task's files are none.
    """
    agent, task = chosen(settings, page) or ("", Task())
    task = msgspec.structs.replace(
        task, provider=provider or task.provider, model=model or ("" if provider else task.model)
    )
    if not provider and not agent:
        raise SettingsError(
            f"no model may be asked for {FILES[page]}",
            f"memsearch config set plugins.claude-code.{TASKS[page]}.enabled true, or name one: --provider NAME",
        )
    folder = reading.folder_of(project, task.input_dir)
    if not force and any(draft.page == page and draft.waiting for draft in pending(home, project)):
        # what he was shown is not exchanged behind his back
        return Result(page, "skipped", "changes wait for the owner's word")
    jobs = Jobs(home, clock)
    claim = jobs.claim(
        TASKS[page],
        project.id,
        reading.newest(folder),
        cooldown_s=task.min_interval_hours * 3600,
        force=force,
        cap=2,
    )
    if isinstance(claim, Refusal):
        return Result(page, "skipped", str(claim))
    work = _Run(home, settings, project, page, agent, task, folder, jobs, claim, stop, clock)
    try:
        with jobs.settling(claim) as lost:
            work.lost = lost.is_set
            return work.work()
    except SettingsError:
        raise
    except (MemsearchError, OSError) as error:
        return Result(page, "failed", str(error), tokens=work.tokens)


@dataclasses.dataclass
class _Run:
    home: Home
    settings: Settings
    project: Project
    page: Page
    agent: str
    task: Task
    folder: str
    jobs: Jobs
    claim: Claim
    stop: Callable[[], bool]
    clock: Callable[[], float]
    lost: Callable[[], bool] = lambda: False
    tokens: int = 0

    def work(self) -> Result:
        before = read(self.settings, self.project, self.page)
        shown = accepted_text(
            self.home, self.settings, self.project, self.page
        )  # what came with a clone is shown to no model
        room = self.settings.documents.input_tokens - estimate(shown)
        if room < _MIN_ROOM:
            return self._end(
                Result(self.page, "unchanged", "the page is as long as what a model may be shown"),
                None,
            )
        material = reading.collect(self.home, self.project, self.folder, room)
        if not material.notes:
            return self._end(
                Result(self.page, "unchanged", "there is no note that a model may be shown"), None
            )
        known = lines_of(self.home, self.project, self.page)
        own = {line for line, _ in _lines(before.splitlines()) if line.strip()}
        own -= {line for trail, line in _spots(before) if known.get((trail, line)) == "made"}
        asker = Asker(
            self.home, self.settings, self.task, self.agent, lambda: self.lost() or self.stop()
        )
        try:
            answer = asker.ask(
                prompt(self.settings, TASKS[self.page]),
                self._question(material, shown, own),
                material,
                parsed,
            )
        finally:
            self.tokens = asker.tokens
        if answer.action == "none" or not answer.content.strip():
            return self._end(Result(self.page, "unchanged", answer.reason[:300]), None)
        after, left_out = checked(self.home, answer.content, self.page, material)
        hunks = hunks_between(before, after)
        allowed = [one for hunk in hunks if (one := without_owners(hunk, own)) is not None]
        for number, hunk in enumerate(allowed, 1):
            hunk.number = number
            hunk.memories = sorted(
                {
                    material.notes[name].session
                    for name in cited("\n".join(hunk.after))
                    if name in material.notes
                }
                - {""}
            )
        if not allowed:
            return self._end(
                Result(self.page, "unchanged", "nothing of it could be proposed"), None
            )
        draft = Draft(
            uuid.uuid4().hex[:12], self.page, self.clock(), allowed, plain(answer.reason)[:300]
        )
        result = Result(self.page, "review", draft.reason, len(allowed))
        result.left_out = left_out + len(hunks) - sum(hunk in hunks for hunk in allowed)
        return self._end(result, draft)

    def _end(self, result: Result, draft: Draft | None) -> Result:
        def keep(db: sqlite3.Connection) -> None:
            values = (self.project.id, self.page)
            db.execute("DELETE FROM living_waiting WHERE project=? AND page=?", values)
            if draft is not None:
                db.execute(
                    "INSERT INTO living_waiting (project, page, body) VALUES (?,?,?)",
                    (*values, msgspec.json.encode(draft)),
                )

        result.tokens = self.tokens
        outcome = result.state if self.tokens else NOTHING_TO_DO
        if not self.jobs.succeed(self.claim, outcome, keep if draft is not None else None, SCHEMA):
            raise ModelError("another process took the job over", again=True)
        return result

    def _question(self, material: Material, shown: str, own: set[str]) -> str:
        lines = shown.splitlines()
        parts = [
            f"Bring {FILES[self.page]} up to date.",
            "",
            f"<page>\n{reading.quoted(shown)}\n</page>",
        ]
        if his := [line for line in lines if line in own and not line.startswith("#")]:
            parts += ["the owner's own lines:", *map(reading.quoted, his)]
        if material.longterm:
            parts += ["", f"<longterm>\n{reading.quoted(material.longterm)}\n</longterm>"]
        return "\n".join([*parts, "", f"<notes>\n{reading.quoted(material.text)}\n</notes>"])


def prompt(settings: Settings, task: str) -> str:
    """What a model is asked to do: the owner's own words (``prompts.<task>``, a file), else ours.
    Raises SettingsError.
    """
    path = getattr(settings.prompts, task)
    file = Path(path).expanduser() if path else Path(__file__).parent / "prompts" / f"{task}.md"
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"`prompts.{task}` {path} can't be read: {getattr(error, 'strerror', '') or error}"
        ) from error


def parsed(text: str) -> PageAnswer:
    """A model's answer: one JSON object with the keys that were asked for. Raises ModelError."""
    return answered(text, PageAnswer)


def answered(text: str, kind: type[T]) -> T:
    """A model's answer as *kind*, also where it stands in a fence. Raises ModelError."""
    match = _JSON.match(text)
    try:
        return msgspec.json.decode(match[1] if match else text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ModelError(
            f"the answer is not the JSON that was asked for: {error}", again=True
        ) from error


def checked(home: Home, text: str, page: Page, material: Material) -> tuple[str, int]:
    """What a model wrote, as it may be proposed, and how many bullets were left out: headings, and
    bullets that rest on enough sessions, with their further lines; no secret, comment, code block
    or order, and citations of nothing but what it was given.
    """
    lines: list[str] = []
    left_out = 0
    keeps = False  # what belongs to a bullet goes with it
    for line in redact(plain(text), home)[0][:_MAX_PAGE].splitlines()[:_MAX_LINES]:
        line = line.rstrip()[:_MAX_LINE]
        if heading := re.match(r"\s{0,3}(#{1,6})\s+(.*)", line):
            keeps = False
            if heading[2].strip("# ") and not orders(line, his_words=False) and "<" not in line:
                lines.append(f"{heading[1][:3]} {heading[2].strip('# ')}")
        elif bullet := _BULLET.match(line):
            names = list(dict.fromkeys(name for name in cited(line) if name in material.notes))
            sessions = {material.notes[name].session or name for name in names}
            keeps = len(sessions) >= _SOURCES[page] and not _is_foreign(line)
            left_out += not keeps
            if keeps:
                lines.append(
                    f"{bullet[1]}- {_without_citations(bullet[2])} [mem:{', '.join(names)}]"
                )
        elif keeps and line.startswith(" ") and line.strip() and not _is_foreign(line):
            lines.append(_without_citations(line))
        elif not line.strip() and lines and lines[-1].strip():
            lines.append("")
    return redact("\n".join(lines).strip("\n"), home)[0] + "\n", left_out


def _is_foreign(line: str) -> bool:
    """Whether a line has what a page must not have: a comment, a fence, an order to an agent."""
    return (
        "<!--" in line
        or "memsearch" in line
        and ":" in line
        or bool(_FENCE.match(line.strip()))
        or bool(orders(line, his_words=False))
    )


def _without_citations(line: str) -> str:
    return re.sub(r"\s*\[mem:[^\]]*\]", "", line).rstrip()


# -- pieces


def sections(text: str) -> dict[str, list[str]]:
    """heading (``## …``) -> its lines; '' for what stands before the first. One that stands twice
    is one.
    """
    found: dict[str, list[str]] = {"": []}
    for heading, lines in _spans(text.splitlines()):
        found.setdefault(heading, []).extend(lines)
    return found


def _spans(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(heading, lines under it) in the order in which they stand."""
    heading, begin = "", 0
    for number, (line, is_heading) in enumerate(_lines(lines)):
        if is_heading and line.startswith("## "):
            yield heading, lines[begin:number]
            heading, begin = line.strip(), number + 1
    yield heading, lines[begin:]


def hunks_between(before: str, after: str) -> list[Hunk]:
    """What leads from one page to another, bullet by bullet within sections."""
    old, new = sections(before), sections(after)
    found: list[Hunk] = []
    for heading in [*old, *(name for name in new if name not in old)]:
        was, now = units(old.get(heading, [])), units(new.get(heading, []))
        for tag, i, j, k, m in difflib.SequenceMatcher(
            None, was, now, autojunk=False
        ).get_opcodes():
            for step in range(max(j - i, m - k) if tag != "equal" else 0):
                gone = list(was[i + step]) if i + step < j and was[i + step] not in now else []
                come = list(now[k + step]) if k + step < m and now[k + step] not in was else []
                if gone or come:
                    lead = [line for unit in now[: k + step] for line in unit if line.strip()]
                    found.append(
                        Hunk(len(found) + 1, "", heading, lead[::-1][:_LEADS], gone, come, [])
                    )
    return found


def without_owners(hunk: Hunk, own: set[str]) -> Hunk | None:
    """A change as it may be proposed: one that would take a line of the owner's away adds at most
    what is new; None where that only says his line in other words.
    """
    if not own & set(hunk.before):
        return hunk
    was, now = "\n".join(hunk.before), _without_citations("\n".join(hunk.after))
    if (
        not hunk.after
        or difflib.SequenceMatcher(None, was, now, autojunk=False).ratio() > _REWORDED
    ):
        return None
    return Hunk(
        hunk.number,
        hunk.path,
        hunk.section,
        [*reversed(hunk.before), *hunk.leads],
        [],
        hunk.after,
        [],
    )


def applied(hunk: Hunk, text: str) -> str:
    """A page with a change in it; all else stays as it is, byte for byte. Raises Conflict where
    what it changes is not there any more.
    """
    ended = [line for line in re.split(r"(?<=\n)", text) if line]
    lines = [line.rstrip("\r\n") for line in ended]
    newline = "\r\n" if ended and ended[0].endswith("\r\n") else "\n"
    spans, place = [], 0
    for heading, under in _spans(lines):
        begin = place + bool(heading)  # after its heading
        place = begin + len(under)
        spans += [(begin, place)] if heading == hunk.section else []
    come = [f"{line}{newline}" for line in hunk.after]
    if hunk.before:
        found = next((n for span in spans if (n := _place(lines, hunk.before, span)) >= 0), -1)
        if found < 0:
            if hunk.after and any(_place(lines, hunk.after, span) >= 0 for span in spans):
                return text
            raise Conflict(
                f"what it changes is not there any more: {hunk.before[0][:80]}",
                "reject it, or wait for the next review",
            )
        ended[found : found + len(hunk.before)] = come
    elif any(_place(lines, hunk.after, span) >= 0 for span in spans):
        return text
    else:
        if ended and not ended[-1].endswith("\n"):
            ended[-1] += newline
        if spans:
            begin, end = spans[0]
            while end > begin and not lines[end - 1].strip():
                end -= 1
            at = next(
                (
                    n + 1
                    for lead in hunk.leads
                    for b, e in spans
                    for n in range(b, e)
                    if lines[n] == lead
                ),
                end,
            )
            ended[at:at] = [*([newline] if at == begin and hunk.section else []), *come]
        else:
            gap = [newline] if lines and lines[-1].strip() else []
            ended += [*gap, f"{hunk.section}{newline}", newline, *come]
    return "".join(ended)


def _place(lines: list[str], wanted: list[str], span: tuple[int, int]) -> int:
    begin, end = span
    return next(
        (n for n in range(begin, end - len(wanted) + 1) if lines[n : n + len(wanted)] == wanted), -1
    )


# -- the owner's word


def pending(home: Home, project: Project) -> list[Draft]:
    """What waits for the owner's word in a project."""
    with using(home, SCHEMA) as db:
        rows = db.execute(
            "SELECT body FROM living_waiting WHERE project=? ORDER BY page", (project.id,)
        ).fetchall()
    return [msgspec.json.decode(body, type=Draft) for (body,) in rows]


def decide(
    home: Home,
    settings: Settings,
    project: Project,
    page: Page,
    verdict: Literal["accepted", "rejected"],
    numbers: Iterable[int] = (),
    *,
    text: str | None = None,
    draft_id: str = "",
) -> list[Hunk]:
    """Accept or reject changes of a page; none named: all that wait. Accepting writes the file, all
    of them or none.

    Args:
        text: accept one change with these words instead. draft_id: what was seen; another one
            by now is a Conflict.

    Raises:
        NotFound: nothing waits, or not that number. Conflict: the page changed there.
            UsageError: the words can't stand there.
    """
    path = path_of(settings, project, page)
    with locked(home, path):
        draft = next((draft for draft in pending(home, project) if draft.page == page), None)
        if draft is None:
            raise NotFound(
                f"nothing waits for {FILES[page]}",
                "`memsearch pages review` looks whether there is anything to propose",
            )
        if draft_id and draft.id != draft_id:
            raise Conflict("other changes are proposed by now", "look at them")
        wanted = set(numbers)
        hunks = [hunk for hunk in draft.waiting if not wanted or hunk.number in wanted]
        if missing := wanted - {hunk.number for hunk in hunks}:
            raise NotFound(f"no open change {min(missing)}", "`memsearch pages show` lists them")
        if text is not None:
            if (
                len(hunks) != 1
                or not text.strip()
                or re.search(r"(?m)^\s{0,3}#|<!--|memsearch-memory", text)
            ):
                raise UsageError(
                    "name one change, and give it words without a heading or a comment"
                )
            hunks[0].after = redact(plain(text.strip("\n")), home)[0].splitlines()
        if verdict == "accepted":
            _write(home, project, page, path, hunks)
        for hunk in hunks:
            hunk.state = verdict
        with using(home, SCHEMA) as db, transaction(db):
            values = (project.id, page)
            if draft.waiting:
                db.execute(
                    "UPDATE living_waiting SET body=? WHERE project=? AND page=?",
                    (msgspec.json.encode(draft), *values),
                )
            else:
                db.execute("DELETE FROM living_waiting WHERE project=? AND page=?", values)
    return hunks


def reopen(home: Home, project: Project, draft: Draft) -> bool:
    """Let changes wait again as they did. False where others wait by now."""
    with using(home, SCHEMA) as db, transaction(db):
        row = db.execute(
            "SELECT body FROM living_waiting WHERE project=? AND page=?", (project.id, draft.page)
        ).fetchone()
        if row and msgspec.json.decode(row[0], type=Draft).id != draft.id:
            return False
        values = (project.id, draft.page, msgspec.json.encode(draft))
        db.execute(
            "INSERT OR REPLACE INTO living_waiting (project, page, body) VALUES (?,?,?)", values
        )
    return True


def _write(home: Home, project: Project, page: Page, path: str, hunks: list[Hunk]) -> None:
    if not os.path.isdir(project.root):
        raise Unreachable(f"{project.root} is gone", "nothing was written")
    before = _bytes(path)
    text = (before or b"").decode("utf-8", "surrogateescape")
    for hunk in hunks:
        text = applied(hunk, text)
    after = text.encode("utf-8", "surrogateescape")
    come = {line for hunk in hunks for line in hunk.after}
    with (
        using(home, SCHEMA) as db,
        transaction(db),
    ):  # said before it is written: what then fails does no harm
        _note_lines(
            db,
            project,
            page,
            (spot for spot in _spots(plain(after.decode("utf-8", "replace"))) if spot[1] in come),
            "made",
        )
        values = (project.id, page, path, time.time(), before, after)
        db.execute(
            "INSERT INTO living_versions (project, page, path, at, before, after) VALUES (?,?,?,?,?,?)",
            values,
        )
        db.execute(
            "DELETE FROM living_versions WHERE project=? AND page=? AND id NOT IN (SELECT id FROM living_versions WHERE project=? AND page=?"
            " ORDER BY id DESC LIMIT ?)",
            (project.id, page, project.id, page, _VERSIONS),
        )
    _put(path, before, after)


def _bytes(path: str) -> bytes | None:
    try:
        return safe_files.read(path, _MAX_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreachable(
            f"{path} can't be read: {error.strerror or error}", "nothing was changed"
        ) from error


def _put(path: str, before: bytes | None, after: bytes | None) -> None:
    """Make the file say *after* (None: be none), if it still says *before*. Raises Conflict,
    Unreachable.
    """
    if before == after:
        return
    if after is None:
        if _bytes(path) != before:
            raise Conflict(f"{path} has changed since", "look at it; nothing was changed")
        os.unlink(path)
    elif before is None:
        if _bytes(path) is not None:
            raise Conflict(f"{path} has come to be meanwhile", "look at it; nothing was changed")
        append(path, after)
    else:
        replace(path, before, after)


def newest(home: Home, settings: Settings, project: Project, page: Page) -> int:
    """The number of the last accepted change of a page; 0 where there is none."""
    query = "SELECT coalesce(max(id), 0) FROM living_versions WHERE project=? AND page=? AND path=?"
    with using(home, SCHEMA) as db:
        return int(
            db.execute(query, (project.id, page, path_of(settings, project, page))).fetchone()[0]
        )


def undo(home: Home, settings: Settings, project: Project, page: Page, number: int = 0) -> str:
    """Take the last accepted change of a page back; its lines count as accepted no more. Returns
    its file; '' where there is none.

    Args:
        number: the change that is meant (``newest``); another one by now is a Conflict.

    Raises:
        Conflict: the page was changed since.
    """
    path = path_of(settings, project, page)
    with locked(home, path):
        last = newest(home, settings, project, page)
        if not last:
            return ""
        if number and number != last:
            raise Conflict("another change was accepted since", "take that one back first")
        with using(home, SCHEMA) as db:
            before, after = db.execute(
                "SELECT before, after FROM living_versions WHERE id=?", (last,)
            ).fetchone()
        now = _bytes(path)
        if now == after:
            _put(path, now, before)
        elif now != before:  # else it never came to be written
            raise Conflict(f"{path} has changed since", "look at it; nothing was changed")
        was, is_gone = (
            set(_spots(plain((text or b"").decode("utf-8", "replace")))) for text in (before, after)
        )
        with using(home, SCHEMA) as db, transaction(db):
            rows = [(project.id, page, *spot) for spot in is_gone - was]
            db.executemany(
                "DELETE FROM living_lines WHERE project=? AND page=? AND trail=? AND line=? AND how='made'",
                rows,
            )
            db.execute("DELETE FROM living_versions WHERE id=?", (last,))
    return path
