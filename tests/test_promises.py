"""Documents name only tests that exist, README stays short, and links between documents work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("document", ["SECURITY.md", "docs/development/promises.md"])
def test_what_a_promise_rests_on_exists(document):
    found = NAMED.findall((ROOT / document).read_text())
    assert len(found) > 10
    for file, name in found:
        assert (ROOT / file).exists(), file
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.M), f"{file}::{name}"


def test_readme_has_at_most_900_words():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def anchors(page: Path) -> set[str]:
    """The anchors that a renderer makes of the headings of *page*."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_work(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
