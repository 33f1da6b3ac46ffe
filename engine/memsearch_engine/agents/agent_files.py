"""Agent files: what agents remember or read by themselves (auto memory, CLAUDE.md, AGENTS.md, …).

The ``memories`` module of each agent's package names the files. This module reads them and never
writes them. It finds their sections, the parts that an agent does not read at the start of a
session, and files that the agent's own index does not name. Their text goes into the project's
folder of derived files, without secrets, and the index reads it there (kind ``native``). This
module does not know our own notes.
"""

from __future__ import annotations

import errno
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote

import msgspec

from memsearch_engine.core import agent_registry, safe_files
from memsearch_engine.core.home import AgentFolders, Home, user_home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.safe_text import plain
from memsearch_engine.journal.text import escape_block
from memsearch_engine.secrets.scan import redact

_MAX = 1024 * 1024
_MAX_FILES = 500  # of one agent in one project
_FRONT = re.compile(r"---\n(.*?\n)(?:---|\.\.\.)(?:\n|\Z)", re.S)
_COMMENT = re.compile(r"^[ ]{0,3}<!--.*?-->[ \t]*$", re.S | re.M)
_CALLED = re.compile(r"^name:\s*[\"']?(.+?)[\"']?\s*$", re.M)
_SAYS = re.compile(r"^(?:description|name):\s*[\"']?(.+?)[\"']?\s*$", re.M)
_NAMED = 3  # agents of a file that are named
_LEAD_IN = 120  # longest line that introduces a list, in characters

Author = Literal["agent", "person"]


class Where(NamedTuple):
    """Where an agent's files are looked for.

    Attributes:
        home: the user's home folder.
        config: its ``.config``, or the folder in ``XDG_CONFIG_HOME``.
        project: the project's root as a list; empty to look only for files that apply to all
            projects.
        own: the agent's own folders.
    """

    home: Path
    config: Path
    project: list[Path]
    own: list[Path]


class Cap(NamedTuple):
    """How much of a file an agent reads at the start of a session. 0 means no limit.

    Attributes:
        lines, chars, max_bytes: limits, applied one after the other. A line that exceeds one is
            left out. Characters are UTF-16 units.
        tail: the share of the limit for the end of the file. The middle is left out.
        stripped: front matter, comments, and blank lines at both ends are removed before counting.
    """

    lines: int = 0
    chars: int = 0
    max_bytes: int = 0
    tail: float = 0.0
    stripped: bool = False


_NO_CAP = Cap()


class Source(NamedTuple):
    """A file that an agent reads by itself.

    Attributes:
        path: the file.
        title: its kind, for people.
        author: who writes it.
        everywhere: it applies to all projects.
        cap: how much of it is read at the start of a session.
        named_in: the index file that must name it, since it is not read at the start. None for a
            file that is read at the start or by its own rule.
    """

    path: Path
    title: str
    author: Author = "person"
    everywhere: bool = False
    cap: Cap = _NO_CAP
    named_in: Path | None = None


class AgentFileSection(msgspec.Struct):
    """A list item of an agent file, or the text between two headings or lists.

    Attributes:
        id: depends on the file and the text only.
        text: without secrets.
        trail: the headings above it.
        line, end_line: first and last line, counted from 1.
        unread_by: agents that do not read all of it at the start of a session, because of their
            cap.
        note: the entry that was made from it, or ``""``.
        contradicted_by: an entry of ours that contradicts it, with its day and the reason, or
            ``""``.
    """

    id: str
    text: str
    trail: list[str]
    line: int
    end_line: int
    unread_by: list[str] = []
    note: str = ""
    contradicted_by: str = ""
    contradicted_why: str = ""


class AgentFile(msgspec.Struct):
    """The current state of one agent file.

    Attributes:
        agents: who reads it.
        author: who writes it.
        scope: ``project`` or ``everywhere``.
        modified: ISO 8601, local time.
        size: bytes.
        orphaned: its agent reads it only if another file names it, and no file does.
        problem: why it cannot be read, or ``""``.
    """

    path: str
    title: str
    agents: list[str]
    author: Author
    scope: Literal["project", "everywhere"]
    modified: str
    size: int
    lines: int = 0
    sections: list[AgentFileSection] = []
    orphaned: bool = False
    problem: str = ""

    @property
    def unread(self) -> int:
        """The number of sections that some agent does not read completely."""
        return sum(bool(section.unread_by) for section in self.sections)


class FileKind(NamedTuple):
    """Agent files of one kind.

    Attributes:
        title, author, cap: see ``Source``.
        names: paths, possibly glob patterns. The first part of each is ``home``, ``config``,
            ``own`` or ``project``, an attribute of ``Where``.
        is_first: the agent reads only the first existing file of these.
    """

    title: str
    names: tuple[str, ...]
    author: Author = "person"
    cap: Cap = _NO_CAP
    is_first: bool = False

    def sources(self, where: Where) -> list[Source]:
        """Return the files that may exist, in reading order."""
        found = []
        for name in self.names:
            base, _, rest = name.partition("/")
            folders = getattr(where, base)
            for folder in folders if isinstance(folders, list) else [folders]:
                paths = sorted(folder.glob(rest)) if "*" in rest else [folder / rest]
                everywhere = base != "project"
                found += [
                    Source(path, self.title, self.author, everywhere, self.cap) for path in paths
                ]
        return [one for one in found if os.path.isfile(one.path)][:1] if self.is_first else found


def listed(*kinds: FileKind) -> Callable[[Where], Iterator[Source]]:
    """Return the ``sources`` of an agent's ``memories`` module for files of these kinds.

    It yields the files that may exist, in reading order: those in the agent's own folders, then
    the others.
    """
    own = [kind for kind in kinds if kind.names[0].startswith("own/")]
    others = [kind for kind in kinds if kind not in own]

    def sources(where: Where) -> Iterator[Source]:
        for folder in where.own:
            for kind in own:
                yield from kind.sources(where._replace(own=[folder]))
        for kind in others:
            yield from kind.sources(where)

    return sources


def memory_folder(
    folder: Path,
    title: str,
    cap: Cap = _NO_CAP,
    *,
    everywhere: bool = False,
    topics: str = "**/*.md",
) -> Iterator[Source]:
    """Yield the ``MEMORY.md`` of a folder that an agent writes, then the files that it must name.

    Args:
        topics: glob pattern of these files.
    """
    index = folder / "MEMORY.md"
    yield Source(index, title, "agent", everywhere, cap)
    for topic in sorted(folder.glob(topics)):
        if topic != index:
            yield Source(topic, title, "agent", everywhere, named_in=index)


Found = dict[str, list[tuple[str, Source]]]  # path -> (agent, source) of each agent that reads it


def sources(root: str, folders: AgentFolders) -> Found:
    """Return the existing agent files, each once, with the agents that read it.

    Args:
        root: the project's root, or ``""``.
        folders: the agents' folders.
    """
    home = user_home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    found: Found = {}
    for agent in agent_registry.names():
        part = agent_registry.part(agent, "memories")
        if part is None:
            continue
        count = 0
        places = folders.of(agent)
        # An agent with its home variable set looks only in the folder that the variable names.
        moved = os.environ.get(agent_registry.agent(agent).home_variable)
        own = [
            place
            for place in places
            if moved and place.is_relative_to(os.path.abspath(os.path.expanduser(moved)))
        ]
        folder_of = getattr(part, "own_folder", operator.attrgetter("parent"))
        agents_own = list(dict.fromkeys(map(folder_of, own or places)))
        where = Where(home, config, [Path(root)] if root else [], agents_own)
        for source in part.sources(where):
            if count >= _MAX_FILES:
                break
            if os.path.isfile(source.path) and _stays(source, root):
                count += 1
                # A link in the user's own folders was made by the user. A link in a project may
                # come from a clone.
                path = (
                    os.path.realpath(source.path)
                    if source.everywhere
                    else os.path.abspath(source.path)
                )
                readers = found.setdefault(path, [])
                if agent not in (name for name, _ in readers):
                    readers.append((agent, source))
    return found


def _stays(source: Source, root: str) -> bool:
    """Return whether the file of a project really lies in that project.

    A link in a clone could lead to another project's file.
    """
    is_inside = (
        bool(root)
        and not source.everywhere
        and str(source.path).startswith(root.rstrip(os.sep) + os.sep)
    )
    return not is_inside or os.path.realpath(source.path).startswith(
        os.path.realpath(root).rstrip(os.sep) + os.sep
    )


def read(found: Found, home: Home) -> list[AgentFile]:
    """Read the files and return their state."""
    caps = {os.path.realpath(path): readers[0][1].cap for path, readers in found.items()}
    return [_read(path, readers, home, caps) for path, readers in found.items()]


def _read(
    path: str, readers: list[tuple[str, Source]], home: Home, caps: dict[str, Cap]
) -> AgentFile:
    """Read one file.

    Args:
        readers: the agents that read it.
        caps: caps of all files, by real path.
    """
    first = readers[0][1]
    scope: Literal["project", "everywhere"] = "everywhere" if first.everywhere else "project"
    agents = [agent for agent, _ in readers]
    made = AgentFile(path, first.title, agents, first.author, scope, "", 0)
    try:
        info = os.stat(path)
        data = safe_files.read(path, _MAX)
        text = plain(data.decode("utf-8", "replace").replace("\r\n", "\n"))
        made.orphaned = all(
            source.named_in
            and not _names(
                source.named_in, path, text, caps.get(os.path.realpath(source.named_in), Cap())
            )
            for _, source in readers
        )
    except OSError as error:
        made.problem = (
            f"larger than {_MAX >> 20} MB"
            if error.errno == errno.EFBIG
            else error.strerror or str(error)
        )
        return made
    changed = datetime.fromtimestamp(info.st_mtime).astimezone()
    made.modified, made.size = changed.isoformat(timespec="seconds"), info.st_size
    made.lines = text.count("\n") + bool(text.strip("\n") and not text.endswith("\n"))
    made.sections = list(_sections(path, text, home))
    if first.named_in and (match := _FRONT.match(text)) and (says := _SAYS.findall(match[1])):
        made.title = f"{first.title}: {redact(says[-1], home)[0][:120]}"
    for agent, source in readers:
        behind = _left_out(text, source.cap) if any(source.cap[:3]) else set()
        for section in made.sections:
            if not behind.isdisjoint(range(section.line, section.end_line + 1)):
                section.unread_by.append(agent)
    return made


def _left_out(text: str, cap: Cap) -> set[int]:
    """Return the numbers, from 1, of the lines that exceed a cap."""
    lines = text.split("\n")
    counted = list(range(1, len(lines) + 1))
    if cap.stripped:
        bare = _COMMENT.sub(
            lambda match: "\n" * match[0].count("\n"),
            _FRONT.sub(lambda match: "\n" * match[0].count("\n"), text, count=1),
        )
        filled = [number for number, line in enumerate(bare.split("\n"), 1) if line.strip()]
        hidden = {
            number
            for number, (line, was) in enumerate(zip(bare.split("\n"), lines), 1)
            if was.strip() and not line.strip()
        }
        counted = [
            number
            for number in counted
            if filled and filled[0] <= number <= filled[-1] and number not in hidden
        ]
    within = counted[: cap.lines] if cap.lines else counted
    units = [len(line.encode("utf-16-le", "replace")) // 2 for line in lines if cap.chars]
    octets = [len(line.encode("utf-8", "replace")) for line in lines if cap.max_bytes]
    for limit, sizes in ((cap.chars, units), (cap.max_bytes, octets)):
        if limit:
            head = _within(sizes, within, limit * (1 - cap.tail))
            rest = within[len(head) :]
            within = head + (_within(sizes, rest[::-1], limit * cap.tail) if cap.tail else [])
    return set(counted) - set(within)


def _within(sizes: list[int], numbers: list[int], limit: float) -> list[int]:
    """Return the first of these lines that fit into the limit. *sizes* are those of all lines."""
    taken: list[int] = []
    for number in numbers:
        limit -= sizes[number - 1] + 1
        if limit < -1:  # the last line needs no line end
            break
        taken.append(number)
    return taken


def _names(index: Path, path: str, topic: str, cap: Cap) -> bool:
    """Return whether the part of *index* that is read names the file *path*.

    It may name the file, the title in the file's front matter, or a stem that is not a common word.

    Args:
        topic: the text of *path*.
    """
    try:
        text = safe_files.read(index, _MAX).decode("utf-8", "replace")
    except FileNotFoundError:
        return False
    except OSError:
        return True  # unknown: do not report it as orphaned
    behind = _left_out(text, cap)
    visible = unquote(
        "\n".join(line for number, line in enumerate(text.split("\n"), 1) if number not in behind)
    )
    relative = os.path.relpath(path, index.parent)
    stem, ending = os.path.splitext(relative)
    front = _FRONT.match(topic)
    called = _CALLED.search(front[1]) if front else None
    names = {stem, called[1] if called else stem}
    ways = [
        rf"(?<![\w-]){re.escape(relative)}(?![\w-])",
        *(re.escape(f"[[{name}]]") for name in names),
    ]
    ways += [
        rf"(?<![\w/-]){re.escape(name)}(?![\w-])"
        for name in names
        if re.search(r"\w[-_]\w", name) or ending != ".md"
    ]
    return any(re.search(way, visible) for way in ways)


def _sections(path: str, text: str, home: Home) -> Iterator[AgentFileSection]:
    """Yield list items, and texts between headings and lists, without front matter and comments."""
    lines = text.split("\n")
    counts: dict[str, int] = {}
    for trail, first, stop in _blocks(lines, _FRONT.match(text)):
        words = redact("\n".join(lines[first:stop]).strip("\n").rstrip(), home)[0]
        if not any(char.isalnum() for char in words):
            continue
        count = counts[words] = counts.get(words, 0) + 1
        name = digest("native", path, words, *([str(count)] if count > 1 else []), size=6)
        yield AgentFileSection(
            name, words, [redact(heading, home)[0] for heading in trail], first + 1, stop, []
        )


def _blocks(lines: list[str], front: re.Match[str] | None) -> Iterator[tuple[list[str], int, int]]:
    """Yield (headings above, first line, line after the last) of each section, counted from 0."""
    from markdown_it import MarkdownIt  # 30 ms, and only needed to read such files

    skipped = front[0].count("\n") if front else 0
    body = "\n".join([""] * skipped + lines[skipped:])
    tokens = [token for token in MarkdownIt("commonmark").enable("table").parse(body) if token.map]
    trail: list[tuple[int, str]] = []
    text: tuple[int, int] | None = None
    lead_in: list[str] = []
    last = 0  # first line of the last paragraph in that text
    for number, token in enumerate(tokens):
        if token.level > 1 or (token.level == 1 and token.type != "list_item_open"):
            continue
        start, stop = token.map  # type: ignore[misc]
        while stop > start + 1 and not lines[stop - 1].strip():
            stop -= 1
        is_list = token.type in ("bullet_list_open", "ordered_list_open")
        is_text = not is_list and token.type not in (
            "heading_open",
            "list_item_open",
            "hr",
            "html_block",
        )
        lead = "\n".join(lines[last : text[1]]).strip() if text else ""
        if is_list and text and lead.endswith(":") and len(lead) <= _LEAD_IN:
            if last > text[0]:
                yield [name for _, name in trail], text[0], last
            lead_in, text = [lead.rstrip(":")], None
        elif not is_text and text and token.type != "html_block":
            yield [name for _, name in trail], *text
            text = None
        if token.type == "heading_open":
            depth, name = (
                int(token.tag[1:]),
                tokens[number + 1].content if number + 1 < len(tokens) else "",
            )
            trail = [(above, named) for above, named in trail if above < depth] + [(depth, name)]
            lead_in = []
        elif token.type == "list_item_open":
            yield [*(name for _, name in trail), *lead_in], start, stop
        elif is_text:
            lead_in = []
            text, last = (text[0] if text else start, stop), start
    if text:
        yield [name for _, name in trail], *text


def as_entries(memories: Iterable[AgentFile], root: str) -> Iterator[str]:
    """Yield the sections as entries for the index, each below a heading with its origin."""
    for memory in memories:
        for section in memory.sections:
            where = f"{titles(memory)}: {short(memory.path, root)}, line {section.line}"
            heading = (
                plain(" › ".join([where, *section.trail])).replace("<!--", "").replace("-->", "")
            )
            yield (
                f"### {' '.join(heading.split())[:300]}\n"
                f"<!-- id:{section.id} -->\n{escape_block(section.text)}\n"
            )


def titles(memory: AgentFile) -> str:
    """Return the names of the file's agents for people, shortened if there are many."""
    named = [agent_registry.agent(agent).title for agent in memory.agents]
    return ", ".join(named[:_NAMED]) + (
        f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    )


def short(path: str, root: str) -> str:
    """Return a path relative to the project's root or to the user's home, as people write it."""
    for base, sign in ((root, ""), (str(user_home()), "~/")):
        if base and path.startswith(base.rstrip(os.sep) + os.sep):
            return sign + os.path.relpath(path, base)
    return path
