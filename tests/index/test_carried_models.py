"""The models that the installation carries are the files that this version was tested with."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import embed, models

CARRIED = [model.name for model in models.KNOWN.values() if model.is_carried]


def test_the_default_model_is_carried():
    assert models.DEFAULT in CARRIED


@pytest.mark.parametrize("name", CARRIED)
def test_weights_have_the_recorded_hash_and_a_notice(tmp_path, name):
    files = models.find(Home(tmp_path), name)
    assert files.model.sha256 and models.verify(files)
    notice = files.onnx.with_name("NOTICE").read_text()
    assert "icense" in notice and files.model.sha256 in " ".join(notice.split())


@pytest.mark.parametrize("name", CARRIED)
def test_a_paraphrase_is_nearer_than_another_topic(tmp_path, name):
    embedder = embed.load(Home(tmp_path), EmbeddingSettings(model=name))
    query = embedder.query("how long do cached values live?")
    near, far = embedder.passages(
        ["- Entries of the Redis cache expire after 15 minutes", "- The logo is blue now"]
    )
    assert embedder.dimension == 384 and near @ query > far @ query + 0.05
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "fingerprint", ["all-minilm-l6-v2-d7668958", "e5-small-v2-b0df206a"], ids=CARRIED
)
def test_vectors_of_earlier_homes_stay_valid(tmp_path, fingerprint):
    files = models.find(Home(tmp_path), fingerprint.rpartition("-")[0])
    assert embed.fingerprint(files) == fingerprint


def test_the_conversion_of_the_weights_leaves_vectors_equal(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, floats, ints = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    rng = np.random.default_rng(7)
    table = rng.integers(-128, 128, (50, 8), dtype=np.int8)
    scale = rng.random((50, 1), dtype=np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["table"], ["whole"], to=floats),
            helper.make_node("Mul", ["whole", "scale"], ["scaled"]),
            helper.make_node("Gather", ["scaled", "ids"], ["out"]),
        ],
        "table",
        [helper.make_tensor_value_info("ids", ints, [1, None])],
        [helper.make_tensor_value_info("out", floats, [1, None, 8])],
        [
            onnx.numpy_helper.from_array(table, "table"),
            onnx.numpy_helper.from_array(scale, "scale"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    before = model.SerializeToString()
    script = models.find(Home(tmp_path), models.DEFAULT).onnx.with_name("convert.py")
    runpy.run_path(str(script))["gather_first"](model.graph)
    assert [node.op_type for node in model.graph.node] == ["Gather", "Gather", "Cast", "Mul"]
    ids = {"ids": np.array([[0, 49, 7, 7]])}
    was, now = (
        onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, ids)[0]
        for data in (before, model.SerializeToString())
    )
    assert np.array_equal(was, now)


def test_changed_weights_are_noticed(tmp_path: Path):
    files = models.find(Home(tmp_path), models.DEFAULT)
    changed = tmp_path / "model.onnx"
    changed.write_bytes(files.onnx.read_bytes()[:-1])
    assert not models.verify(models.ModelFiles(files.model, changed, files.tokenizer))


def test_a_model_that_is_loaded_early_is_taken_once_and_only_with_its_settings(tmp_path):
    home = Home(tmp_path).ensure()
    embed.load_early(home)
    loading = embed._early[0]
    assert embed.load(home, EmbeddingSettings()) is loading.result()[1]
    embed.load_early(home)
    other = embed.load(home, EmbeddingSettings(model="e5-small-v2"))
    assert isinstance(other, embed.OnnxEmbedder) and other.model.name == "e5-small-v2"
    assert not embed._early
