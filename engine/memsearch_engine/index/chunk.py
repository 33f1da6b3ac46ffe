"""Split entries into chunks, the units that are embedded and found.

A chunk is a whole entry, or a part of an entry that is longer than the limit. Entries are cut at
paragraphs, else at lines, else at sentences. Code fences, URLs and paths are not cut if the limit
allows. The embedded text contains hand-written headings but no comments. Day and time are filters
and are never embedded. The prompt of a captured turn is put before the first chunk of its entry,
because the note is in the agent's words and people search in their own.
"""

from __future__ import annotations

import itertools
import re

import msgspec

from memsearch_engine.core.ids import digest
from memsearch_engine.core.safe_text import plain
from memsearch_engine.index import analyze
from memsearch_engine.index.analyze import is_cjk
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.text import FENCE

#: Part of the index fingerprint. Raise it after every change in how entries are split.
CHUNKER_VERSION = "2"

_COMMENT = re.compile(r"<!--.*?-->", re.S)
_MACHINE_HEADING = re.compile(r"(?:Session\b.*|\d{4}-\d{2}-\d{2}.*|[\d:]+|Notes)$", re.I)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；…])")
_MAX_CONTEXT = 300
#: Characters of a prompt that are embedded; the rest of a longer prompt is usually pasted text.
_MAX_ASKED = 300
_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.S)
_PLACEHOLDER = re.compile(r"\[REDACTED:[^\]\n]*\]")
#: A prompt is embedded if at least this number of its terms, and this share of them, are not in the
#: note. An extractive note begins with the prompt.
_NEW_TERMS, _NEW_SHARE = 2, 0.25
_CJK_WEIGHT = 3  # a CJK character is about one token, as is an English word of five letters


class Chunk(msgspec.Struct):
    """A part of an entry.

    Attributes:
        chunk_id: depends on the text of the note, not on its position.
        part: number of the chunk in the entry, from 0.
        text: the text as written.
        embedded: the embedded text without the prompt.
        text_hash: hash of the embedded text with the prompt; names the vector.
        start_line, end_line: first and last line in the file, from 1.
    """

    chunk_id: str
    part: int
    text: str
    embedded: str
    text_hash: str
    start_line: int
    end_line: int


def chunks_of(entry: Entry, max_chars: int = 1500, asked: str = "") -> list[Chunk]:
    """Split an entry into chunks.

    Args:
        entry: the entry.
        max_chars: largest ``weight`` of a chunk.
        asked: the prompt to embed before the first chunk (``asked_before``); not part of the note.
    """
    context = " / ".join(
        heading
        for heading in [*entry.trail, entry.heading]
        if heading and not _MACHINE_HEADING.match(heading)
    )[:_MAX_CONTEXT]
    body = entry.body
    first_line = entry.end_line - body.count("\n") if body else entry.start_line
    pieces = split(body, max_chars)
    found: list[Chunk] = []
    line = first_line  # of the piece's first character
    for part, (start, stop) in enumerate(pieces):
        breaks = body.count("\n", start, stop)
        text = body[start:stop].strip("\n")
        clean = _COMMENT.sub("", text).strip()
        embedded = f"{context}\n{clean}" if context else clean
        if not embedded:  # only a time and an anchor
            continue
        name = text_hash(embedded)
        found.append(
            Chunk(
                chunk_id=digest(entry.id, str(part), name, size=8),
                part=part,
                text=entry.content if len(pieces) == 1 else text,
                embedded=embedded,
                text_hash=text_hash(with_asked(asked, embedded)) if asked and part == 0 else name,
                start_line=entry.start_line if part == 0 else line,
                end_line=entry.end_line
                if part == len(pieces) - 1
                else line + breaks - body.endswith("\n", start, stop),
            )
        )
        line += breaks
    return found


def text_of(entry: Entry) -> str:
    """Return the whole embedded text of an entry, without a prompt."""
    return "\n".join(chunk.embedded for chunk in chunks_of(entry))


def asked_before(note: str, prompt: str) -> str:
    """Return the part of a turn's prompt that is embedded before its note.

    Args:
        note: text of the note.
        prompt: the prompt without secrets.

    Returns:
        '' if the prompt adds nothing to the note.
    """
    text = " ".join(_FENCED.sub(" ", _PLACEHOLDER.sub(" ", plain(prompt))).split())
    if len(text) > _MAX_ASKED:
        text = text[:_MAX_ASKED].rpartition(" ")[0] or text[:_MAX_ASKED]
    terms = dict.fromkeys(analyze.terms(text))
    new = terms.keys() - set(analyze.terms(note))
    return text if len(new) >= _NEW_TERMS and len(new) >= _NEW_SHARE * len(terms) else ""


def with_asked(asked: str, embedded: str) -> str:
    """Return the embedded text with a prompt before it."""
    return f"{asked}\n{embedded}" if asked else embedded


def text_hash(embedded: str) -> str:
    """Return the hash of an embedded text, which names its vector."""
    return digest(embedded, size=12)


def weight(text: str) -> int:
    """Return the length of a text, with CJK characters counted as several Latin letters."""
    if text.isascii():
        return len(text)
    return sum(_CJK_WEIGHT if is_cjk(char) else 1 for char in text)


def split(text: str, max_chars: int) -> list[tuple[int, int]]:
    """Cut *text* into (start, stop) spans without gaps, each with a weight up to *max_chars*."""
    if weight(text) <= max_chars:
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    for block in _blocks(text):
        _pack(spans, text, block, max_chars)
    return spans


def _pack(spans: list[tuple[int, int]], text: str, block: tuple[int, int], limit: int) -> None:
    """Add *block* to the last span if it fits, else as a new span, or several if it is too long."""
    start, stop = block
    if spans and weight(text[spans[-1][0] : stop]) <= limit:
        spans[-1] = (spans[-1][0], stop)
    elif weight(text[start:stop]) <= limit:
        spans.append(block)
    else:
        for piece in _finer(text, start, stop, limit):
            if spans and weight(text[spans[-1][0] : piece[1]]) <= limit:
                spans[-1] = (spans[-1][0], piece[1])
            else:
                spans.append(piece)


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return paragraphs with the blank lines after them; a fenced block is one paragraph."""
    blocks: list[tuple[int, int]] = []
    start = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        position += len(line)
        match = FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not line.strip(" `~\r\n"):
                fence = ""
                blocks.append((start, position))
                start = position
        elif match:
            fence = match[1]
            if start < position - len(line):
                blocks.append((start, position - len(line)))
                start = position - len(line)
        elif not line.strip():
            blocks.append((start, position))
            start = position
    if start < len(text):
        blocks.append((start, len(text)))
    return blocks


def _finer(text: str, start: int, stop: int, limit: int) -> list[tuple[int, int]]:
    """Cut at lines, else at sentences, else at blanks, else at the limit."""
    for cut in (r"(?<=\n)", _SENTENCE.pattern, r"(?<=\s)(?=\S)"):
        bounds = [
            start,
            *(start + m.end() for m in re.finditer(cut, text[start:stop]) if m.end()),
            stop,
        ]
        pieces = [(a, b) for a, b in itertools.pairwise(bounds) if a < b]
        if len(pieces) > 1:
            return [
                finer
                for piece in pieces
                for finer in (
                    [piece] if weight(text[slice(*piece)]) <= limit else _finer(text, *piece, limit)
                )
            ]
    step = max(1, limit // _CJK_WEIGHT if weight(text[start:stop]) > stop - start else limit)
    return [(a, min(stop, a + step)) for a in range(start, stop, step)]
