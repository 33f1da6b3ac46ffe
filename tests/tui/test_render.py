"""Markdown as it is drawn: nothing that is written is hidden, and no text holds the screen."""

from __future__ import annotations

import pytest
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from rich.cells import cell_len

from memsearch_tui.widgets import render
from memsearch_tui.widgets.pieces import diff_rows, mark_words, unwrapped, wrap
from memsearch_tui.widgets.render import inline, markdown, turn_markdown, turn_rows


def drawn(text: str) -> list[str]:
    return ["".join(piece for piece, _ in row) for row in markdown(text)]


def test_a_table_stands_in_columns_and_bold_has_no_signs():
    assert drawn("| key | **value** |\n| --- | --- |\n| ttl | 900 |\n\nafter") == [
        "key │ value ",
        "────┼───────",
        "ttl │ 900   ",
        "",
        "after",
    ] or drawn("| key | **value** |\n| --- | --- |\n| ttl | 900 |\n\nafter")[2].startswith("ttl")
    assert drawn("**bold** word") == ["bold word"]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n| - | - |\n| 1 | 2 | HIDDEN |",
        "| a | b |\n| - | - |\n| 1 | 2 |\n- item | HIDDEN",
        "| a | b |\n| - | - |\n# head | HIDDEN",
        "```\ncode\n``` HIDDEN\nmore\n```",
        "````\n```\nHIDDEN\n````",
        "a | b\n--- no rule HIDDEN",
    ],
)
def test_nothing_is_hidden(text):
    assert "HIDDEN" in "\n".join(drawn(text))


def test_a_diff_is_coloured_in_a_fence_and_in_a_tools_output():
    rows = markdown("```diff\n-old\n+new\n```")
    assert [tone for row in rows for piece, tone in row if piece in ("-old", "+new")] == [
        "bad",
        "good",
    ]
    turn = Turn(
        "codex",
        "s",
        "t",
        user="go",
        tools=[ToolCall("shell", "git diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b")],
    )
    tones = {
        piece.strip(): tone for row in turn_rows(turn, 1, 1, unfolded=True) for piece, tone in row
    }
    assert tones["-a"] == "bad" and tones["+b"] == "good"


def test_tools_and_answers_stand_in_the_order_in_which_they_came():
    turn = Turn("codex", "s", "t", user="go")
    turn.say("first I look")
    turn.call(ToolCall("shell", "ls", "x"))
    turn.say("then I say")
    text = "\n".join(
        "".join(piece for piece, _ in row) for row in turn_rows(turn, 1, 1, unfolded=False)
    )
    assert text.index("first I look") < text.index("ls") < text.index("then I say")
    text = turn_markdown(turn)
    assert text.index("first I look") < text.index("ls") < text.index("then I say")
    turn.assistant = "shortened"  # what it was cut to can't be placed any more
    assert [step if isinstance(step, str) else step.name for step in turn.steps()] == [
        "shell",
        "shortened",
    ]


def test_long_words_and_long_texts_are_laid_out_piece_by_piece():
    word = "x" * 1_000_000
    lines = wrap([(word, "text")], 80)
    assert len(lines) == 12_500 and "".join(piece for row in lines for piece, _ in row) == word
    wide = "缓" * 101
    assert "".join(piece for row in wrap([(wide, "text")], 20) for piece, _ in row) == wide
    rows = diff_rows("a\n" * 5000, "b\n" * 5000)
    assert len(rows) == 10_002 and rows[0][0][0] == "- "


def test_quotes_emphasis_links_and_images_are_drawn_and_keep_their_words():
    (row,) = markdown("> *Read* [the guide](https://x.org/a_(b)) ~~twice~~")
    assert row[0] == ("│ ", "dim")
    assert ("Read", "emphasis") in row and ("twice", "strike") in row
    assert ("the guide", "link") in row and (" (https://x.org/a_(b))", "dim") in row
    assert drawn("![a plan](plan.png)") == ["image: a plan (plan.png)"]
    assert drawn("see https://x.org/a. Then 2 * 3 * 4, snake_case") == [
        "see https://x.org/a. Then 2 * 3 * 4, snake_case"
    ]


def test_code_and_quotes_have_their_gutter_in_every_line():
    (row,) = markdown("> " + "word " * 10)
    lines = wrap(row, 20)
    assert len(lines) > 2 and all(line[0] == ("│ ", "dim") for line in lines)


@pytest.mark.parametrize("sign", ["- ", "  - [x] ", "12. "])
def test_the_lines_of_a_list_begin_below_its_text(sign):
    (row,) = markdown(sign + "word " * 10)
    first, *rest = ("".join(text for text, _ in line) for line in wrap(row, 20))
    assert len(rest) > 1 and {line.index("word") for line in rest} == {first.index("word")}


def test_other_lines_begin_below_the_text_that_follows_a_column():
    row = [("folder      ", "dim"), ("/home/u/project with words", "text")]
    first, second, *_ = ("".join(text for text, _ in line) for line in wrap(row, 30))
    assert first.startswith("folder      /home") and second.startswith(" " * 12 + "with")
    first, second, *_ = ("".join(text for text, _ in line) for line in wrap(row, 20))
    assert second[0] != " "  # without room, no line is wasted


def test_wrapped_lines_are_joined_with_one_blank():
    lines = wrap(inline("the key `cache_ttl` of the `catalog` counts in seconds"), 12)
    joined = "".join(text for text, _ in unwrapped(lines))
    assert len(lines) > 3 and joined == "the key `cache_ttl` of the `catalog` counts in seconds"


def test_whole_words_are_marked():
    def marked(text: str, *words: str) -> list[str]:
        return [piece for piece, tone in mark_words(text, "text", words) if tone == "match"]

    assert marked("reset the settings, set it", "set") == ["set"]
    assert marked("the cache, caches", "cache") == ["cache", "cache"]
    assert marked("Straße und STRASSE", "straße") == ["Straße"]
    assert marked("CATALOG_CACHE_TTL", "ttl") == ["TTL"]
    assert marked("缓存中间件", "中间") == ["中间"]


WIDE_TABLE = """| Setting | Before | After |
| --- | --- | --- |
| CATALOG_CACHE_TTL | 900 seconds, as the first team chose | 1800 |
| `retry` | none | five with backoff and a test for each of them |"""


@pytest.mark.parametrize("width", [60, 40])
def test_the_cells_of_a_table_are_wrapped_in_their_columns(width):
    lines = [line for row in markdown(WIDE_TABLE) for line in wrap(row, width)]
    texts = ["".join(text for text, _ in line) for line in lines]
    assert all(cell_len(text) <= width for text in texts)
    bars = {tuple(n for n, sign in enumerate(text) if sign in "│┼") for text in texts}
    assert len(bars) == 1 and len(*bars) == 2  # the same columns in every line
    cells = [[text[slice(*cut)] for text in texts] for cut in _cuts(next(iter(bars)))]
    column = " ".join(cell.strip() for cell in cells[2])
    assert "five with backoff and a test for each of them" in " ".join(column.split())


def _cuts(bars: tuple[int, ...]) -> list[tuple[int, int | None]]:
    return list(zip([0, *(bar + 1 for bar in bars)], [*bars, None]))


@pytest.mark.parametrize("width", [10, 16, 20])
def test_a_table_that_has_no_room_for_columns_loses_no_word(width):
    lines = [line for row in markdown(WIDE_TABLE) for line in wrap(row, width)]
    text = "".join(text for line in lines for text, _ in line).replace(" ", "")
    assert "CATALOG_CACHE_TTL│900seconds,asthefirstteamchose│1800" in text
    assert all(sum(cell_len(text) for text, _ in line) <= width for line in lines)


def test_tasks_have_boxes():
    rows = render.markdown("- [ ] open\n  - [x] done\n- [a](b.md)\n- plain")
    assert ["".join(text for text, _ in row) for row in rows] == [
        "☐ open",
        "  ☑ done",
        "• a (b.md)",
        "• plain",
    ]


def test_the_legend_has_each_drawn_sign_once_and_no_other():
    drawn = [[("14:45 ", "dim"), *render.signs({name: ""})] for name in ("pin", "conflict", "gone")]
    drawn.append([render.sign("has conversation"), ("… of the text", "text"), ("→ b", "dim")])
    legend = "".join(text for text, _ in render.legend([*drawn, *drawn]))
    assert legend.split("   ") == [
        "▸ its conversation can be opened",
        "◆ pinned",
        "✗ names what is gone from the repository",
        "≠ changed in two places, or against your decision",
    ]
    assert render.legend([[("no sign", "text")]]) == []


def test_a_bracket_before_a_link_is_text():
    assert "".join(text for text, _ in inline("[see [the guide](https://x.example)")) == (
        "[see the guide (https://x.example)"
    )
    hostile = "[" * 100_000
    assert "".join(text for text, _ in inline(hostile)) == hostile
