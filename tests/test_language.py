"""Documentation uses the glossary's terms; a class name stands for one class."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

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
