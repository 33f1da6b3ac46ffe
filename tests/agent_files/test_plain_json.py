"""A JSON file of the user's is changed only where its value changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memsearch_engine.agents import installing
from memsearch_engine.agents.hooks_json import changed_json, drop_hooks, json_like

ODD = """{ "model":"opus",
    "env" : {"A":"1",  "B": "2"},
\t"hooks": {
        "Stop": [ { "hooks": [ {"type":"command","command":"say done"} ] } ],
        "Other": []
    },
  "big": 1.50, "list": [1,2,
     3]
}
"""
OURS = {"hooks": [{"type": "command", "command": "memsearch hook claude-code Stop"}]}


def test_only_what_is_added_differs_and_taking_it_out_gives_the_file_back():
    table = json.loads(ODD)
    table["hooks"]["Stop"].append(OURS)
    table["hooks"]["PreToolUse"] = [OURS]
    made = changed_json(ODD, table)
    assert json.loads(made) == table
    for line in ODD.splitlines():
        if "Stop" not in line and "Other" not in line:
            assert line in made.splitlines(), line
    assert '[ { "hooks": [ {"type":"command","command":"say done"} ] }, {' in made
    assert changed_json(made, json.loads(ODD)) == ODD


def test_hooks_are_taken_out_of_a_file_that_its_user_laid_out():
    table = json.loads(ODD)
    table["hooks"]["PreToolUse"] = [OURS]
    made = changed_json(ODD, table).replace('"model":"opus"', '"model":"sonnet"').encode()
    stripped = json.loads(made)
    drop_hooks(stripped, installing.OURS)
    assert json_like(stripped, made).decode() == ODD.replace("opus", "sonnet")


@pytest.mark.parametrize("text", ["{}", "{ }", '{"a":1}', "{\n}\n", '{\n  "a": {}\n}\n'])
def test_the_first_hook_of_a_small_file(text):
    table = {**json.loads(text), "hooks": {"Stop": [OURS]}}
    made = changed_json(text, table)
    assert json.loads(made) == table
    assert json.loads(changed_json(made, json.loads(text))) == json.loads(text)


def test_a_name_that_stands_twice_is_not_changed_in_place():
    with pytest.raises(ValueError, match="twice"):
        changed_json('{"a": 1, "a": 2}', {"a": 2, "b": 1})
    assert json.loads(json_like({"a": 2, "b": 1}, b'{"a": 1, "a": 2}')) == {"a": 2, "b": 1}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a"\\{[,:é ', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"', max_size=2), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.dictionaries(st.text("abc", max_size=2), _VALUES),
    st.dictionaries(st.text("abc", max_size=2), _VALUES),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_value_becomes_any_other(one, other, indent):
    text = json.dumps(one, indent=indent)
    assert json.loads(changed_json(text, other)) == other
