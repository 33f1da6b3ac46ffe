"""Finds junk: accidental output of a memory tool.

Junk are stubs, error texts, repeated injected context, and prompts stored as facts.
"""

from __future__ import annotations

import re
from typing import Literal

from memsearch_engine.journal.model import Entry

JunkKind = Literal["stub", "error", "echo", "prompt"]
_MIN_CHARACTERS = 5
_ERROR_WORDS = 9  # an error text is short; a longer text that mentions one is a note
_ERROR = re.compile(
    r"(?i)^\W*(?:api error\b|error:? (?:4\d\d|5\d\d)\W*$|rate limit(?:ed)?\W*(?:exceeded|"
    r"reached|$)|you(?:'ve| have) (?:hit|reached) your (?:usage|rate) limit|usage limit reached|"
    r"credit balance is too low|invalid api key|please run /login|"
    r"overloaded_error|request timed out\W*$|prompt is too long|"
    r"execution error|\[?(?:summary|transcript) (?:failed|"
    r"unavailable|empty)\]?|no summary (?:available|generated))"
)
_ECHO = re.compile(
    r"<memsearch-memory|</memsearch-memory|"
    r"Notes from earlier sessions of this project:|\[memsearch\] Memory available|"
    r"# Recent Memory\b|Long-term memory, checked by the user"
)
_PROMPT = re.compile(
    r"(?i)you are a third-person note-taker|\[memsearch summariser\]|"
    r"summari[sz]e the following (?:turn|transcript|conversation)|"
    r"^\W*you are (?:an?|the) [a-z -]{3,40}(?:assistant|agent|"
    r"note-taker|summari[sz]er)\b|output only (?:the )?bullet"
)


def junk_in(entry: Entry) -> tuple[JunkKind, str] | None:
    """Return the kind of junk that an entry is and the line that matched; None for a note.

    Pinned notes are never junk.
    """
    body = entry.body.strip()
    if "pin" in entry.marks:
        return None
    first = next((line.strip() for line in body.splitlines() if line.strip()), "")
    if len(re.sub(r"[\W_]", "", body)) < _MIN_CHARACTERS and not re.search(
        r"[\u3040-\u9fff\uac00-\ud7af]{2}", body
    ):
        return "stub", first or "no text at all"
    lines = [line.strip(" -*+>\t") for line in body.splitlines() if line.strip()]
    if len(lines) <= 2 and len(words_of(lines[0])) <= _ERROR_WORDS and _ERROR.match(lines[0]):
        return "error", lines[0][:200]
    if match := _ECHO.search(body):
        return "echo", match[0]
    if (match := _PROMPT.search(lines[0])) and len(lines) <= 3:
        return "prompt", lines[0][:200]
    return None


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"[^\W_]+|[\u3040-\u9fff\uac00-\ud7af]", text.casefold())
