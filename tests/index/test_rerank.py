"""A cross-encoder reads the best hits again. Here a tiny one: it likes a text for each of a few
words in it, and knows no other.
"""

from __future__ import annotations

import pytest
from memsearch_engine.core.errors import Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.index.rerank import CrossEncoder

from tests.conftest import Box, until

onnx = pytest.importorskip("onnx")  # of the multilingual extra
pytestmark = pytest.mark.slow
WORDS = ["[PAD]", "[UNK]", "[SEP]", "websocket", "handshake", "blue"]


@pytest.fixture(params=["one output", "two outputs"])
def folder(tmp_path, request):
    """score = 4 for each known word of the note, less 2; the question's own words count for
    nothing.
    """
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    made = tmp_path / "cross"
    made.mkdir()
    tokenizer.save(str(made / "tokenizer.json"))
    likes = np.array([0, 0, 0, 4, 4, 4], np.float32)
    nodes = [
        helper.make_node("Gather", ["likes", "input_ids"], ["each"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "second"], ["of_the_note"]),
        helper.make_node("ReduceSum", ["of_the_note", "axes"], ["sum"], keepdims=1),
        helper.make_node("Sub", ["sum", "two"], ["logit"]),
    ]
    if request.param == "two outputs":
        nodes += [
            helper.make_node("Neg", ["logit"], ["no"]),
            helper.make_node("Concat", ["no", "logit"], ["logits"], axis=1),
        ]
    out = "logits" if request.param == "two outputs" else "logit"
    constants = {"likes": likes, "axes": np.array([1], np.int64), "two": np.array([2], np.float32)}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1, None])
        for name in ("input_ids", "token_type_ids")
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, [1, None])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
        str(made / "model.onnx"),
    )
    return made


def test_it_reads_question_and_note_together(folder, tmp_path):
    reads = CrossEncoder(Home(tmp_path / "home"), str(folder))
    none, one, both = reads.score(
        "websocket handshake", ["nothing", "the websocket", "a websocket handshake"]
    )
    assert none < 0.5 < one < both


def test_the_best_hits_are_put_in_its_order(box: Box, folder):
    box.fill()
    box.index()
    before = box.ok("search", "redis ttl seconds login", "--json").json["hits"]
    assert "Redis" in before[0]["content"]
    box.ok("config", "set", "search.rerank", str(folder))
    hits = until(
        lambda: (
            (h := box.ok("search", "redis ttl seconds login", "--json", "--explain").json["hits"])
            and "read" in h[0]["scores"]
            and h
        )
    )
    assert "websocket handshake" in hits[0][
        "content"
    ] and "read beside the question: " in "; ".join(hits[0]["reasons"])
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    (folder / "model.onnx").write_bytes(b"no model")
    box.ok("service", "stop")
    assert (
        "Redis" in box.ok("search", "redis ttl seconds login", "--json").json["hits"][0]["content"]
    )
    assert "cross-encoder" in box.run("health").out + box.run("doctor").out


def test_what_is_not_here_says_how_to_get_it(tmp_path):
    home = Home(tmp_path / "home").ensure()
    with pytest.raises(UsageError, match="no cross-encoder"):
        CrossEncoder(home, "nobody")
    with pytest.raises(Unreachable) as refused:
        CrossEncoder(home, "ms-marco-minilm-l6")
    assert "memsearch models pull ms-marco-minilm-l6" in refused.value.hint
