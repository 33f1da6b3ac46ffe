"""Reads and changes JSON with comments (JSON5) and leaves the rest of the text unchanged.

Settings of OpenClaw and OpenCode may have comments, trailing commas and bare keys. The library
json-five preserves them. It is imported only if a file is not plain JSON.
"""

from __future__ import annotations

from typing import Any


def parse(text: str) -> Any:
    """Return the value of *text*. Raises ValueError if it is not JSON5."""
    from json5.loader import loads
    from json5.utils import JSON5DecodeError

    try:
        return loads(text)
    except (JSON5DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def changed(text: str, table: dict[str, Any]) -> str:
    """Return *text*, changed so that its value is *table*.

    Raises:
        ValueError: the changed text would have another value.
    """
    from json5.dumper import ModelDumper, dumps
    from json5.loader import ModelLoader, loads

    model: Any = loads(text, loader=ModelLoader())
    _merge(model.value, parse(text), table, depth=1)
    dumper: Any = ModelDumper()
    made = dumps(model, dumper=dumper)
    if parse(made) != table:
        raise ValueError("it can't be changed without loss")
    return made


def _merge(node: Any, now: dict[str, Any], wanted: dict[str, Any], depth: int) -> None:
    """Change the object *node* with the value *now* so that its value is *wanted*.

    Args:
        depth: indentation of its keys, in steps of two blanks.
    """
    names = list(now)
    if len(names) != len(node.keys):
        raise ValueError("one object has a name twice")
    for name in [name for name in names if name not in wanted]:
        at = names.index(name)
        del node.keys[at], node.values[at], names[at]
        if (
            at == 0
            and node.keys
            and not "".join(map(str, node.leading_wsc)).strip()
            and "\n" in "".join(map(str, node.keys[0].wsc_before))
        ):
            node.leading_wsc = []  # the line that the pair began on goes with it
    if not node.keys:
        node.trailing_comma = None
    for name, value in wanted.items():
        if name not in now:
            _put_first(node, name, value, depth)
            names.insert(0, name)
        elif now[name] != value:
            at = names.index(name)
            if isinstance(now[name], dict) and isinstance(value, dict):
                _merge(node.values[at], now[name], value, depth + 1)
            else:
                node.values[at] = _fresh(
                    value, node.values[at].wsc_before, node.values[at].wsc_after
                )


def _put_first(node: Any, name: str, value: Any, depth: int) -> None:
    """Insert a new pair before all others.

    Text after the last pair may be a comment that belongs to it.
    """
    import json

    from json5.loader import ModelLoader, loads

    key: Any = loads(json.dumps({name: 0}), loader=ModelLoader()).value.keys[0]
    indent = "\n" + "  " * depth
    key.wsc_before = [indent]
    if node.keys:
        node.keys[0].wsc_before = [*node.leading_wsc, *node.keys[0].wsc_before]
        node.leading_wsc = []
    elif node.leading_wsc and str(node.leading_wsc[-1]).isspace():
        node.leading_wsc.pop()
    made = _fresh(value, [" "], [] if node.keys else [indent[:-2]])
    node.keys.insert(0, key)
    node.values.insert(0, made)


def _fresh(value: Any, before: list[Any], after: list[Any]) -> Any:
    """Return a new node with the white space and comments of the one that it replaces."""
    import json

    from json5.loader import ModelLoader, loads

    made: Any = loads(json.dumps(value, ensure_ascii=False), loader=ModelLoader())
    made.value.wsc_before, made.value.wsc_after = before, after
    return made.value
