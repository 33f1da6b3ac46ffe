"""Shrink the embedding tables of a quantised ONNX model while it is loaded.

Such a model stores a table as int8 with a scale per row. Its graph converts the whole table to
float32 and then gathers the rows of the tokens. onnxruntime does the conversion once and stores the
result, which takes 47 MB for 30,000 tokens. ``gather_first`` changes the order: the rows are
gathered as int8 and then converted. The same numbers are multiplied, so the vectors are equal.

The file is read as protobuf messages (https://protobuf.dev/programming-guides/encoding, field
numbers from https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3), because the package ``onnx``
is not part of the installation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER = 1, 5
_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE, _NODE_ATTRIBUTE = 1, 2, 4, 5
_TENSOR_DIMS, _TENSOR_NAME = 1, 8


class _Field(NamedTuple):
    """A field of a message: its number, its first byte, and its value in ``data[start:end]``."""

    number: int
    begin: int
    start: int
    end: int


class _Node(NamedTuple):
    """An operation of the graph. ``attributes`` are encoded."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[bytes]

    @classmethod
    def of(cls, data: memoryview) -> _Node:
        parts: dict[int, list[bytes]] = {}
        for field in _fields(data):
            parts.setdefault(field.number, []).append(bytes(data[field.start : field.end]))
        inputs, outputs, kind = (
            [name.decode() for name in parts.get(number, [])]
            for number in (_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE)
        )
        return cls("".join(kind), inputs, outputs, parts.get(_NODE_ATTRIBUTE, []))

    def encoded(self) -> bytes:
        """Return the node as a field of a graph."""
        parts = [
            *(_field(_NODE_INPUT, name.encode()) for name in self.inputs),
            *(_field(_NODE_OUTPUT, name.encode()) for name in self.outputs),
            _field(_NODE_TYPE, self.kind.encode()),
            *(_field(_NODE_ATTRIBUTE, value) for value in self.attributes),
        ]
        return _field(_GRAPH_NODE, b"".join(parts))


def gather_first(model: bytes) -> bytes:
    """Return a model that gathers the rows of its quantised tables before it converts them.

    Args:
        model: an ONNX file.

    Returns:
        The changed model, or *model* if it has no such table.

    Raises:
        ValueError: it is not an ONNX file.
    """
    data = memoryview(model)
    graph = next((field for field in _fields(data) if field.number == _MODEL_GRAPH), None)
    if graph is None:
        return model
    body = data[graph.start : graph.end]
    changed = _changed_graph(body)
    if changed is None:
        return model
    return b"".join([data[: graph.begin], _field(_MODEL_GRAPH, changed), data[graph.end :]])


def _changed_graph(data: memoryview) -> bytes | None:
    """Return the changed graph, or None if nothing is to be changed."""
    fields = list(_fields(data))
    nodes = {
        field.begin: _Node.of(data[field.start : field.end])
        for field in fields
        if field.number == _GRAPH_NODE
    }
    shapes = dict(
        _tensor(data[field.start : field.end])
        for field in fields
        if field.number == _GRAPH_INITIALIZER
    )
    made_by = {name: node for node in nodes.values() for name in node.outputs}
    uses = Counter(name for node in nodes.values() for name in node.inputs)
    replaced: dict[str, list[_Node]] = {}  # output of a gather -> the nodes instead of it
    unused: set[str] = set()  # outputs of the conversions of whole tables
    for node in nodes.values():
        if node.kind != "Gather" or uses[node.inputs[0]] != 1:
            continue
        product = made_by.get(node.inputs[0])
        cast = made_by.get(product.inputs[0]) if product and product.kind == "Mul" else None
        if product is None or cast is None or cast.kind != "Cast" or uses[cast.outputs[0]] != 1:
            continue
        table, scale = cast.inputs[0], product.inputs[1]
        rows = shapes.get(table, ())[:1]
        if not rows or shapes.get(scale) != (*rows, 1):
            continue
        replaced[node.outputs[0]] = _gathered_first(node, cast, table, scale)
        unused |= {cast.outputs[0], product.outputs[0]}
    if not replaced:
        return None
    parts: list[bytes | memoryview] = []
    for field in fields:
        now = nodes.get(field.begin)
        if now is None or not (unused | replaced.keys()).intersection(now.outputs):
            parts.append(data[field.begin : field.end])
        else:
            parts += [node.encoded() for node in replaced.get(now.outputs[0], [])]
    return b"".join(parts)


def _gathered_first(gather: _Node, cast: _Node, table: str, scale: str) -> list[_Node]:
    """Return the nodes that gather rows of *table* and *scale*, and multiply them."""
    (out,), places = gather.outputs, gather.inputs[1]
    rows, floats, scales = f"{out}_rows", f"{out}_floats", f"{out}_scales"
    return [
        _Node("Gather", [table, places], [rows], gather.attributes),
        _Node("Gather", [scale, places], [scales], gather.attributes),
        _Node("Cast", [rows], [floats], cast.attributes),
        _Node("Mul", [floats, scales], [out], []),
    ]


def _tensor(data: memoryview) -> tuple[str, tuple[int, ...]]:
    """Return the name and the shape of a tensor; () if the shape is encoded in another way."""
    name, shape = "", []
    for field in _fields(data):
        if field.number == _TENSOR_NAME:
            name = bytes(data[field.start : field.end]).decode()
        elif field.number == _TENSOR_DIMS:
            place = field.start
            while place < field.end:  # packed, or one number in a field
                size, place = _varint(data, place)
                shape.append(size)
    return name, tuple(shape)


def _fields(data: memoryview) -> Iterator[_Field]:
    place = 0
    while place < len(data):
        begin = place
        key, place = _varint(data, place)
        kind = key & 7
        if kind == _BYTES:
            size, start = _varint(data, place)
        elif kind in (_FIXED64, _FIXED32):
            size, start = 8 if kind == _FIXED64 else 4, place
        elif kind == _VARINT:
            start = place
            size = _varint(data, place)[1] - place
        else:
            raise ValueError("not an ONNX file")
        place = start + size
        if place > len(data):
            raise ValueError("the ONNX file is cut off")
        yield _Field(key >> 3, begin, start, place)


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    """Return a number and the place after it."""
    value = shift = 0
    while True:
        if place >= len(data):
            raise ValueError("the ONNX file is cut off")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _field(number: int, value: bytes) -> bytes:
    """Encode a field with bytes."""
    return _number(number << 3 | _BYTES) + _number(len(value)) + value


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
