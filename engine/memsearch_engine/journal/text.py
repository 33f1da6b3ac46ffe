"""Makes text of models and transcripts safe for a day file.

Such text must not forge a heading, an anchor, a mark or a comment, or leave a code fence open over
the following entries.
"""

from __future__ import annotations

import re
from typing import NewType

from memsearch_engine.core.safe_text import plain

#: Text of an entry from which secrets were taken, and which can begin no other entry: what the
#: journal writes, and nothing else. ``Journal.clean`` makes it of any text, ``render.body_of`` of
#: what its owner typed.
CleanText = NewType("CleanText", str)
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=\s|$)", re.M)
_SETEXT = re.compile(r"^( {0,3})(=+|-{2,})[ \t]*$", re.M)
#: The first line of a fenced block of code; group 1 is the fence.
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.M)


def escape_block(text: str) -> str:
    """Escape *text* for an entry's body: no heading, comment or front matter; closed fences."""
    text = plain(text).replace("<!--", "<\u200b!--").replace("-->", "--\u200b>")
    text = _HEADING.sub(lambda m: f"{m[1]}\\{m[2]}", text)
    text = _SETEXT.sub(lambda m: f"{m[1]}\\{m[2]}", text)
    return balance_fences(text.strip("\n"))


def escape_line(text: str) -> str:
    """*text* as one line inside a list item."""
    return escape_block(" ".join(plain(text).split()))


def balance_fences(text: str) -> str:
    """Close a fence that *text* leaves open."""
    open_fence = ""
    for line in text.split("\n"):
        match = FENCE.match(line)
        if not match:
            continue
        fence = match[1]
        if not open_fence:
            if fence[0] == "~" or "`" not in line[match.end() :]:
                open_fence = fence
        elif (
            fence[0] == open_fence[0]
            and len(fence) >= len(open_fence)
            and not line[match.end() :].strip()
        ):
            open_fence = ""
    return f"{text}\n{open_fence}" if open_fence else text
