"""Retired words stay out of documentation, help, messages and the MCP server's texts.

``docs/development/glossary.md`` names them.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memsearch_tui.cli import commands
from memsearch_tui.cli.group import loaded

ROOT = Path(__file__).parents[1]
#: Phrases whose private sense is retired; common words are not listed.
RETIRED = re.compile(
    r"\b(?:bears? on|what was told|is told|are told|sessions were told|receipts?|overtaken|"
    r"the ground has moved|waits? for your word|newer word|as it stood|notes? that amends?)\b",
    re.I,
)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "glossary.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_use_the_glossary(page):
    text = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
    assert not RETIRED.findall(text)


def test_no_class_name_stands_for_two_classes():
    """An agent's package may repeat ``Reader``, ``Installer`` and the like."""
    agents = ROOT / "engine" / "memsearch_engine" / "agents"
    files = defaultdict(list)
    for folder in (ROOT / "engine" / "memsearch_engine", ROOT / "memsearch_tui"):
        for path in folder.rglob("*.py"):
            if agents not in path.parents:
                text = path.read_text(encoding="utf-8")
                for name in re.findall(r"^ *class (\w+)[(:]", text, re.M):
                    files[name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


#: Stricter, because help and messages have few words: those that have no other sense there.
IN_HELP = re.compile(
    RETIRED.pattern + r"|\b(?:told|tells?|talks?|bears?|amends?|kept|held|stood|dialect|keeper|"
    r"(?<!front )matters?|(?:owner's|your) word)\b",
    re.I,
)
FACES = ROOT / "memsearch_tui"


def _helps(path: str, command: click.Command) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=path, max_content_width=1000, terminal_width=1000)
    if command.hidden:
        return
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _helps(f"{path} {name}", child)


def test_help_uses_the_glossary():
    tables = [*commands.VISIBLE.values(), *commands.MORE.values()]
    listed = {name: row for table in tables for name, row in table.items()}
    found = [
        (path, word)
        for name, row in listed.items()
        for path, text in [(name, row.help), *_helps(f"memsearch {name}", loaded(row))]
        for word in IN_HELP.findall(text)
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["cli", "mcp_server"])
def test_messages_use_the_glossary(folder):
    """Every text of more than one word; a single word is a key or a value."""
    found = [
        (file.name, node.lineno, word)
        for file in sorted((FACES / folder).glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for word in IN_HELP.findall(re.sub(r"``\w+``", "", node.value))
    ]
    assert found == []


def test_the_mcp_servers_texts_use_the_glossary():
    from memsearch_tui.mcp_server import server

    built = server.build(None)
    parts = [
        *asyncio.run(built.list_tools()),
        *asyncio.run(built.list_resources()),
        *asyncio.run(built.list_resource_templates()),
        *asyncio.run(built.list_prompts()),
    ]
    assert len(parts) > 10
    # the keys of answers stay as they are
    without = {"output_schema", "icons"}
    described = [json.dumps(part.model_dump(mode="json", exclude=without)) for part in parts]
    found = [word for text in described for word in IN_HELP.findall(text)]
    assert [*found, *IN_HELP.findall(built.instructions or "")] == []
