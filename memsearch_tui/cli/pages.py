"""Text that a model may write: PROJECT.md and USER.md (``pages``), and digests (``compact``).

Its owner accepts what is proposed for a page. A digest is a note of today.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click
import memsearch_engine as engine
from memsearch_engine import Hunk, Patch, agent_names

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, days_of, memory_at, tolerated
from memsearch_tui.counted import many

Page = Literal["project", "user"]
_NAMES: dict[Page, str] = {"project": "PROJECT.md", "user": "USER.md"}


def profile(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--profile``: USER.md instead of PROJECT.md."""
    option = click.option(
        "--profile",
        "page",
        flag_value="user",
        default="project",
        help="USER.md, how you like to work, instead of PROJECT.md.",
    )
    return option(command)


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch pages review --provider codex     have a model propose changes to"
        " PROJECT.md now\n"
        "  memsearch pages review --profile            to USER.md, by the model that the"
        " settings name\n"
        "  memsearch config set plugins.claude-code.project_review.enabled true   every"
        " day by itself, where notes have come"
    )
)
@click.option(
    "--provider",
    default="",
    help=f"Whom to ask: {', '.join(agent_names()[:2])} …, or a name under llm.providers.",
)
@click.option("--model", default="", help="Another model than its own.")
@profile
@as_json
def review(provider: str, model: str, page: Page) -> int:
    """Have a model propose the text of PROJECT.md (or USER.md). Nothing is written before you
    accept it.
    """
    pages = memory_at().pages
    output.say(f"asking for {_NAMES[page]} …")
    result = pages.review(page, provider=provider, model=model)
    output.emit(
        {
            "state": result.state,
            "reason": result.reason,
            "tokens": result.tokens,
            "changes": pages.get(page).waiting,
        }
    )
    if result.state == "review":
        _print(pages.get(page).waiting)
        output.say(
            f"{many(result.hunks, 'change')}:"
            f" {output.safe(result.reason)} ({result.tokens:,} tokens)"
        )
        if result.left_out:
            output.say(
                f"{many(result.left_out, 'line')} left out: from too few sessions, or other words"
                " for yours"
            )
        flag = " --profile" if page == "user" else ""
        output.say(
            f"`memsearch pages accept{flag}` takes all of it, `accept{flag} 2` one change,"
            f" `reject{flag}` none; f5 in the app shows them with their notes"
        )
    else:
        output.say(f"{result.state}: {output.safe(result.reason)}")
    return {"review": 0, "unchanged": 0, "skipped": 1}.get(result.state, 3)


def _print(hunks: list[Hunk]) -> None:
    for hunk in hunks:
        output.echo(
            output.style(
                f"{hunk.number:2d}  {hunk.section.lstrip('# ') or 'at the top'}",
                "strong",
            )
        )
        output.echo_each(f"    - {output.safe(line)}" for line in hunk.before)
        output.echo_each(f"    + {output.safe(line)}" for line in hunk.after)


@click.command(
    short_help="Show a page and what waits.",
    epilog="\b\nExamples:\n  memsearch pages show\n  memsearch pages show --profile --json",
)
@profile
@as_json
def show(page: Page) -> int:
    """Show PROJECT.md (or USER.md), what waits for your decision, and which of its lines sessions
    do not get.
    """
    state = memory_at().pages.get(page)
    output.emit(state)
    if state.text:
        output.echo(output.safe(state.text.rstrip()))
    if state.strange:
        output.say(
            f"! {many(len(state.strange), 'line')} of it sessions do not get: you have not"
            " accepted them (`memsearch pages trust`)"
        )
    if state.waiting:
        output.say(
            f"{many(len(state.waiting), 'change')} to it"
            f" {'waits' if len(state.waiting) == 1 else 'wait'} for your decision:"
        )
        _print(state.waiting)
    return output.exit_code(
        state.text, f"there is no {_NAMES[page]} yet - `memsearch pages review` has one proposed"
    )


def _decide(
    page: Page, verdict: Literal["accepted", "rejected"], numbers: tuple[int, ...], text: str | None
) -> None:
    done = memory_at().pages.decide(page, verdict, numbers, text=text)
    output.emit({"state": verdict, "changes": done})
    undone = " - `memsearch pages undo` takes it back" if verdict == "accepted" else ""
    output.say(f"{many(len(done), 'change')} {verdict}{undone}")


@click.command(
    short_help="Accept proposed changes.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch pages accept\n"
        "  memsearch pages accept 2 3\n"
        "  memsearch pages accept 2 --text '- Move to Postgres 17 in May'"
    ),
)
@click.argument("numbers", nargs=-1, type=int)
@click.option("--text", help="Accept one change with these words instead.")
@profile
@as_json
def accept(numbers: tuple[int, ...], text: str | None, page: Page) -> None:
    """Write proposed changes into PROJECT.md (or USER.md): those of these numbers, or all. Sessions
    get it from the next one on.
    """
    _decide(page, "accepted", numbers, text)


@click.command(epilog="\b\nExample:\n  memsearch pages reject 1")
@click.argument("numbers", nargs=-1, type=int)
@profile
@as_json
def reject(numbers: tuple[int, ...], page: Page) -> None:
    """Leave proposed changes out: those of these numbers, or all."""
    _decide(page, "rejected", numbers, None)


@click.command(epilog="\b\nExample:\n  memsearch pages undo")
@profile
@as_json
def undo(page: Page) -> int:
    """Take the last accepted change to PROJECT.md (or USER.md) back."""
    path = memory_at().pages.undo(page)
    output.emit(
        {"path": path},
        say=f"{output.safe(path)} is as it was before" if path else "nothing to take back",
    )
    return 0 if path else 1


@click.command(
    short_help="Release lines that you have not accepted.",
    epilog="\b\nExample:\n  memsearch pages trust",
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@profile
@as_json
def trust(yes: bool, page: Page) -> int:
    """Release lines of PROJECT.md (or USER.md) that you have not accepted:
    sessions may get them. They are shown first.
    """
    pages = memory_at().pages
    strange = pages.get(page).strange
    output.echo_each(output.safe(line) for _, line in strange)
    if strange:
        output.confirm(
            "May sessions get"
            f" {'this line' if len(strange) == 1 else f'these {len(strange)} lines'}?",
            yes,
        )
        pages.release(page, strange)
    output.emit(
        {"released": len(strange)},
        say=f"{many(len(strange), 'line')} released: sessions may get them"
        if strange
        else "there is no line that you have not accepted",
    )
    return 0 if strange else 1


@click.command(
    short_help="Add accepted text to AGENTS.md or CLAUDE.md.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch pages propose AGENTS.md            show what would be added, ask, write\n"
        "  memsearch pages propose CLAUDE.md --profile --dry-run\n"
        "  memsearch pages propose AGENTS.md --undo     as it was, byte for byte"
    ),
)
@click.argument("name", metavar="FILE")
@click.option("--dry-run", "-n", is_flag=True, help="Only show it.")
@click.option(
    "--undo",
    "take_out",
    is_flag=True,
    help="Put the file back as it was; where it was edited since, take only the block out.",
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@click.option("--profile", is_flag=True, help="With USER.md, too.")
@as_json
def propose(name: str, dry_run: bool, take_out: bool, yes: bool, profile: bool) -> int:
    """Give an instruction file of the project (AGENTS.md, CLAUDE.md) what was accepted into
    PROJECT.md, in a marked block of its own.
    """
    pages = memory_at().pages
    if take_out:
        done = pages.withdraw(name)
        output.emit(
            {"changed": [patch.path for patch in done]},
            say=f"{name} is as it was" if done else f"{name} has no text of ours",
        )
        return 0 if done else 1
    patch = pages.proposed(name, ("project", "user") if profile else ("project",))
    output.echo_each(output.safe(line) for line in _diff(patch))
    if not patch.changes:
        output.remark(f"{name} has it already")
    elif not dry_run:
        output.confirm(f"Write this into {name}?", yes)
        pages.propose(patch)
        output.say(f"written - `memsearch pages propose {name} --undo` puts it back byte for byte")
    output.emit(
        {
            "path": patch.path,
            "changes": patch.changes,
            "written": patch.changes and not dry_run,
            "diff": "\n".join(_diff(patch)),
        }
    )
    return 0


def _diff(patch: Patch) -> list[str]:
    return output.diff(patch.before if isinstance(patch.before, bytes) else b"", patch.after)


@click.group(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch pages review       have changes of PROJECT.md proposed\n"
        "  memsearch pages accept       write them into it"
    )
)
def pages() -> None:
    """PROJECT.md and USER.md: what a model proposes, and what you accept."""


for _command in (review, show, accept, reject, undo, trust, propose):
    pages.add_command(_command)


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch compact --day yesterday                        what came of it, in"
        " the notes' own words\n"
        "  memsearch compact --week --dry-run                       which notes, how"
        " many tokens, what it would cost\n"
        "  memsearch compact --source 'postgres migration'          of the notes that a"
        " query finds\n"
        "  memsearch compact -s 2026-11-01..2026-11-07 --llm-provider claude-code\n"
        "  memsearch config set compact.provider NAME               a model for all"
        " digests (a name under llm.providers)"
    )
)
@click.option(
    "--source",
    "-s",
    default="",
    metavar="WHAT",
    help="A file, a day, days (A..B) or a query; all notes without it.",
)
@click.option(
    "--day", default="", metavar="DAY", help="The notes of one day: 2026-11-24, yesterday, today."
)
@click.option("--week", is_flag=True, help="Of the seven days before today.")
@click.option("--prompt", default="", help="A prompt of your own; {chunks} stands for the notes.")
@click.option(
    "--prompt-file", default="", type=click.Path(dir_okay=False), help="A file with the prompt."
)
@click.option(
    "--output-dir",
    "-o",
    default="",
    type=click.Path(file_okay=False),
    help="Write to memory/DAY.md in another folder.",
)
@click.option(
    "--llm-provider",
    default="",
    metavar="NAME",
    help=(
        "Who writes it: under llm.providers, an agent, openai, anthropic, gemini; extractive:"
        " nobody."
    ),
)
@click.option("--llm-model", default="", help="Another model than the provider's own.")
@click.option(
    "--llm-base-url",
    default="",
    help="The address of a provider that the settings do not describe.",
)
@click.option("--llm-api-key", default="", help="Its API key; better env:NAME than the key itself.")
@click.option(
    "--dry-run", "-n", is_flag=True, help="Show what it would take; ask nobody and write nothing."
)
@tolerated
@as_json
def compact(
    source: str,
    day: str,
    week: bool,
    prompt: str,
    prompt_file: str,
    output_dir: str,
    llm_provider: str,
    llm_model: str,
    llm_base_url: str,
    llm_api_key: str,
    dry_run: bool,
) -> None:
    """Write a digest of notes into today, as one note; the notes themselves stay as they are.
    `memsearch undo` takes it back.

    Every line names the notes that it comes from (`memsearch expand ID`). Without a model it is
    made of the notes' own lines: decisions, changes, errors and how they ended, what is open.
    Quarantined, expired and superseded notes are left out.
    """
    if sum(map(bool, (source, day, week))) > 1:
        raise engine.UsageError(
            "--source, --day and --week each say which notes", "choose one of them"
        )
    days_of(day or "")  # validate it first: any other word would count as a source
    memory = memory_at()
    asked = engine.DigestRequest(
        provider=llm_provider,
        model=llm_model,
        base_url=llm_base_url,
        api_key=llm_api_key,
        prompt=prompt,
        prompt_file=prompt_file,
    )
    compact = memory.compact(engine.Compact.WEEK if week else source or day, asked)
    planned = compact.plan
    _print_plan(planned)
    if dry_run:
        output.emit({"would": _plan_json(planned)}, say="nothing was asked, and nothing written")
        return
    folder = compact.folder(output_dir)
    with output.Progress() as progress:
        digest = compact.make(lambda done, total: progress.show("writing", done, total))
    try:
        note = compact.write(digest, folder)
    except (engine.MemsearchError, OSError):
        output.remark(output.safe(digest.text))  # print it anyway: it has been paid for
        raise
    _print_digest(digest, note, planned)
    seen = f"`memsearch expand {note.id}` shows it, " if not output_dir else ""
    output.say(f"written to {note.path} - {seen} `memsearch undo {note.id}` takes it back")


def _print_digest(digest: Any, note: engine.Note, planned: Any) -> None:
    output.emit(
        {
            "text": digest.text,
            "entry_id": note.id,
            "source": note.path,
            "sources": digest.sources,
            "unsourced": digest.unsourced,
            "input_tokens": digest.input_tokens,
            "output_tokens": digest.output_tokens,
            "plan": _plan_json(planned),
        },
        echo=output.safe(digest.text),
    )
    if digest.unsourced:
        output.say(f"note: {many(digest.unsourced, 'line')} of it name no note that they come from")
    if digest.input_tokens:
        output.say(
            f"{digest.input_tokens + digest.output_tokens:,} tokens of {planned.provider} -"
            " `memsearch status --cost` counts them"
        )


def _print_plan(planned: Any) -> None:
    days = len({note.day for note in planned.notes})
    output.say(
        f"{many(len(planned.notes), 'note')} of {many(days, 'day')}:"
        f" {output.safe(planned.picking.title)}"
    )
    output.say_each(f"  {count} left out: {why}" for why, count in planned.picking.left_out.items())
    if planned.provider == "extractive":
        output.say("no model: lines of the notes themselves (--llm-provider has one write it)")
        return
    price = "no price is set for it" if planned.usd is None else f"${planned.usd:.4f} at most"
    model = f" ({output.safe(planned.model)})" if planned.model else ""
    output.say(
        f"{output.safe(planned.provider)}{model}: {many(planned.calls, 'call')},"
        f" {planned.input_tokens:,} tokens in and {planned.output_tokens:,} out at most; {price}"
    )


def _plan_json(planned: Any) -> dict[str, Any]:
    return {
        "of": planned.picking.title,
        "notes": len(planned.notes),
        "days": len({note.day for note in planned.notes}),
        "left_out": planned.picking.left_out,
        "provider": planned.provider,
        "model": planned.model,
        "calls": planned.calls,
        "input_tokens": planned.input_tokens,
        "output_tokens": planned.output_tokens,
        "usd": planned.usd,
        "left_today": planned.left_today,
    }
