"""Notes as markdown or JSON, for the clipboard and for files."""

from __future__ import annotations

import os
from collections.abc import Sequence

import memsearch_engine as engine
import msgspec

from memsearch_tui.library.rows import Item


def as_markdown(entries: Sequence[engine.Entry], items: Sequence[Item]) -> str:
    """Return entries as markdown, each under the name of its file."""
    return "\n\n".join(
        f"<!-- {os.path.basename(item.path)} -->\n{entry.content}"
        for entry, item in zip(entries, items)
    )


def export(entries: Sequence[engine.Entry], items: Sequence[Item], path: str) -> str:
    """Write entries to a new file and return its full path.

    Args:
        path: JSON if its name ends in ``.json``, else markdown.

    Raises:
        OSError: the file cannot be written, or exists.
    """
    target = os.path.abspath(os.path.expanduser(path))
    if target.endswith(".json"):
        document = {"schema_version": 1, "entries": list(map(_as_record, entries, items))}
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    else:
        text = as_markdown(entries, items)
    with open(target, "x", encoding="utf-8") as out:
        out.write(text + "\n")
    return target


def _as_record(entry: engine.Entry, item: Item) -> dict[str, object]:
    return {
        "entry_id": entry.id,
        "day": item.day,
        "time": entry.time,
        "agent": entry.agent,
        "session": entry.session,
        "turn": entry.turn,
        "source": item.path,
        "content": entry.content,
        "body": entry.body,
        "marks": entry.marks,
    }
