"""Two tiers of commands: few in `--help`, all in `help --all`, older names that go on working."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from memsearch_engine import FILTERS

from memsearch_tui.cli import commands
from memsearch_tui.cli.group import cli, run
from memsearch_tui.cli.help import TOPICS

LISTED = [name for group in commands.listed(everything=True).values() for name in group]


def shown(text: str) -> list[str]:
    """The names of commands in a help text."""
    return re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text, re.M)


def test_help_shows_at_most_twenty_commands_and_four_examples(capsys):
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    names = [name for name in shown(out.partition("Examples:")[0]) if name in LISTED]
    assert 10 < len(names) <= 20
    assert len(re.findall(r"^    memsearch ", out, re.M)) == 4


def test_help_all_shows_every_listed_command(capsys):
    assert run(["help", "--all"]) == 0
    assert set(LISTED) <= set(shown(capsys.readouterr().out))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_explained_in_lines_that_fit(topic, capsys):
    assert run(["help", topic]) == 0
    out = capsys.readouterr().out
    assert out.strip() and max(map(len, out.splitlines())) <= 100


def test_every_filter_is_described(capsys):
    assert run(["help", "query"]) == 0
    help_ = capsys.readouterr().out
    page = (Path(__file__).parents[2] / "docs" / "reference" / "queries.md").read_text()
    for key, one in FILTERS.items():
        assert one.example.startswith(f"{key}:")
        assert f"{key}:" in help_, f"`memsearch help query` lacks {key}:"
        assert f"`{key}:" in page, f"add {key}: to the table of docs/reference/queries.md"


def test_help_of_a_command_is_its_help(capsys):
    assert run(["help", "agents", "import"]) == 0
    assert "Usage: memsearch agents import" in capsys.readouterr().out
    assert run(["help", "no-such"]) == 2


@pytest.mark.parametrize("name", [*LISTED, *commands.ALIASES])
def test_every_name_in_the_tables_is_a_command(name):
    found = cli.get_command(click.Context(cli), name)
    assert found is not None and (name in LISTED) == (name in cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("name", [n for n, alias in commands.ALIASES.items() if alias.instead])
def test_an_older_name_says_the_new_one_once_and_never_to_a_program(name, capsys):
    assert run([name, "--help"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == [f"note: `memsearch {name}` is now `memsearch {commands.ALIASES[name].instead}`"]
    run([name, "--help", "--json"])
    assert "is now" not in capsys.readouterr().err


@pytest.mark.parametrize("alias", [a.instead for a in commands.ALIASES.values() if a.instead])
def test_the_new_name_of_an_alias_exists(alias):
    name, *rest = alias.split()
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for part in rest:
        if part.startswith("--"):
            assert part in {option for param in command.params for option in param.opts}
        else:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), part)
            assert command is not None


def test_what_memsearch_and_its_plugins_call_stays_silent():
    names = ("search", "expand", "transcript", "index", "watch", "stats", "reset", "compact")
    for name in (*names, "config", "summarize", "hook", "context", "coverage"):
        alias = commands.ALIASES.get(name)
        assert alias is None or not alias.instead, name
        assert commands.found(name) is not None


def test_a_command_of_a_group_is_named_where_it_is_called_without_the_group(capsys):
    assert run(["uninstall"]) == 2
    assert "`memsearch agents uninstall`" in capsys.readouterr().err
    assert run(["rewrite"]) == 2
    assert "Did you mean `memsearch sync rewrite`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new"), [(("trust", "hold"), "quarantine"), (("amends",), "NEWER")]
)
def test_renamed_commands_work_under_their_older_name(old, new, capsys):
    assert run([*old, "--help"]) == 0
    assert "Usage: memsearch " + " ".join(old) in capsys.readouterr().out
    assert run([old[0], "--help"]) == 0
    out = capsys.readouterr().out
    assert new in out and " hold " not in out


def groups(command=cli, path=()):
    """Every group of commands, with its name."""
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if isinstance(below, click.Group):
            yield (*path, name)
            yield from groups(below, (*path, name))


@pytest.mark.parametrize("path", groups(), ids=" ".join)
def test_the_help_of_a_group_has_whole_lines(path, capsys):
    assert run([*path, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("...") and "Usage:" not in line] == []
