"""The printed text of the hot commands: values in, lines out.

``search``, ``expand``, ``transcript`` and ``context`` print through these functions, whether the
full command or the thin client runs. Every function takes the object that the command prints with
``--json`` and returns lines for ``looks.write``. Nothing here opens a file or asks the service. The
module imports the standard library and the engine's functions for safe text, nothing else.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from typing import Any

from memsearch_engine.journal.text import plain

from memsearch_tui.cli.looks import styled
from memsearch_tui.counted import many

Json = dict[str, Any]
#: Pairs of a stream (``out``, ``err``) and a text.
Lines = list[tuple[str, str]]

#: Confidences below which a hit is only faintly similar, and an answer is unsure: the thresholds of
#: ``memsearch_engine.search.hits``, which a test compares with these.
DOUBTFUL, UNSURE = 0.05, 0.32
_LONG_TERM = frozenset(("memory", "fact", "summary", "project", "user"))
_SHOWN_LINES, _SHOWN_WEAK, _NOTES_SHOWN, _TOOL_LINES = 3, 3, 3, 6
_BADGES = {
    "pin": "pinned",
    "superseded-by": "superseded",
    "summary": "summary pending",
    "trust": "{}",
    "confidence": "{} confidence",
    "conflict": "changed in two places",
    "conflict-of": "another text of {}",
    "contradicts": "contradicts your decision",
}
_COMMENT = re.compile(r"\s*<!--.*-->\s*")
_FILTER = re.compile(r"""(?:^|(?<=\s))(?:-?[a-z][a-z-]*:("[^"]*"|\S*)|-[^\s"]+|-"[^"]*")""", re.I)
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "ly", "er", "s", "e", "y")
#: Words of a question that say nothing of its subject.
_COMMON = frozenset(
    "a an and are as at be but by can could did do does for from had has have how i if in into is it"
    " its of on or our should so that the their then there these they this to was we were what when"
    " where which who why will with would you".split()
)


# -- values


def answer_json(answer: Json, author_of: Any) -> Json:
    """The object that ``search --json`` prints, without ``schema_version``.

    Args:
        answer: an ``Answer`` as plain values, as the service sends it.
        author_of: names who shared the notes of a file ('' for nobody).
    """
    return {
        "mode": answer["mode"],
        "reason": answer["reason"],
        "corrected": answer["corrected"],
        "absent": answer["absent"],
        "took_ms": answer["took_ms"],
        "hits": [hit_json(hit, answer, author_of) for hit in answer["hits"]],
    }


def hit_json(hit: Json, answer: Json, author_of: Any) -> Json:
    """One hit as ``search --json`` prints it. The arguments are those of ``answer_json``."""
    row = hit["row"]
    name = row["entry_id"]
    newer = next((one for one in reversed(answer["hits"]) if name in one["overtakes"]), None)
    later = next((one for one in answer["hits"] if name in one["precedes"]), None)
    return {
        "content": row["text"],
        "asked": row["asked"],
        "source": row["path"],
        "heading": row["heading"],
        "chunk_hash": row["chunk_id"],
        "heading_level": row["level"],
        "start_line": row["start_line"],
        "end_line": row["end_line"],
        "score": round(hit["score"], 6),
        "entry_id": name,
        "hash": row["hash"],
        "agent": row["agent"],
        "author": author_of(row["path"]),
        "session": row["session"],
        "turn": row["turn"],
        "kind": row["kind"],
        "day": row["day"],
        "time": row["time"],
        "rank": hit["rank"],
        "mode": answer["mode"],
        "ranks": hit["ranks"],
        "scores": hit["scores"],
        "reasons": hit["reasons"],
        "confidence": hit["confidence"],
        "overtaken_by": newer["row"]["entry_id"] if newer else "",
        "later": later["row"]["entry_id"] if later and not newer else "",
        "stale": row["stale"],
        "stale_why": row["stale_why"],
        "branch": row["marks"].get("branch", ""),
        "unmerged": row["unmerged"],
        "title": row["title"],
        "marks": row["marks"],
    }


# -- search


def search(
    answer: Json, query: str, *, width: int = 100, explain: bool = False, weak: bool = False
) -> Lines:
    """The hits of a search, each with its date, agent, id and the lines that answer.

    A newer version of a note comes with the versions that it replaced. Hits that are only faintly
    similar become a count, unless there are no others.

    Args:
        answer: what ``search --json`` prints.
        query: what was asked; its words are marked in the hits.
        width: columns of the output.
        explain: print for each hit why it was found.
        weak: print the faintly similar hits too.
    """
    lines: Lines = [("err", f"note: {text}") for text in _remarks(answer)]
    stems = _stems(query, answer["corrected"])
    hits = answer["hits"]
    ids = {hit["entry_id"]: hit for hit in hits}
    replaced: dict[str, list[Json]] = {}
    top = []
    for hit in hits:
        newer = _newest(hit, ids)
        if newer is not hit and not explain:
            replaced.setdefault(newer["entry_id"], []).append(hit)
        else:
            top.append(hit)
    strong = [hit for hit in top if not _is_doubtful(hit)]
    shown = top if weak or explain else strong or top[:_SHOWN_WEAK]
    agents = max((len(_agent(hit)) for hit in shown), default=0)
    for number, hit in enumerate(shown):
        block = _hit(hit, ids, stems, agents, width, explain)
        block += [_replaced(old, width) for old in replaced.get(hit["entry_id"], ())]
        lines.append(("out", "\n".join(block) + "\n" * (number + 1 < len(shown))))
    return lines + _search_end(answer, shown, len(top) - len(shown))


def _remarks(answer: Json) -> list[str]:
    """What a reader must know before the hits."""
    remarks = []
    if answer["reason"]:
        words = "words only: " if answer["mode"] == "lexical" else ""
        remarks.append(words + plain(answer["reason"]))
    for word, near in answer["corrected"].items():
        remarks.append(f"no note has {word!r}; searched for {', '.join(near)}")
    if answer["absent"]:
        remarks.append(f"no note has {', '.join(map(repr, answer['absent']))}")
    sure = [hit["confidence"] for hit in answer["hits"] if hit["confidence"] is not None]
    if sure and max(sure) < DOUBTFUL:
        remarks.append("no note is close to this; these are the nearest")
    elif sure and max(sure) < UNSURE:
        remarks.append("perhaps no note fits: none is much nearer than the rest")
    return remarks


def _search_end(answer: Json, shown: list[Json], hidden: int) -> Lines:
    """What is said after the hits: their number, and the next command."""
    if not shown:
        hint = (
            "nothing found - `memsearch search --why-not ENTRY QUERY` says why a note is missing; "
            "`--all` searches all projects"
        )
        return [("err", hint)]
    first = shown[0]["entry_id"]
    said = f"{many(len(answer['hits']), 'hit')} ({answer['mode']}, {answer['took_ms']:.0f} ms)"
    if hidden:
        said += f", {hidden} only faintly similar (--weak shows them)"
    return [("err", f"{said} - `memsearch expand {first}` opens the first")]


def _is_doubtful(hit: Json) -> bool:
    return hit["confidence"] is not None and hit["confidence"] < DOUBTFUL


def _newest(hit: Json, ids: dict[str, Json]) -> Json:
    """The hit that is the newest version of *hit* in the answer; *hit* itself where none is."""
    seen = {hit["entry_id"]}
    while (newer := ids.get(hit["overtaken_by"])) and newer["entry_id"] not in seen:
        seen.add(newer["entry_id"])
        hit = newer
    return hit


def _agent(hit: Json) -> str:
    return hit["agent"] or hit["kind"]


def _when(hit: Json) -> str:
    """Day and time of a hit; where it has no day, what it is."""
    if hit["day"]:
        return f"{hit['day']} {hit['time']}".rstrip()
    if hit["kind"] == "native":
        return "agent files"
    return "long term" if hit["kind"] in _LONG_TERM else hit["source"].rpartition("/")[2]


def _hit(
    hit: Json, ids: dict[str, Json], stems: list[str], agents: int, width: int, explain: bool
) -> list[str]:
    """The lines of one hit: its head, what answers, what has changed since, why it was found."""
    marks = hit["marks"]
    badges = [text.format(plain(marks[name])) for name, text in _BADGES.items() if name in marks]
    if explain and (newer := ids.get(hit["overtaken_by"])):
        badges.append(f"superseded by {newer['entry_id']} of {newer['day']}")
    if later := ids.get(hit["later"]):
        badges.append(f"a later note differs: {later['entry_id']} of {later['day']}")
    badges += [f"shared by {plain(hit['author'])}"] if hit["author"] else []
    badges += [f"unmerged: {plain(hit['unmerged'])}"] if hit["unmerged"] else []
    if hit["ranks"] and "bm25" not in hit["ranks"] and "lexical" not in hit["ranks"]:
        badges.append("by meaning")
    when, agent, name = _when(hit), f"{_agent(hit):{agents}s}", hit["entry_id"]
    head = f"{styled('date', f'{when:16s}')}  {styled('agent', agent)}  {styled('id', name)}"
    lines = [head + (f"  {styled('dim', '  '.join(badges))}" if badges else "")]
    lines += [f"  {_marked(line, stems)}" for line in _answering(hit, stems, width - 2)]
    if hit["stale"]:
        lines.append("  " + styled("warn", f"! {_clip(hit['stale_why'], width - 4)}"))
    if explain:
        ranks = ", ".join(f"{name} #{place}" for name, place in hit["ranks"].items())
        sure = "" if hit["confidence"] is None else f"; confidence {hit['confidence']:.2f}"
        reasons = plain("; ".join(hit["reasons"]))
        why = f"  why: #{hit['rank']}; {ranks or 'reached by vectors'}; {reasons}{sure}"
        lines.append(styled("dim", why))
    return lines


def _replaced(old: Json, width: int) -> str:
    """One line for a version that a hit replaced."""
    head = f"{_when(old)}  {old['entry_id']}"
    room = max(10, width - len(head) - 15)
    lines = _body(old["content"])
    text = _clip(lines[0] if lines else old["title"], room)
    return "  " + styled("dim", f"↳ replaces {head}  {text}")


def _body(content: str) -> list[str]:
    """The lines of a note without headings, comments and blank lines."""
    lines = [line for line in content.splitlines() if line.strip()]
    if lines and lines[0].startswith("#"):
        lines = lines[1:]
    return [plain(line).strip() for line in lines if not _COMMENT.fullmatch(line)]


def _answering(hit: Json, stems: list[str], room: int) -> list[str]:
    """The lines of a note that have most of the asked words, in their order, each cut around its
    first such word.
    """
    lines = _body(hit["content"]) or [plain(hit["title"])]
    counts = [len({stem for stem in stems if _find(line, [stem])}) for line in lines]
    order = sorted(range(len(lines)), key=lambda place: (-counts[place], place))
    chosen = sorted(order[:_SHOWN_LINES])
    return [_cut(lines[place], stems, room) for place in chosen]


def _stems(query: str, corrected: dict[str, list[str]]) -> list[str]:
    """The beginnings by which the words of a query are recognised in a note."""
    text = " ".join([_FILTER.sub(" ", query), *(" ".join(near) for near in corrected.values())])
    words = (word.casefold() for word in _WORD.findall(text))
    kept = (word for word in words if word not in _COMMON and (len(word) > 1 or word.isdigit()))
    return list(dict.fromkeys(_stem(word) for word in kept))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _find(line: str, stems: list[str]) -> list[tuple[int, int]]:
    """The places of the asked words in a line: whole words, or parts of identifiers."""
    found = []
    for match in _WORD.finditer(line):
        word = match[0].casefold()
        if _stem(word) in stems or word in stems:
            found.append(match.span())
        elif not word.isascii():  # no spaces between words, as in Chinese
            for stem in stems:
                if (
                    not stem.isascii()
                    and (at := word.find(stem)) >= 0
                    and len(word) == len(match[0])
                ):
                    found.append((match.start() + at, match.start() + at + len(stem)))
                    break
    return found


def _marked(line: str, stems: list[str]) -> str:
    """A line with the asked words marked."""
    for start, end in reversed(_find(line, stems)):
        line = f"{line[:start]}{styled('match', line[start:end])}{line[end:]}"
    return line


def _cut(line: str, stems: list[str], room: int) -> str:
    """A line in *room* columns, with its first asked word in sight."""
    if cells(line) <= room:
        return line
    places = _find(line, stems)
    first = places[0] if places else (0, 0)
    if cells(line[: first[1]]) > room - 2:
        start = max(0, first[0] - room // 3)
        start = line.find(" ", start, first[0]) + 1 or start
        line = "…" + line[start:]
    return _clip(line, room)


def cells(text: str) -> int:
    """The columns of a terminal that *text* takes (UAX 11: wide characters take two)."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _clip(text: str, room: int) -> str:
    """*text* on one line of at most *room* columns."""
    line = " ".join(plain(text).split())
    if cells(line) <= room:
        return line
    while cells(line) >= room:
        line = line[: max(1, len(line) - max(1, (cells(line) - room) // 2))]
    return line + "…"


def sessions(answer: Json, *, width: int = 100) -> Lines:
    """The hits of a search by conversation.

    Args:
        answer: what ``search --by session --json`` prints.
        width: columns of the output.
    """
    lines: Lines = [("err", f"note: {text}") for text in _remarks({**answer, "hits": []})]
    found = answer["sessions"]
    for number, one in enumerate(found):
        first, last = one["first_day"], one["last_day"]
        days = first if first == last else f"{first} to {last}"
        facts = [one["session"][:13], many(len(one["hits"]), "hit")]
        if one["confidence"] is not None:
            facts.append(f"{one['confidence']:.0%} likely")
        head = f"{styled('date', days)}  {styled('agent', one['agent'] or 'note')}"
        block = [f"{head}  {styled('dim', '  '.join(fact for fact in facts if fact))}"]
        for hit in one["hits"][:_NOTES_SHOWN]:
            title = _clip(hit["title"], width - 24)
            block.append(f"  {hit['time'] or '     '}  {styled('id', hit['entry_id'])}  {title}")
        if len(one["hits"]) > _NOTES_SHOWN:
            block.append(styled("dim", f"  and {len(one['hits']) - _NOTES_SHOWN} more"))
        lines.append(("out", "\n".join(block) + "\n" * (number + 1 < len(found))))
    if not found:
        return [*lines, ("err", "nothing found - `--all` searches all projects")]
    first, by_hand = found[0]["hits"][0]["entry_id"], not found[0]["session"]
    how = f"`memsearch {'expand' if by_hand else 'transcript'} {first}` opens the first"
    return [*lines, ("err", f"{many(len(found), 'conversation')} ({answer['mode']}) - {how}")]


# -- expand


def note(found: Json, *, width: int = 100, raw: bool = False) -> Lines:
    """One note with what supersedes it and what has changed since.

    Args:
        found: what ``expand --json`` prints.
        width: columns of the output.
        raw: print the lines as the file has them, with the anchor, and where they are.
    """
    head = f"{found['day']} {found['time']}".strip()
    who = f"{styled('agent', found['agent'] or 'note')}  {styled('id', found['entry_id'])}"
    whose = f"  shared by {plain(found['author'])}" if found["author"] else ""
    lines = [f"{styled('date', head)}  {who}{whose}"]
    anchor = found["anchor"]
    place = f"{found['source']} (lines {found['start_line']}-{found['end_line']})"
    if raw:
        lines.append(styled("dim", f"Source: {place}"))
        if anchor:
            kind = next(key for key in reversed(anchor) if key not in ("session", "turn"))
            lines.append(f"Session: {anchor['session']}  Turn: {anchor['turn']}")
            lines.append(f"{kind.title()}: {anchor[kind]}")
    for name, what in (("superseded_by", "Superseded by"), ("supersedes", "Supersedes")):
        for pair in found.get(name, ()):
            text = f"{what}: {pair['entry_id']} of {pair['day']}, {plain(pair['title'])}"
            lines.append(styled("warn" if name == "superseded_by" else "dim", text))
            lines[-1] += f" ({plain(pair['why'])})"
    lines += [styled("warn", f"Since then: {plain(text)}") for text in found["stale"]]
    if found["unmerged"]:
        lines.append(styled("warn", f"Unmerged: {plain(found['unmerged'])}"))
    lines.append("")
    if raw:
        lines.append(found["content"])
    else:
        lines += markdown(_without_anchor(found["content"]), width)
    said: Lines = [("out", "\n".join(lines))]
    if anchor and any(anchor[key] for key in anchor if key not in ("session", "turn")):
        said.append(("err", f"`memsearch transcript {found['entry_id']}` opens the conversation"))
    return said


def _without_anchor(content: str) -> str:
    """A note without its own heading and the comments under it."""
    lines = content.split("\n")
    if lines and re.match(r"#{1,6}\s+\d\d:\d\d\s*$", lines[0]):
        lines = lines[1:]
    start = next((n for n, line in enumerate(lines) if not _COMMENT.fullmatch(line)), len(lines))
    return "\n".join(lines[start:]).strip("\n")


_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+")
_INLINE = re.compile(r"(`[^`\n]+`|\*\*[^*\n]+\*\*)")


def markdown(text: str, width: int) -> list[str]:
    """Lines of a note in *width* columns: text is wrapped at words, items hang, code stays as it
    is. Headings, code and strong words have a look where the output has colours.
    """
    lines, in_code = [], False
    for line in plain(text).split("\n"):
        if _FENCE.match(line):
            in_code = not in_code
            lines.append(styled("dim", line))
        elif in_code or "|" in line or cells(line) <= width:
            lines.append(line if in_code else _inline(line))
        else:
            item = _ITEM.match(line)
            indent = " " * len(item[0] if item else line[: len(line) - len(line.lstrip())])
            wrapped = textwrap.wrap(
                line,
                width,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            lines += [_inline(part) for part in wrapped]
    return lines


def _inline(line: str) -> str:
    if line.startswith("#"):
        return styled("strong", line)
    return _INLINE.sub(lambda match: styled("strong", match[0]), line)


# -- transcript and context


def transcript(found: Json, *, width: int = 100) -> Lines:
    """The turns of a conversation.

    Args:
        found: what ``transcript --json`` prints, as plain values.
        width: columns of the output.
    """
    lines: Lines = []
    if found["left_out"]:
        left = many(found["left_out"], "character")
        lines.append(("err", f"note: {left} left out; --full has them"))
    if found["state"] == "archived":
        remark = "the agent no longer has this conversation; this is the copy that was archived"
        lines.append(("err", f"note: {remark}"))
    for number, turn in enumerate(found["turns"]):
        block = [""] if number else []
        head = f"── {turn['started']}  turn {plain(turn['turn'])}  {turn['status']}"
        block.append(styled("dim", head))
        block.append(f"{styled('strong', 'you')}  {plain(turn['user'])}")
        for tool in turn["tools"]:
            called = _clip(tool["input"], width - 8)
            block.append(styled("dim", f"  $ {plain(tool['name'])}: {called}"))
            for line in plain(tool["output"]).splitlines()[:_TOOL_LINES]:
                block.append(styled("dim", f"    {_clip(line, width - 4)}"))
        block.append(f"{styled('agent', turn['agent'])}  {plain(turn['assistant'])}")
        lines.append(("out", "\n".join(block)))
    if not found["turns"]:
        lines.append(("err", "no turn in it"))
    return lines


def context(made: Json) -> Lines:
    """What a new session is given.

    Args:
        made: what ``context --json`` prints.
    """
    if not made["text"]:
        return [("err", "nothing: no notes here yet, or `recall.inject` is off")]
    said = f"about {made['tokens']} tokens"
    if made["held_back"]:
        said += f"; {many(made['held_back'], 'note')} left out"
    return [("out", plain(made["text"])), ("err", said)]
