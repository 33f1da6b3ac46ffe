"""Documents of the long-term memory put together line by line: bullets under headings, each a thought of its own.

What either side added stays, what one side took away of what both had goes; a line that both changed stands in both forms.
"""

from __future__ import annotations

from collections import Counter

from memsearch_engine.journal.merge import topological

_Key = str


def merge_lines(base: str, ours: str, theirs: str) -> str:
    """One text of two that were *base* once."""
    if ours in (theirs, base):
        return theirs
    if theirs == base:
        return ours
    versions = [_keyed(text) for text in (base, ours, theirs)]
    was, one, other = (set(version) for version in versions)
    kept = {key for key in was | one | other if key in (one & other if key in was else one | other)}
    texts = {key: line for version in versions for key, line in version.items()}
    order = topological([[key for key in version if key in kept] for version in versions], kept, lambda key: ("", key))
    text = "\n".join(texts[key] for key in order).strip("\n")
    return f"{text}\n" if text else ""


def _keyed(text: str) -> dict[_Key, str]:
    """The lines of a text, each with the blank ones before it, by heading, wording and how often that came before."""
    found: dict[_Key, str] = {}
    seen: Counter[str] = Counter()
    heading = blank = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip():
            blank += "\n"
            continue
        if line.startswith("#"):
            heading = line.strip()
        name = f"{heading}\x00{line.strip()}"
        seen[name] += 1
        found[f"{name}\x00{seen[name]}"] = blank + line
        blank = ""
    return found
