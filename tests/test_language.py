"""Retired words stay out of the documentation (``docs/development/glossary.md`` names them)."""

from __future__ import annotations

import re
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
