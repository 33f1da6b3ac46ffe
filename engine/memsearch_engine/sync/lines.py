"""Merges long-term documents by section and, in a section, by whole bullets and paragraphs.

Additions of both sides stay under their heading. A deletion on one side wins. What both changed
stays in both forms.
"""

from __future__ import annotations

import re
from collections import Counter

from memsearch_engine.journal.merge import topological

_BULLET = re.compile(r" {0,3}[-*+] ")
#: A section: its headings, outermost first, as one text; within it the pieces by wording, each with
#: the blank lines before it.
_Sections = dict[str, dict[str, str]]
_HEAD = "\x00"


def merge_lines(base: str, ours: str, theirs: str) -> str:
    """Merge two texts with the common ancestor *base*."""
    if ours in (theirs, base):
        return theirs
    if theirs == base:
        return ours
    versions = [_sections(text) for text in (base, ours, theirs)]
    names = dict.fromkeys(name for version in versions for name in version)
    merged = {name: _merged([version.get(name, {}) for version in versions]) for name in names}
    remaining = {name for name, pieces in merged.items() if pieces}
    for name in list(remaining):  # the headings above a remaining section
        parts = name.split("\n")
        remaining |= {
            "\n".join(parts[:n]) for n in range(1, len(parts)) if "\n".join(parts[:n]) in merged
        }
    orders = [[name for name in version if name in remaining] for version in versions]
    lines: list[str] = []
    for name in topological(orders, remaining, lambda name: ("", name)):
        pieces = merged[name]
        if name and _HEAD not in pieces:
            pieces = {
                _HEAD: next(version[name][_HEAD] for version in versions if name in version),
                **pieces,
            }
        lines += pieces.values()
    text = "\n".join(lines).strip("\n")
    return f"{text}\n" if text else ""


def _merged(versions: list[dict[str, str]]) -> dict[str, str]:
    """The pieces of one section, in an order that does not depend on the side."""
    was, one, other = (set(version) for version in versions)
    remaining = (was & one & other) | ((one | other) - was)
    texts = {key: piece for version in versions for key, piece in version.items()}
    order = topological(
        [[key for key in version if key in remaining] for version in versions],
        remaining,
        lambda key: ("" if key == _HEAD else "1", key),
    )
    return {key: texts[key] for key in order}


def _sections(text: str) -> _Sections:
    found: _Sections = {"": {}}
    trail: list[tuple[int, str]] = []
    seen: Counter[tuple[str, str]] = Counter()
    section, blank, open_ = "", "", ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip():
            blank, open_ = f"{blank}\n", ""
            continue
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            while trail and trail[-1][0] >= level:
                trail.pop()
            trail.append((level, line.strip()))
            section, open_ = "\n".join(heading for _, heading in trail), ""
            found.setdefault(section, {}).setdefault(_HEAD, blank + line)
        elif open_ and not _BULLET.match(line):
            found[section][open_] += f"\n{line}"  # the rest of a bullet, or of a paragraph
        else:
            seen[section, line] += 1
            open_ = f"{line.strip()}\x01{seen[section, line]}"
            found[section][open_] = blank + line
        blank = ""
    return {
        name: {_named(key, piece): piece for key, piece in pieces.items()}
        for name, pieces in found.items()
    }


def _named(key: str, piece: str) -> str:
    """Pieces by content: a bullet with another second line is another bullet."""
    return key if key == _HEAD else f"{piece.strip()}\x01{key.rpartition(chr(1))[2]}"
