"""What `search` and `expand` print, from the plain dictionaries of the engine's views.

Standard library only: the client that asks the running service prints with these functions as the
commands do.
"""

from __future__ import annotations

import os

from memsearch_tui.cli import terminal
from memsearch_tui.counted import many

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import Any

_DISPLAY = "display"  # search.views.DISPLAY
_LINES_SHOWN = 3
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


def print_search(
    answer: dict[str, Any], mode: str, *, as_json: bool, bare: bool, explain: bool
) -> int:
    """Print an answer (``answer_view``) and return the exit code.

    Args:
        mode: the one that was asked for.
        bare: only the list of hits, as memsearch prints it.
        explain: with each hit, why it is there.
    """
    say_reason(answer["reason"], answer["mode"], mode)
    hits = [{key: hit[key] for key in hit if key != _DISPLAY} for hit in answer["hits"]]
    if bare:
        terminal.print_json(hits)
    elif as_json:
        keys = ("mode", "reason", "corrected", "absent", "took_ms")
        terminal.print_json({**{key: answer[key] for key in keys}, "hits": hits})
    else:
        _print_hits(answer, explain)
    return 0 if hits or bare else 1


def say_reason(reason: str, done: str, asked: str) -> None:
    """Say why an answer is less than the mode that was *asked* for."""
    if reason and asked != "lexical":
        words = "words only: " if done == "lexical" else ""
        terminal.say(f"note: {words}{terminal.safe(reason)}")


def _print_hits(answer: dict[str, Any], explain: bool) -> None:
    room, hits = terminal.width(), answer["hits"]
    for word, near in answer["corrected"].items():
        terminal.say(f"note: no note has {word!r}; searched for {', '.join(near)}")
    if answer["absent"]:
        terminal.say(f"note: no note has {', '.join(map(repr, answer['absent']))}")
    if answer["is_unsure"]:
        terminal.say("note: perhaps no note fits: none is much nearer than the rest")
    is_doubtful = False
    for hit in hits:
        display = hit[_DISPLAY]
        if display["is_doubtful"] and not is_doubtful:
            terminal.echo(terminal.style("--  below: only faintly alike", dim=True))
            is_doubtful = True
        _print_hit(hit, display, room, explain)
    if hits:
        found = f"{many(len(hits), 'hit')} ({answer['mode']}, {answer['took_ms']:.0f} ms)"
        terminal.say(f"{found} - `memsearch expand {hits[0]['chunk_hash']}` opens the first")
    else:
        terminal.say(
            "nothing found - `memsearch why-not QUERY ENTRY` says why a note is missing;"
            " `--all` searches all projects"
        )


def _print_hit(hit: dict[str, Any], display: dict[str, Any], room: int, explain: bool) -> None:
    is_native = hit["kind"] == "native"
    where = "long-term" if display["is_longterm"] else os.path.basename(hit["source"])
    where = "agents' own" if is_native else where
    head = f"{hit['rank']:2d}  {hit['day'] or where} {hit['time']}".rstrip()
    facts = [hit["agent"] or hit["kind"], hit["entry_id"] if is_native else hit["chunk_hash"]]
    facts += [*_badges(hit, display), *(["by meaning"] if display["by_meaning"] else [])]
    title = terminal.style(head, bold=True)
    terminal.echo(f"{title}  {terminal.style('  '.join(facts), dim=True)}")
    for line in [line for line in display["embedded"].splitlines() if line.strip()][:_LINES_SHOWN]:
        terminal.echo(f"    {terminal.clip(line, room - 4)}")
    if hit["stale"]:
        why = terminal.clip(hit["stale_why"], room - 6)
        terminal.echo(terminal.style(f"    ! {why}", dim=True))
    if explain:
        ranks = ", ".join(f"{name} #{place}" for name, place in hit["ranks"].items())
        sure = "" if hit["confidence"] is None else f"; confidence {hit['confidence']:.2f}"
        why = f"{ranks or 'reached by vectors'}; {terminal.safe('; '.join(hit['reasons']))}{sure}"
        terminal.echo(terminal.style(f"    why: {why}", dim=True))


def _badges(hit: dict[str, Any], display: dict[str, Any]) -> list[str]:
    marks, newer, later = display["marks"], display["newer"], display["later"]
    badges = [text.format(marks[name]) for name, text in _BADGES.items() if name in marks]
    badges += [f"overtaken by {newer['rank']}, of {newer['day']}"] if newer else []
    badges += [f"where it differs, {later['rank']} of {later['day']} holds"] if later else []
    badges += [f"shared by {terminal.safe(hit['author'])}"] if hit["author"] else []
    return badges + ([f"unmerged: {hit['unmerged']}"] if hit["unmerged"] else [])


def print_section(section: dict[str, Any], *, as_json: bool) -> None:
    """Print the section behind a hit (``section_view``)."""
    display = section[_DISPLAY]
    if as_json:
        terminal.print_json({key: section[key] for key in section if key != _DISPLAY})
        return
    by, name = section["author"], section["entry_id"]
    whose = f"  shared by {terminal.safe(by)}" if by else ""
    head = f"{section['day']} {section['time']}  {section['agent'] or 'note'}  {name}{whose}"
    terminal.echo(terminal.style(head, bold=True))
    lines = f"lines {section['start_line']}-{section['end_line']}"
    terminal.echo(terminal.style(f"Source: {section['source']} ({lines})", dim=True))
    anchor = display["anchor"]
    if anchor:
        terminal.echo(f"Session: {section['session']}  Turn: {section['turn']}")
        terminal.echo(f"{anchor['kind'].title()}: {anchor['path']}")
    for link in display["supersession"]:
        what = "Overtaken by" if link["is_newer"] else "Amends"
        title, why = terminal.safe(link["title"]), terminal.safe(link["why"])
        terminal.echo(f"{what}: {link['entry_id']} of {link['day']}, {title} ({why})")
    for words in section["stale"]:
        terminal.echo(f"Since then: {terminal.safe(words)}")
    if section["unmerged"]:
        terminal.echo(f"Unmerged: {terminal.safe(section['unmerged'])}")
    terminal.echo("")
    terminal.echo(section["content"])
    if anchor and anchor["path"]:
        terminal.say(f"`memsearch transcript {name}` opens the conversation")
