"""``memsearch help``: all commands, one command, or a topic."""

from __future__ import annotations

from textwrap import wrap

import click
from memsearch_engine import FILTERS

from memsearch_tui.cli import terminal

_TOPICS = {
    "query": """\
Words and filters of `memsearch search` and of the app's search.

  redis ttl             notes about these words, by meaning and by word
  "pool size"           the exact phrase
  -draft                without notes that have this word (three letters or more)
{filters}

A word that only looks like a filter is searched as text, with a note on stderr: the exit code does
not change. `--strict` makes it an error (2). `--explain` prints why each hit was found,
`--why-not ENTRY` why a note is missing.""",
    "exit-codes": """\
  0    done; also an answer from words alone
  1    nothing found, nothing to do
  2    wrong usage, or a setting that cannot be read
  3    something that is needed cannot be reached
  4    conflict: the note changed since it was read
  5    partly done
  130  interrupted""",
    "json": """\
`--json` prints one JSON object on stdout, with `schema_version` first; remarks go to stderr. An
error is an object too: `error`, `hint`, `exit_code`. Keys are only added within a schema version.

  memsearch search 'redis ttl' --json | jq -r '.hits[].entry_id'
  memsearch expand 3fa9c1d2 --json
  memsearch entries --day today --json
  memsearch review --json

`--json-output` (`-j`) of search, expand, transcript and config list is memsearch's own format. An
id can be cut to its first four characters or more, where it stays unique.""",
    "environment": """\
  MEMSEARCH_HOME        the folder of indexes, settings and history (~/.memsearch)
  MEMSEARCH_DIR         the folder of a project's notes (.memsearch in the project)
  MEMSEARCH_DISABLE     1: hooks write down nothing
  MEMSEARCH_OFFLINE     1: nothing leaves this machine (also --offline)
  MEMSEARCH_NO_SERVICE  1: hooks do not start the service
  NO_COLOR              no colours
  PAGER                 shows long texts on a terminal (less -FRX); empty: none
  EDITOR, VISUAL        opens a note for `memsearch edit`
  COLUMNS               the width of the output""",
    "files": """\
In a project:
  .memsearch/memory/YYYY-MM-DD.md   notes, a file for each day: the only truth
  .memsearch.toml                   optional settings of the project
  PROJECT.md, USER.md               pages, where you enabled them

In MEMSEARCH_HOME (~/.memsearch):
  config.toml                       settings: `memsearch config list`
  index/, cache.db                  the index: may be deleted at any time
  state.db, history.db              projects, capture, cost; changes for `undo`
  evidence/                         archived conversations
  longterm/                         what was learned from sessions
  inbox/, run/, logs/               the event queue, the service's socket, its log
  secret.key, sync.key              keys: back them up
  backups/                          databases from before an upgrade""",
}
EXAMPLES = """\b
Examples:
  memsearch help --all           every command
  memsearch help query           words and filters of a search
  memsearch help agents import   one command"""


def _filters() -> str:
    """Return a row for each filter of queries."""
    rows = []
    for one in FILTERS.values():
        lines = [line for part in one.meaning.split("\n") for line in wrap(part, 70)]
        rows += [
            f"  {left:<21} {line}" for left, line in zip([one.example, *[""] * len(lines)], lines)
        ]
    return "\n".join(rows)


TOPICS = {name: text.replace("{filters}", _filters()) for name, text in _TOPICS.items()}


@click.command("help", epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[TOPIC | COMMAND]...")
@click.option("--all", "-a", "everything", is_flag=True, help="List every command.")
@click.pass_context
def help_(ctx: click.Context, names: tuple[str, ...], everything: bool) -> None:
    """Explain a command or a topic: query, exit-codes, json, environment, files."""
    from memsearch_tui.cli.group import cli, write_groups

    if names and names[0] in TOPICS:
        terminal.page(TOPICS[names[0]])
        return
    at = ctx.find_root()
    if not names:
        if not everything:
            terminal.echo(cli.get_help(at))
            return
        formatter = at.make_formatter()
        write_groups(formatter, everything=True)
        formatter.write("\nTopics of `memsearch help`: " + ", ".join(TOPICS) + "\n")
        terminal.page(formatter.getvalue().rstrip("\n"))
        return
    command: click.Command = cli
    for name in names:
        found = command.get_command(at, name) if isinstance(command, click.Group) else None
        if found is None:
            ctx.fail(f"no command or topic {' '.join(names)!r}. Topics: {', '.join(TOPICS)}.")
        at, command = click.Context(found, info_name=name, parent=at), found
    terminal.page(command.get_help(at))
