"""README's moving picture has its whole story, and needs no script and no file from outside."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from screenshots import record

ROOT = Path(__file__).parents[1]
_SVG = "{http://www.w3.org/2000/svg}"


def _frames(root: ElementTree.Element) -> list[ElementTree.Element]:
    (moved,) = [group for group in root.iter(f"{_SVG}g") if group.get("id") == "f"]
    return list(moved)


def test_it_has_the_captions_of_the_story_in_order():
    root = ElementTree.parse(ROOT / "screenshots" / "tour.svg").getroot()
    captions = [frame[0].text for frame in _frames(root)]
    assert captions == [caption for caption, steps in record.STORY for _ in steps]
    assert "screenshots/tour.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_small_and_needs_nothing_from_outside():
    path = ROOT / "screenshots" / "tour.svg"
    assert path.stat().st_size < 300_000
    text = path.read_text(encoding="utf-8")
    assert "@import" not in text and "url(" not in text
    root = ElementTree.fromstring(text)
    rows = {row.get("id") for row in root.iter(f"{_SVG}g")}
    assert {part.tag.removeprefix(_SVG) for part in root.iter()} <= {
        *("svg", "title", "style", "defs", "g", "rect", "text", "use")
    }
    for use in root.iter(f"{_SVG}use"):
        assert use.get("href", "").removeprefix("#") in rows


def test_each_frame_is_shown_for_its_time():
    frames = [record.Frame("/ one", ("<rect/>",), 1.0), record.Frame("two", ("<rect/>",), 3.0)]
    drawn = record.draw(frames)
    root = ElementTree.fromstring(drawn)
    assert "f 4.00s steps(1,end) infinite" in drawn
    assert "0.00%{transform:translateX(-0px)}25.00%{transform:translateX(-1040px)}" in drawn
    assert [frame.get("transform") for frame in _frames(root)] == [
        "translate(0 0)",
        "translate(1040 0)",
    ]
    assert drawn.count("<rect/>") == 1  # equal rows are stored once
