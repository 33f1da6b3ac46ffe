"""Settles several versions of one note: equal copies, and conflicts between two texts."""

from __future__ import annotations

from memsearch_engine.journal import render
from memsearch_engine.journal.history import new_batch
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, Document, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.targets import Target, find_target
from memsearch_engine.journal.undo import day_name, read_day_file
from memsearch_engine.journal.write import Journal


def merge_equal(journal: Journal, memory: str, first: Target, others: list[Target]) -> Entry:
    """Merge entries with the same content into one, as one step of undo.

    The result has the text of *first* and the anchors of all.
    """
    batch = new_batch()
    document = parse(read_day_file(first.path), day_name(first.path))
    seen = find_target(document, first)
    removed = [find_target(parse(read_day_file(t.path), day_name(t.path)), t) for t in others]
    anchors = [anchor for entry in removed for anchor in entry.anchors]

    def change(document: Document, entry: Entry) -> bytes:
        new = [a for a in dict.fromkeys(anchors) if a not in entry.anchors]
        head = render.head_with_id(document, entry)
        if head and not head.endswith(b"\n"):
            head += document.newline.encode()
        lines = "".join(f"{anchor.render()}{document.newline}" for anchor in new).encode()
        return (
            head.rstrip(b"\r\n")
            + document.newline.encode() * bool(head.strip())
            + lines
            + entry.raw[entry.body_start - entry.start :]
        )

    journal.splice(memory, "delete", others, None, batch=batch)
    # the order of equal notes has changed, so the entry is found by its place
    now = parse(read_day_file(first.path), day_name(first.path))
    before = sum(
        target.path == first.path and entry.start < seen.start
        for target, entry in zip(others, removed)
    )
    entry = now.entries[document.entries.index(seen) - before]
    target = Target(first.path, entry.id, first.hash)
    return journal.splice(memory, "edit", [target], change, batch=batch, ours=False)[0]


def decide(journal: Journal, memory: str, shown: Target, other: Target, body: str | None) -> None:
    """Settle a conflict between two texts of a note, as one step of undo.

    The other text is deleted.

    Args:
        body: the text to use; None for the shown one.
    """
    from memsearch_engine.secrets.scan import redact

    clean = None if body is None else redact(body, journal.home)[0]

    def change(document: Document, entry: Entry) -> bytes:
        marks = dict(entry.marks)
        if sum(found.marks.get(CONFLICT_OF) == entry.id for found in document.entries) < 2:
            marks.pop(CONFLICT, None)
        new = render.with_marks(document, entry, marks)
        if clean is None:
            return new
        return render.with_body(document, entry, new, render.body_of(clean, entry))

    batch = new_batch()
    journal.splice(memory, "edit", [shown], change, batch=batch)
    journal.splice(memory, "delete", [other], None, batch=batch)


def separate(journal: Journal, memory: str, other: Target, shown: Target | None) -> None:
    """Make a note of each version of a conflict. One undo reverts it."""

    def change(document: Document, entry: Entry) -> bytes:
        last = sum(found.marks.get(CONFLICT_OF) == entry.id for found in document.entries) < 2
        gone = {CONFLICT_OF, *([CONFLICT] if last else [])}
        marks = {name: value for name, value in entry.marks.items() if name not in gone}
        return render.with_marks(document, entry, marks)

    batch = new_batch()
    for target in [shown, other] if shown else [other]:
        journal.splice(memory, "mark", [target], change, batch=batch)
