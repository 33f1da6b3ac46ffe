"""``memsearch compact``: write a digest of many notes into today."""

from __future__ import annotations

from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, days_of, memory_at, tolerated
from memsearch_tui.counted import many


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
@click.option("--day", default="", metavar="DAY", help="Of one day: 2026-11-24, yesterday, today.")
@click.option("--week", is_flag=True, help="Of the seven days before today.")
@click.option("--prompt", default="", help="A prompt of your own; {chunks} stands for the notes.")
@click.option(
    "--prompt-file", default="", type=click.Path(dir_okay=False), help="The same, in a file."
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
    help="Of openai and the like, where it is not described in the settings.",
)
@click.option("--llm-api-key", default="", help="The same; better env:NAME than the key itself.")
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
        raise engine.UsageError("--source, --day and --week each say which notes: choose one")
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
        output.emit({"would": _plan_json(planned)})
        output.say("nothing was asked, and nothing written")
        return
    folder = compact.folder(output_dir)
    with output.Progress() as progress:
        digest = compact.make(lambda done, total: progress.show("writing", done, total))
    try:
        note = compact.write(digest, folder)
    except (engine.MemsearchError, OSError):
        output.remark(output.safe(digest.text))  # print it anyway: it has been paid for
        raise
    done = {
        "text": digest.text,
        "entry_id": note.id,
        "source": note.path,
        "sources": digest.sources,
        "unsourced": digest.unsourced,
    }
    used = {"input_tokens": digest.input_tokens, "output_tokens": digest.output_tokens}
    output.emit({**done, **used, "plan": _plan_json(planned)})
    output.echo(output.safe(digest.text))
    if digest.unsourced:
        output.say(f"note: {many(digest.unsourced, 'line')} of it name no note that they come from")
    if digest.input_tokens:
        output.say(
            f"{digest.input_tokens + digest.output_tokens:,} tokens of {planned.provider} -"
            " `memsearch status --cost` counts them"
        )
    seen = f"`memsearch expand {note.id}` shows it, " if not output_dir else ""
    output.say(f"written to {note.path} - {seen} `memsearch undo {note.id}` takes it back")


def _print_plan(planned: Any) -> None:
    days = len({note.day for note in planned.notes})
    output.say(
        f"{many(len(planned.notes), 'note')} of {many(days, 'day')}:"
        f" {output.safe(planned.picking.title)}"
    )
    for why, count in planned.picking.left_out.items():
        output.say(f"  {count} left out: {why}")
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
