"""The output of the frequent commands, made from the plain dictionaries of the engine's views.

Standard library only: the client of the running service and the commands print with the same
functions. ``search_lines``, ``session_lines`` and ``section_lines`` are pure; ``print_search`` and
``print_section`` write their lines.
"""

from __future__ import annotations

import os
import re

from memsearch_tui.cli import terminal
from memsearch_tui.cli.terminal import cells, clip, safe, style
from memsearch_tui.counted import many

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import Any

    #: Lines of one text, each with the name of its stream: ``out`` or ``err``.
    Lines = list[tuple[str, str]]

_DISPLAY = "display"  # search.views.DISPLAY
_LINES_SHOWN, _WEAK_SHOWN, _NOTES_SHOWN, _TOOL_LINES = 3, 3, 3, 6
# Patterns are compiled on first use, so that a search prints at once.
#: Badges of a note's marks; `{}` stands for the mark's value.
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
_FILTER = r"""(?:^|(?<=\s))(?:-?[a-z][a-z-]*:("[^"]*"|\S*)|-[^\s"]+|-"[^"]*")"""
_WORD = r"[^\W_]+"
_ENDINGS = ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "ly", "er", "s", "e", "y")
#: Words of a question that do not describe its topic.
_COMMON = frozenset(
    "a an and are as at be but by can could did do does for from had has have how i if in into is"
    " it its of on or our should so that the their then there these they this to was we were what"
    " when where which who why will with would you".split()
)


def print_search(
    answer: dict[str, Any],
    mode: str,
    *,
    as_json: bool,
    bare: bool,
    explain: bool,
    query: str = "",
    weak: bool = False,
) -> int:
    """Print an answer (``answer_view``) and return the exit code.

    Args:
        mode: the requested search mode.
        bare: print only the list of hits, as memsearch does.
        explain: print why each hit was found.
        query: its words are marked in the hits.
        weak: also print the faintly similar hits.
    """
    say_reason(answer["reason"], answer["mode"], mode)
    hits = [{key: hit[key] for key in hit if key != _DISPLAY} for hit in answer["hits"]]
    if bare:
        terminal.print_json(hits)
    elif as_json:
        keys = ("mode", "reason", "corrected", "absent", "took_ms")
        terminal.print_json({**{key: answer[key] for key in keys}, "hits": hits})
    else:
        write(search_lines(answer, query, terminal.width(), explain=explain, weak=weak))
    return 0 if hits or bare else 1


def say_reason(reason: str, done: str, asked: str) -> None:
    """Print why an answer has less than the requested mode.

    Args:
        reason: the reason.
        done: the mode that was used.
        asked: the requested mode.
    """
    if reason and asked != "lexical":
        words = "words only: " if done == "lexical" else ""
        terminal.say(f"note: {words}{safe(reason)}")


def write(lines: Lines) -> None:
    """Print lines in their order, which is the same when a terminal shows both streams."""
    for stream, text in lines:
        terminal.echo(text, err=stream == "err")


# -- search


def search_lines(
    answer: dict[str, Any], query: str, width: int, *, explain: bool = False, weak: bool = False
) -> Lines:
    """Return the lines of a search: for each hit its date, agent, id and matching lines.

    The newest version of a note comes with the versions that it supersedes. Faintly similar hits
    become a count, unless there are no others.

    Args:
        answer: an ``answer_view``.
        query: its words are marked in the hits.
        width: columns of the output.
        explain: add why each hit was found; do not group versions.
        weak: also list the faintly similar hits.
    """
    stems = _stems(query, answer["corrected"])
    hits = {hit["entry_id"]: hit for hit in answer["hits"]}
    top, replaced = [], {}  # type: list[dict[str, Any]], dict[str, list[dict[str, Any]]]
    for hit in hits.values():
        newer = _newest(hit, hits)
        if newer is hit or explain:
            top.append(hit)
        else:
            replaced.setdefault(newer["entry_id"], []).append(hit)
    strong = [hit for hit in top if not hit[_DISPLAY]["is_doubtful"]]
    shown = top if weak or explain else strong or top[:_WEAK_SHOWN]
    lines: Lines = [("err", f"note: {text}") for text in remarks(answer)]
    column = max((len(hit["agent"] or hit["kind"]) for hit in shown), default=0)
    for number, hit in enumerate(shown):
        block = _hit_lines(hit, hits, stems, column, width, explain)
        block += [_replaced_line(old, width) for old in replaced.get(hit["entry_id"], ())]
        gap = "\n" if number + 1 < len(shown) else ""
        lines.append(("out", "\n".join(block) + gap))
    return [*lines, ("err", _after(answer, shown, len(top) - len(shown)))]


def remarks(answer: dict[str, Any]) -> list[str]:
    """Return the remarks that precede the hits of an ``answer_view``."""
    is_close = any(not hit[_DISPLAY]["is_doubtful"] for hit in answer["hits"])
    found = [
        f"no note has {word!r}; searched for {', '.join(near)}"
        for word, near in answer["corrected"].items()
    ]
    if answer["absent"]:
        found.append(f"no note has {', '.join(map(repr, answer['absent']))}")
    if answer["hits"] and not is_close:
        found.append("perhaps no note fits: these are only faintly similar")
    elif answer["is_unsure"]:
        found.append("perhaps no note fits: none is much nearer than the rest")
    return found


def _after(answer: dict[str, Any], shown: list[dict[str, Any]], hidden: int) -> str:
    """Return the line after the hits: their number, and the next command."""
    if not shown:
        return (
            "nothing found - `memsearch search --why-not ENTRY QUERY` says why a note is missing;"
            " `--all` searches all projects"
        )
    found = f"{many(len(answer['hits']), 'hit')} ({answer['mode']}, {answer['took_ms']:.0f} ms)"
    if hidden:
        found += f", {hidden} only faintly similar (`--weak` shows them)"
    return f"{found} - `memsearch expand {shown[0]['entry_id']}` opens the first"


def _newest(hit: dict[str, Any], hits: dict[str, Any]) -> dict[str, Any]:
    """Return the newest version of a hit's note among *hits*; the hit itself if there is none."""
    seen = {hit["entry_id"]}
    while (newer := hits.get(hit["overtaken_by"])) and newer["entry_id"] not in seen:
        seen.add(newer["entry_id"])
        hit = newer
    return hit


def _when(hit: dict[str, Any]) -> str:
    """Return day and time of a hit; its kind if it has no day."""
    if hit["day"]:
        return f"{hit['day']} {hit['time']}".rstrip()
    if hit["kind"] == "native":
        return "agent files"
    return "long term" if hit[_DISPLAY]["is_longterm"] else os.path.basename(hit["source"])


def _hit_lines(
    hit: dict[str, Any],
    hits: dict[str, Any],
    stems: list[str],
    column: int,
    width: int,
    explain: bool,
) -> list[str]:
    """Return the lines of one hit: its head, the matching lines, later changes, and why it was
    found.
    """
    who, when = hit["agent"] or hit["kind"], _when(hit)
    head = f"{style(f'{when:16s}', 'date')}  {style(f'{who:{column}s}', 'agent')}"
    head += f"  {style(hit['entry_id'], 'id')}"
    if badges := "  ".join(_badges(hit, hits, explain)):
        head += f"  {style(badges, 'dim')}"
    lines = [head, *(f"  {_marked(line, stems)}" for line in _answering(hit, stems, width - 2))]
    if hit["stale"]:
        lines.append("  " + style(f"! {clip(hit['stale_why'], width - 4)}", "warn"))
    if explain:
        ranks = ", ".join(f"{name} #{place}" for name, place in hit["ranks"].items())
        sure = "" if hit["confidence"] is None else f"; confidence {hit['confidence']:.2f}"
        why = f"{ranks or 'reached by vectors'}; {safe('; '.join(hit['reasons']))}{sure}"
        lines.append("  " + style(f"why: {why}", "dim"))
    return lines


def _badges(hit: dict[str, Any], hits: dict[str, Any], explain: bool) -> list[str]:
    display = hit[_DISPLAY]
    marks = display["marks"]
    newer, later = hits.get(hit["overtaken_by"]) if explain else None, hits.get(hit["later"])
    badges = [
        *(text.format(safe(marks[name])) for name, text in _BADGES.items() if name in marks),
        f"superseded by {newer['entry_id']} of {newer['day']}" if newer else "",
        f"where they differ, {later['entry_id']} of {later['day']} is later" if later else "",
        f"shared by {safe(hit['author'])}" if hit["author"] else "",
        f"unmerged: {safe(hit['unmerged'])}" if hit["unmerged"] else "",
        "by meaning" if display["by_meaning"] else "",
    ]
    return [badge for badge in badges if badge]


def _replaced_line(old: dict[str, Any], width: int) -> str:
    """Return one line for a version that a hit supersedes."""
    head = f"↳ replaces {_when(old)}  {old['entry_id']}"
    first = next(iter(_body(old)), old[_DISPLAY]["title"])
    return "  " + style(f"{head}  {clip(first, max(20, width - cells(head) - 4))}", "dim")


def _body(hit: dict[str, Any]) -> list[str]:
    """Return the lines of a note without blank lines, heading, anchors and marks."""
    lines = hit[_DISPLAY]["text"].splitlines() or hit[_DISPLAY]["embedded"].splitlines()
    return [safe(line).strip() for line in lines if line.strip()]


def _answering(hit: dict[str, Any], stems: list[str], room: int) -> list[str]:
    """Return the lines of a note that contain most of the query's words.

    They are in their order, each cut so that its first such word is visible.
    """
    lines = _body(hit) or [safe(hit[_DISPLAY]["title"])]
    counts = [sum(bool(_places(line, [stem])) for stem in stems) for line in lines]
    order = sorted(range(len(lines)), key=lambda place: (-counts[place], place))
    return [_cut(lines[place], stems, room) for place in sorted(order[:_LINES_SHOWN])]


def _stems(query: str, corrected: dict[str, list[str]]) -> list[str]:
    """Return the word beginnings that identify the words of a query in a note."""
    plain_words = re.sub(_FILTER, " ", query, flags=re.I)
    text = " ".join([plain_words, *(" ".join(near) for near in corrected.values())])
    words = [word.casefold() for word in re.findall(_WORD, text)]
    words = [word for word in words if word not in _COMMON and (len(word) > 1 or word.isdigit())]
    return list(dict.fromkeys(_stem(word) for word in words))


def _stem(word: str) -> str:
    fitting = (e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 4)
    return word.removesuffix(next(fitting, ""))


def _places(line: str, stems: list[str]) -> list[tuple[int, int]]:
    """Return the positions of the query's words in a line: whole words, or parts of identifiers."""
    found = []
    for match in re.finditer(_WORD, line):
        word = match[0].casefold()
        if _stem(word) in stems:
            found.append(match.span())
        elif not word.isascii() and len(word) == len(match[0]):  # scripts without blanks
            for stem in stems:
                if not stem.isascii() and (at := word.find(stem)) >= 0:
                    found.append((match.start() + at, match.start() + at + len(stem)))
                    break
    return found


def _marked(line: str, stems: list[str]) -> str:
    """Return a line with the query's words styled as matches."""
    for start, end in reversed(_places(line, stems)):
        line = f"{line[:start]}{style(line[start:end], 'match')}{line[end:]}"
    return line


def _cut(line: str, stems: list[str], room: int) -> str:
    """Return a line in *room* columns that contains its first word of the query."""
    places = _places(line, stems) if cells(line) > room else []
    if places and cells(line[: places[0][1]]) > room - 2:
        start = max(0, places[0][0] - room // 3)
        start = line.find(" ", start, places[0][0]) + 1 or start
        line = "…" + line[start:]
    return clip(line, room)


def session_lines(answer: dict[str, Any], width: int) -> Lines:
    """Return the hits of a search, grouped by conversation.

    Args:
        answer: the output of ``search --by session --json``; its hits have ``DISPLAY``.
        width: columns of the output.
    """
    lines: Lines = []
    sessions = answer["sessions"]
    for number, one in enumerate(sessions):
        first, last = one["first_day"], one["last_day"]
        days = first if first == last else f"{first} to {last}"
        likely = "" if one["confidence"] is None else f"{one['confidence']:.0%} likely"
        facts = [one["session"][:13], many(len(one["hits"]), "hit"), likely]
        head = f"{style(days, 'date')}  {style(one['agent'] or 'note', 'agent')}"
        block = [f"{head}  {style('  '.join(fact for fact in facts if fact), 'dim')}"]
        for hit in one["hits"][:_NOTES_SHOWN]:
            title = clip(hit[_DISPLAY]["title"], max(20, width - 24))
            block.append(f"  {hit['time'] or '     '}  {style(hit['entry_id'], 'id')}  {title}")
        if len(one["hits"]) > _NOTES_SHOWN:
            block.append(style(f"  and {len(one['hits']) - _NOTES_SHOWN} more", "dim"))
        ending = f"  → {safe(one['ending'])}" if one["ending"] else ""
        block += wrapped(ending, width)
        gap = "\n" if number + 1 < len(sessions) else ""
        lines.append(("out", "\n".join(block) + gap))
    if not sessions:
        return [("err", "nothing found - `--all` searches all projects")]
    first = sessions[0]["hits"][0]["entry_id"]
    how = f"`memsearch {'transcript' if sessions[0]['session'] else 'expand'} {first}`"
    count = f"{many(len(sessions), 'conversation')} ({answer['mode']})"
    return [*lines, ("err", f"{count} - {how} opens the first")]


# -- expand


def print_section(section: dict[str, Any], *, as_json: bool, raw: bool | None = None) -> None:
    """Print the note of a hit (``section_view``).

    Args:
        raw: print the text as in the file, with its anchor. None: only if a program reads it.
    """
    if as_json:
        terminal.print_json({key: section[key] for key in section if key != _DISPLAY})
        return
    # the skills of memsearch read the anchor from a pipe
    raw = not terminal.is_read_by_a_person() if raw is None else raw
    lines = section_lines(section, terminal.width(), raw=raw)
    terminal.page("\n".join(text for stream, text in lines if stream == "out"))
    write([line for line in lines if line[0] == "err"])


def section_lines(section: dict[str, Any], width: int, *, raw: bool = False) -> Lines:
    """Return the lines of a note, with what supersedes it and its stale references.

    Args:
        section: a ``section_view``.
        width: columns of the output.
        raw: the lines as in the file, with the anchor, and their location.
    """
    display = section[_DISPLAY]
    anchor, name = display["anchor"], section["entry_id"]
    head = f"{section['day']} {section['time']}".rstrip()
    who = section["agent"] or "note"
    whose = f"  shared by {safe(section['author'])}" if section["author"] else ""
    lines = [f"{style(head, 'date')}  {style(who, 'agent')}  {style(name, 'id')}{whose}"]
    if raw:
        place = f"lines {section['start_line']}-{section['end_line']}"
        lines.append(style(f"Source: {section['source']} ({place})", "dim"))
        if anchor:
            lines.append(f"Session: {section['session']}  Turn: {section['turn']}")
            lines.append(f"{anchor['kind'].title()}: {anchor['path']}")
    for link in display["supersession"]:
        what, role = ("Superseded by", "warn") if link["is_newer"] else ("Supersedes", "dim")
        # not cut: a newer note's title may be the answer
        text = f"{what}: {link['entry_id']} of {link['day']}, {safe(link['title'])}"
        text = f"{text} ({safe(link['why'])})"
        lines += [style(part, role) for part in ([text] if raw else wrapped(text, width))]
    lines += [style(f"Since then: {safe(words)}", "warn") for words in section["stale"]]
    if section["unmerged"]:
        lines.append(style(f"Unmerged: {safe(section['unmerged'])}", "warn"))
    content = section["content"]
    lines += ["", content] if raw else ["", *markdown_lines(without_anchor(content), width)]
    printed: Lines = [("out", "\n".join(lines))]
    if anchor and anchor["path"]:
        printed.append(("err", f"`memsearch transcript {name}` opens the conversation"))
    return printed


_COMMENT = r"\s*<!--.*-->\s*"
_TIME_HEADING = r"#{1,6}\s+\d\d:\d\d\s*"
_FENCE = r"\s*(```|~~~)"
_ITEM = r"\s*([-*+]|\d+[.)])\s+"
_INLINE = r"(`[^`\n]+`|\*\*[^*\n]+\*\*)"


def without_anchor(content: str) -> str:
    """Return a note without its time heading and the comments under it."""
    lines = content.split("\n")
    if re.fullmatch(_TIME_HEADING, lines[0]):
        del lines[0]
    while lines and (not lines[0].strip() or re.fullmatch(_COMMENT, lines[0])):
        del lines[0]
    return "\n".join(lines).rstrip("\n")


def markdown_lines(text: str, width: int) -> list[str]:
    """Return a note in *width* columns: text wraps at words, list items are indented, code and
    tables are unchanged.
    """
    lines, in_code = [], False
    for line in safe(text).split("\n"):
        if re.match(_FENCE, line):
            in_code = not in_code
            lines.append(style(line, "dim"))
        elif in_code:
            lines.append(line)
        elif "|" in line or cells(line) <= width:
            lines.append(_inline(line))
        else:
            lines += [_inline(part) for part in wrapped(line, width)]
    return lines


def wrapped(line: str, width: int) -> list[str]:
    """Return a line in lines of *width* columns, broken at words."""
    import textwrap

    item = re.match(_ITEM, line)
    indent = len(item[0]) if item else len(line) - len(line.lstrip())
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _inline(line: str) -> str:
    """Return a line of text with styled headings, code and strong words."""
    if line.startswith("#"):
        return style(line, "strong")
    return re.sub(_INLINE, lambda match: style(match[0], "strong"), line)


# -- transcript


def print_transcript(found: dict[str, Any], *, as_json: bool) -> None:
    """Print turns of a conversation."""
    if as_json:
        terminal.print_json(found)
        return
    if found["left_out"]:
        left = many(found["left_out"], "character")
        terminal.say(f"note: {left} left out; --full has them")
    if found["state"] == "archived":
        terminal.say("note: the agent no longer has this conversation; this is the archived copy")
    if found["turns"]:
        terminal.page(transcript_text(found["turns"], terminal.width()))
    else:
        terminal.say("no turn in it")


def transcript_text(turns: list[dict[str, Any]], width: int) -> str:
    """Return turns as text in *width* columns: who speaks, and the called tools."""
    blocks = []
    for turn in turns:
        head = f"── {turn['started']}  turn {safe(turn['turn'])}  {turn['status']}"
        lines = [style(head, "dim"), f"{style('you', 'strong')}  {safe(turn['user'])}"]
        for tool in turn["tools"]:
            called = clip(tool["input"], width - 8)
            lines.append(style(f"  $ {safe(tool['name'])}: {called}", "dim"))
            output = safe(tool["output"]).splitlines()[:_TOOL_LINES]
            lines += [style(f"    {clip(line, width - 4)}", "dim") for line in output]
        lines.append(f"{style(turn['agent'], 'agent')}  {safe(turn['assistant'])}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
