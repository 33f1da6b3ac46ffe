"""Tags that are not closed: a pattern from each of them to the end of the text would never end."""

from __future__ import annotations

from typing import Any

import pytest
from memsearch_engine.agents.claude_code import reader as claude
from memsearch_engine.agents.copilot import reader as copilot
from memsearch_engine.agents.cursor import reader as cursor
from memsearch_engine.agents.gemini import reader as gemini
from memsearch_engine.agents.transcripts.model import ToolCall
from memsearch_engine.agents.transcripts.tags import split_after_last

MANY = 200_000


def test_a_text_is_split_after_its_last_end_tag():
    assert split_after_last("a</x>b</x>c", "</x>") == ("a</x>b</x>", "c")
    assert split_after_last("a<x>b", "</x>") == ("", "a<x>b")


@pytest.mark.parametrize("before", ["", "</command-args></result></user_query>"])
def test_tags_that_are_not_closed_take_no_time(before):
    called = f"<command-name>/x</command-name>{before}"
    assert claude._called(called + "<command-args>" * MANY) == "/x"
    tools = {"t": ToolCall("Task", "", "launched")}
    claude._reported(tools, f"<tool-use-id>t</tool-use-id>{before}" + "<result>" * MANY)
    assert tools["t"].output == "launched"
    text = before + "<user_query>" * MANY
    assert cursor._typed(text) == text


@pytest.mark.parametrize("before", ["", "</hook_context></untrusted_context></memsearch-memory>"])
def test_outputs_with_tags_that_are_not_closed_are_kept(before):
    output = before + "<hook_context><untrusted_context>\n<memsearch-memory " * MANY
    call = ToolCall("Bash", "ls")
    answer = {"functionResponse": {"response": {"output": output}}}
    gemini._result(call, {"status": "success", "result": [answer]})
    assert call.output == output
    line: Any = {"toolCallId": "t", "result": {"content": output}}
    copilot._result({"t": call}, line)
    assert call.output == output
