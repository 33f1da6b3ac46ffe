"""A note that only asks is no answer; a prompt with a task is about the things that it names."""

from __future__ import annotations

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.injection import notes
from memsearch_engine.injection.prompt import prompt_query

from tests.conftest import Box
from tests.injection.corpus import DAY, entry, furnish, injected, prepared, prompt

ASKED = "How should the download handler be written, streamed or buffered?"
DECIDED = (
    "Download handler: stream the file in 64 KB chunks with sendfile, "
    "never read it whole into memory; ETag from the stored hash"
)


@pytest.mark.parametrize(
    "body",
    ["- User asked: how is it done", "- Should it be streamed?", "- User asked: a\n- What of b?"],
)
def test_what_only_asks(body: str) -> None:
    assert notes.only_asks(body)


@pytest.mark.parametrize(
    "body",
    [
        "- User asked: a\n- Streamed",
        "- Files changed: `a.py`",
        "- User asked: a\n- Commands: `make`",
        "",
    ],
)
def test_what_says_something(body: str) -> None:
    assert not notes.only_asks(body)


def test_how_a_task_begins_is_not_searched_for(tmp_path) -> None:
    home = Home(tmp_path)
    for before in ("I have to ", "Now we need to ", "Please, can you ", "let's ", "ok, I want to "):
        asked = prompt_query(before + "write the download handler", home, leaves=False)
        assert asked is not None and asked.text == "write the download handler"
    for whole in ("we have to", "I have to go", "the download handler can't be written"):
        asked = prompt_query(whole, home, leaves=False)
        assert asked is None or asked.text == whole or whole == "I have to go"


def test_how_a_task_begins_in_chinese_is_not_searched_for(tmp_path) -> None:
    home = Home(tmp_path)
    for before in (
        "我需要",
        "请帮我",
        "我们要",
        "能不能帮我",
        "好的，现在我们需要先",
        "接下来我得",
        "让我们",
    ):
        asked = prompt_query(before + "编写下载处理程序", home, leaves=False)
        assert asked is not None and asked.text == "编写下载处理程序"
    for whole in ("我要求所有人使用它", "下载处理程序坏了", "我得到一个错误", "我们需要它"):
        asked = prompt_query(whole, home, leaves=False)
        assert asked is not None and asked.text == whole


def test_a_prompt_in_thai_says_enough(tmp_path) -> None:
    words = "เซิร์ฟเวอร์ทดสอบใช้พอร์ตอะไร"
    asked = prompt_query(words, Home(tmp_path), leaves=False)
    assert asked is not None and asked.text == words


def test_a_task_gets_what_was_decided_and_not_that_it_was_asked(box: Box) -> None:
    box.home.ensure().config.write_text("[recall]\nwait_ms = 3000\n")
    number = 300
    for day, text in (
        (12, f"### 09:00\n- User asked: {ASKED}\n"),
        (13, entry("the download handler", DECIDED, number)),
    ):
        box.write(DAY.format(day), f"# {DAY.format(day)}\n\n{text}")
    furnish(box)
    box.ready()
    prepared(box)
    for words in (
        "I have to write the download handler",
        "Let's implement the download handler now",
        "can you add the download handler to the server",
    ):
        text = injected(prompt(box, words, words[:8]))
        assert "64 KB chunks" in text, (words, box.ok("context", "--prompt", words).err)
        assert "streamed or buffered" not in text
