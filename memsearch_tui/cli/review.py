"""``memsearch review``: one queue of all that waits for the owner's decision."""

from __future__ import annotations

from typing import Any

import click
from memsearch_engine import (
    REVIEW_GROUPS,
    Memory,
    MemsearchError,
    ReviewItem,
    UsageError,
)

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json
from memsearch_tui.cli.terminal import cells
from memsearch_tui.counted import many

EXAMPLES = """\b
Examples:
  memsearch review                     what waits, numbered, by group
  memsearch review open 3              the evidence
  memsearch review accept 3
  memsearch review reject repairs      a whole group, after asking
  memsearch review undo                undo the last answer
  memsearch review --secrets           look for secrets too"""
_TONES = {"strong", "dim", "good", "bad", "warn", "match", "agent"}
_LEAST = 20  # columns of a cut line in a narrow terminal
_SHOWN = 8  # cases of each group in the full list
_ALL = click.option("--all", "-a", "everything", is_flag=True, help="All known projects.")
_YES = click.option("--yes", "-y", is_flag=True, help="Don't ask.")
_NAMES = click.argument("names", nargs=-1, required=True, metavar="NUMBER|ID|ENTRY|GROUP...")


@click.group(invoke_without_command=True, epilog=EXAMPLES)
@_ALL
@click.option("--secrets", is_flag=True, help="Look for secrets too, which takes seconds.")
@click.option("--group", help="Only this group (quarantine, longterm, repairs, …).")
@as_json
def review(everything: bool, secrets: bool, group: str | None) -> int:
    """List what waits for your decision, and decide it.

    Quarantined notes, proposals for the long-term memory and for pages, skills, conflicts of sync,
    probably superseded notes, stale references, junk and repetitions, secrets.
    """
    cases = Memory(everything=everything).review.numbered(secrets=secrets)
    numbers = {case.key: number for number, case in enumerate(cases, 1)}
    if group:
        _check(group)
        cases = [case for case in cases if REVIEW_GROUPS[case.kind][0] == group]
    waiting = [{"number": numbers[case.key], **case_json(case)} for case in cases]
    output.emit({"waiting": waiting})
    groups: dict[str, list[ReviewItem]] = {}
    for case in cases:
        groups.setdefault(case.kind, []).append(case)
    for found in groups.values():
        name, title = REVIEW_GROUPS[found[0].kind]
        output.echo(
            f"{output.style(f'{title[0].upper()}{title[1:]} ({len(found)})', 'strong')}  "
            f"{output.style(name, 'dim')}"
        )
        for case in found if group else found[:_SHOWN]:
            room = output.width() - 6
            output.echo(f"{numbers[case.key]:4d}  {output.clip(case.title, room)}")
        if not group and len(found) > _SHOWN:
            more = f"      and {len(found) - _SHOWN} more: memsearch review --group {name}"
            output.echo(output.style(more, "dim"))
        output.echo()
    if cases:
        pending = sum(case.waits for case in cases)
        rest = len(cases) - pending
        counts = [f"{many(pending, 'case')} waiting"] if pending else []
        counts += [many(rest, "suggestion")] if rest else []
        first = numbers[cases[0].key]
        output.say(f"{', '.join(counts)} - `memsearch review open {first}` shows the evidence")
    else:
        output.say("nothing waits - `memsearch review --secrets` looks for secrets too")
    return 0 if cases else 1


def _check(group: str) -> None:
    known = [name for name, _ in REVIEW_GROUPS.values()]
    if group not in known:
        raise UsageError(f"no group {group!r}", f"groups: {', '.join(known)}")


def case_json(case: ReviewItem) -> dict[str, Any]:
    """Return a case as the commands print it with ``--json``."""
    return {
        "id": case.id,
        "group": REVIEW_GROUPS[case.kind][0],
        "title": case.title,
        "waits": case.waits,
        "accept": case.yes,
        "reject": case.no,
        "evidence": ["".join(text for text, _ in line) for line in case.detail],
        "entries": list(case.notes),
        "sessions": list(case.sessions),
    }


def _found(memory: Memory, names: tuple[str, ...]) -> list[ReviewItem]:
    """Return the cases that *names* mean. Secrets are searched only if one of them is named."""
    groups = {name for name, _ in REVIEW_GROUPS.values()}
    is_plain = all(name.isdecimal() or name in groups - {"secrets"} for name in names)
    try:
        return memory.review.named(names, memory.review.cases(secrets=not is_plain))
    except MemsearchError:
        if not is_plain:
            raise
        return memory.review.named(names, memory.review.cases(secrets=True))


@review.command("open", epilog="\b\nExample:\n  memsearch review open 3")
@_NAMES
@_ALL
@as_json
def review_open(names: tuple[str, ...], everything: bool) -> None:
    """Show the evidence of a case, and what the answers do."""
    cases = _found(Memory(everything=everything), names)
    output.emit({"cases": [case_json(case) for case in cases]})
    print_cases(cases)
    for name in cases[0].notes[:3] if len(cases) == 1 else ():
        output.say(f"`memsearch expand {name}` shows the note")


def print_cases(cases: list[ReviewItem], *, room: int = 0) -> None:
    """Print cases with their evidence and their answers. The views of the queue use it, too.

    Args:
        room: cut lines to this many columns; 0: print them whole.
    """
    for case in cases:
        title = output.clip(case.title, max(room - 10, _LEAST)) if room else case.title
        output.echo(output.style(output.safe(f"{case.id}  {title}"), "strong"))
        for line in case.detail:
            parts = [(output.safe(text), tone) for text, tone in line]
            whole = "".join(text for text, _ in parts)
            if room and cells(whole) > room - 2:
                indent = len(whole) - len(whole.lstrip())
                cut = output.clip(whole, max(room - 2 - indent, _LEAST))
                parts = [(" " * indent + cut, parts[-1][1])]
            shown = (output.style(text, tone) if tone in _TONES else text for text, tone in parts)
            output.echo(f"  {''.join(shown)}".rstrip())
        output.echo()
    answers = dict.fromkeys(
        f"`memsearch review {word} {case.id if len(cases) == 1 else 'ID'}`: {answer}"
        for case in cases
        for word, answer in (("accept", case.yes), ("reject", case.no))
        if answer
    )
    for answer in answers:
        output.say(answer)
    if not cases:
        output.say("nothing waits")


@review.command(
    "accept",
    short_help="Accept what waits.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch review accept 3 5\n"
        "  memsearch review accept quarantine\n"
        "  memsearch review accept 3 --text 'Staging runs Postgres 17'"
    ),
)
@_NAMES
@click.option("--text", help="Accept one proposal in these words instead.")
@_ALL
@_YES
@as_json
def review_accept(names: tuple[str, ...], text: str | None, everything: bool, yes: bool) -> int:
    """Accept what waits: numbers of the last list, ids, notes, or a whole group."""
    return _decide(Memory(everything=everything), names, True, text, yes=yes)


@review.command(
    "reject",
    short_help="Reject what waits.",
    epilog="\b\nExamples:\n  memsearch review reject 3\n  memsearch review reject repairs",
)
@_NAMES
@_ALL
@_YES
@as_json
def review_reject(names: tuple[str, ...], everything: bool, yes: bool) -> int:
    """Reject what waits: numbers of the last list, ids, notes, or a whole group."""
    return _decide(Memory(everything=everything), names, False, None, yes=yes)


def _left_out(memory: Memory, names: tuple[str, ...], cases: list[ReviewItem]) -> list[ReviewItem]:
    """Return the cases that only the name of their group means, and that it does not accept."""
    groups = {name for name, _ in REVIEW_GROUPS.values()}
    own = memory.review.named([name for name in names if name not in groups], cases)
    return [case for case in cases if case.single and case not in own]


def _decide(
    memory: Memory, names: tuple[str, ...], accept: bool, text: str | None, *, yes: bool
) -> int:
    """Carry out one answer for each case. A failure is reported, and the other cases are still
    decided.
    """
    word = "accept" if accept else "reject"
    cases = _found(memory, names)
    fit = [case for case in cases if (case.yes if accept else case.no)]
    left = [case for case in _left_out(memory, names, cases) if case in fit] if accept else []
    fit = [case for case in fit if case not in left]
    alone = f"`memsearch review accept {' '.join(case.id for case in left[:_SHOWN])}`"
    if left and not fit:
        raise UsageError("a note that may hold orders or outside content needs its own id", alone)
    if not fit:
        raise UsageError(f"nothing of this can be {word}ed", f"`memsearch review open {names[0]}`")
    if text is not None and (len(fit) != 1 or not fit[0].text):
        raise UsageError(
            "--text goes with one proposal of one line",
            f"`memsearch review open {fit[0].id}` shows what is proposed",
        )
    if len(fit) > 1:
        output.confirm(f"{word.title()} {many(len(fit), 'case')}?", yes)
    done, failed, back = [], [], False
    for case in fit:
        if accept and case.asks:
            output.confirm(case.asks.removesuffix(" Type yes"), yes)
        try:
            decision = memory.review.decide(case, accept, text)
        except MemsearchError as error:
            failed.append({"id": case.id, "title": case.title, "error": str(error)})
        else:
            done.append({"id": case.id, "title": case.title, "said": decision.said})
            back = back or decision.back is not None
    output.emit({"decided": done, "failed": failed, "left": [case.id for case in left]})
    room = output.width() - 30
    for row in done:
        output.echo(f"{output.style('✓', 'good')} {output.clip(row['title'], room)}: {row['said']}")
    for row in failed:
        output.say(f"failed: {output.clip(row['title'], room)}: {output.safe(row['error'])}")
    if left:
        output.say(
            f"left out {many(len(left), 'note')} that may hold orders or outside content; after"
            f" a look: {alone}"
        )
    if back:
        output.say("`memsearch review undo` undoes the last answer")
    return 5 if failed else 0


@review.command("undo", epilog="\b\nExample:\n  memsearch review undo")
@_ALL
@as_json
def review_undo(everything: bool) -> None:
    """Undo the last answer, also one that the app gave."""
    done, message = Memory(everything=everything).review.undo()
    output.emit(
        {"undone": {"title": done.title, "said": done.said}, "said": message},
        say=f"{output.clip(done.title, 60)}: {message}",
    )
