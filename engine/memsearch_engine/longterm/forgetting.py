"""Forgets lines of the long-term memory on the owner's request.

They are removed at once and can be restored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.state import change_state, state_rows, using
from memsearch_engine.index.analyze import terms
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import review, searchable, workspace
from memsearch_engine.longterm.facts import facts as remembered
from memsearch_engine.longterm.store import SCHEMA, SessionMemories, plain_line

TRASH = """
CREATE TABLE IF NOT EXISTS longterm_trash (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL,\
 query TEXT NOT NULL, body BLOB NOT NULL, restored REAL NOT NULL);
"""


class Match(msgspec.Struct, frozen=True):
    """A bullet that would be forgotten, with its continuation lines.

    Attributes:
        kind: the kind of document that contains it.
        name: the id of the note or session, or the name of the file.
    """

    kind: Literal["note", "file", "session"]
    name: str
    line: str


class _Image(msgspec.Struct):
    kind: str
    name: str
    before: str
    after: str


class _Forgotten(msgspec.Struct):
    lines: list[str]
    images: list[_Image]


def find(home: Home, query: str, project: str = "") -> list[Match]:
    """Find the lines that contain every word of *query* (by stem), or the fact with that id.

    Args:
        project: the identity of a project, to search its own lines and those for all projects; ''
            for everything.

    Raises:
        UsageError: the query has no words.
    """
    wanted, scope = set(terms(query)), project[:8]
    if not wanted:
        raise UsageError("the query has no words", "name words of the fact to be forgotten")

    def hit(line: str) -> bool:
        """Whether a line contains every word of the query."""
        words = line.casefold()
        return all(word in words for word in plain_words) and wanted <= set(terms(line))

    # Nearly every stem is a prefix of its word, so most lines are excluded before they are stemmed.
    plain_words = [
        term[:3] for term in wanted if term.isascii() and term.isalpha() and len(term) > 3
    ]
    found = [
        Match("note", fact.id, fact.text)
        for fact in remembered(home)
        if (not scope or fact.scope in ("", scope)) and (fact.id == query.strip() or hit(fact.text))
    ]
    for name in (workspace.MEMORY, workspace.SUMMARY):
        text = workspace.read(home.longterm, name)
        text = workspace.part_for(text, scope) if scope else text
        found += [Match("file", name, block) for block in _blocks(text) if hit(block)]
    for memory in SessionMemories(home).all():
        if not scope or memory.project[:8] in ("", scope):
            blocks = _blocks(memory.raw_memory) + _blocks(memory.summary)
            found += [
                Match("session", memory.id, block) for block in dict.fromkeys(blocks) if hit(block)
            ]
    return found


def _blocks(text: str) -> list[str]:
    """Bullets with their continuation lines, and paragraphs, without headings."""
    lines = text.splitlines()
    units = ["\n".join(lines[start:stop]) for start, stop in workspace.blocks(lines)]
    return [unit for unit in units if not unit.startswith("#") and unit != workspace.VERSION]


def forget(home: Home, query: str, matches: list[Match]) -> int:
    """Remove exactly *matches*. The next consolidation does not bring them back.

    Returns:
        The number for ``restore``.
    """
    with locked(home, str(home.longterm)):
        images = list(_images(home, matches))
        with using(home, TRASH) as db:
            shown = list(dict.fromkeys(match.line for match in matches))
            row = (time.time(), query, msgspec.json.encode(_Forgotten(shown, images)))
            number = int(
                db.execute(
                    "INSERT INTO longterm_trash (at, query, body, restored) VALUES (?,?,?,0)", row
                ).lastrowid
                or 0
            )
        store = SessionMemories(home)
        store.refuse("+", [line for match in matches for line in match.line.splitlines()])
        for image in images:
            _put(home, image, image.after)
        _rewrite_evidence(home)
        searchable.rewrite(home, forget=True)
    if proposal := review.pending(home):  # the pending proposal must not bring it back
        unwanted, wanted = store.refused("+"), set(terms(query))
        numbers = [
            hunk.number
            for hunk in proposal.waiting
            if any(plain_line(line) in unwanted for line in hunk.after)
            or (hunk.after and wanted <= set(terms(" ".join(hunk.after))))
        ]
        if numbers:
            review.decide(home, "rejected", numbers, proposal_id=proposal.id)
    return number


def _images(home: Home, matches: list[Match]) -> Iterator[_Image]:
    """Yield each text that contains a match, with and without its matches."""
    gone: dict[tuple[str, str], set[str]] = {}
    for match in matches:
        gone.setdefault((match.kind, match.name), set()).add(match.line)
    paths = {fact.id: fact.path for fact in remembered(home)}
    for (kind, name), lines in gone.items():
        if kind == "note":
            yield _Image("note", paths[name], workspace.read(home.longterm, paths[name]), "")
        elif kind == "file":
            text = workspace.read(home.longterm, name)
            yield _Image("file", name, text, _without(text, lines))
        elif memory := SessionMemories(home).get(name):
            for column in ("raw_memory", "summary"):
                text = getattr(memory, column)
                yield _Image(column, name, text, _without(text, lines))


def _rewrite_evidence(home: Home) -> None:
    """Rewrite the evidence files, so that the next consolidation sees the difference."""
    if (home.longterm / workspace.RAW).exists():
        weighed = [
            memory
            for memory in SessionMemories(home).all()
            if memory.selected and not memory.forgotten
        ]
        workspace.write_inputs(home, home.longterm, sorted(weighed, key=lambda memory: memory.id))


def restore(home: Home, number: int) -> int:
    """Restore what ``forget`` removed.

    Returns:
        The number of restored texts.

    Raises:
        NotFound: there is no such number.
        Conflict: a file has changed since.
    """
    with locked(home, str(home.longterm)):
        query = "SELECT body FROM longterm_trash WHERE id=? AND restored=0"
        found = state_rows(home, TRASH, query, (number,))
        if not found:
            raise NotFound(
                f"nothing to bring back under {number}",
                "`memsearch longterm show --forgotten` lists it",
            )
        images = msgspec.json.decode(found[0][0], type=_Forgotten).images
        store = SessionMemories(home)
        back: list[tuple[_Image, str]] = []
        store.allow([line for image in images for line in image.before.splitlines()])
        for image in images:  # all or nothing
            now = _get(home, image)
            if image.kind == "file" and now != image.after:
                for hunk in review.hunks_between(
                    {image.name: image.after}, {image.name: image.before}, store
                ):
                    now = review.apply(hunk, now)
                back.append((image, now))
            elif now != image.after:
                raise Conflict(
                    f"{image.name} has changed since it was forgotten",
                    "`memsearch remember` writes a fact again",
                )
            else:
                back.append((image, image.before))
        for image, text in back:
            _put(home, image, text)
        _rewrite_evidence(home)
        searchable.rewrite(home)
        change_state(
            home, TRASH, "UPDATE longterm_trash SET restored=? WHERE id=?", (time.time(), number)
        )
    return len(images)


class Trash(msgspec.Struct):
    """What one call of ``forget`` removed. ``number``: the number for ``restore``."""

    number: int
    day: str
    query: str
    lines: list[str]


def trash(home: Home) -> list[Trash]:
    """What was forgotten by hand and can be restored, newest first."""
    rows = state_rows(
        home,
        TRASH,
        "SELECT id, at, query, body FROM longterm_trash WHERE restored=0 ORDER BY id DESC",
    )
    return [
        Trash(
            number,
            time.strftime("%Y-%m-%d", time.localtime(at)),
            query,
            msgspec.json.decode(body, type=_Forgotten).lines,
        )
        for number, at, query, body in rows
    ]


def _without(text: str, blocks: set[str]) -> str:
    text = f"\n{text}\n"
    for block in blocks:
        text = text.replace(f"\n{block}\n", "\n")
    return text[1:-1] if len(text) > 1 else ""


def _get(home: Home, image: _Image) -> str:
    if image.kind in ("note", "file"):
        return workspace.read(home.longterm, image.name)
    memory = SessionMemories(home).get(image.name)
    if memory is None:
        raise Conflict(
            f"the memory {image.name} is gone", "`memsearch remember` writes a fact again"
        )
    return str(getattr(memory, image.kind))


def _put(home: Home, image: _Image, text: str) -> None:
    if image.kind == "file" or (image.kind == "note" and text):
        workspace.write(home, home.longterm, image.name, text)
    elif image.kind == "note":
        Path(home.longterm, image.name).unlink(missing_ok=True)
    else:
        column = "raw_memory" if image.kind == "raw_memory" else "summary"
        query = f"UPDATE longterm_memories SET {column}=? WHERE id=?"
        change_state(home, SCHEMA, query, (text, image.name))
