"""Quantised tables of a model are gathered first, and the vectors stay equal."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.index import embed_onnx, models
from memsearch_engine.index.onnx_tables import gather_first

TEXTS = ("redis", "The queue is called payouts", "缓存 失效 策略", "a b " * 400)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> models.ModelFiles:
    return models.find(Home(tmp_path_factory.mktemp("home")), models.DEFAULT)


def test_the_default_model_gets_smaller_and_its_vectors_stay_equal(files, monkeypatch):
    original = files.onnx.read_bytes()
    changed = gather_first(original)
    assert changed != original and abs(len(changed) - len(original)) < 10_000
    now = embed_onnx.OnnxEmbedder(files)
    monkeypatch.setattr(embed_onnx, "_graph", lambda files: str(files.onnx))
    before = embed_onnx.OnnxEmbedder(files)
    for text in TEXTS:
        assert np.array_equal(now.query(text), before.query(text))


def test_a_model_without_such_a_table_is_not_changed(files):
    once = gather_first(files.onnx.read_bytes())
    assert gather_first(once) is once
    assert onnxruntime.InferenceSession(once, providers=["CPUExecutionProvider"])
    assert gather_first(b"") == b""


@pytest.mark.parametrize("size", [1, 100, 5_000_000])
def test_a_file_that_is_cut_off_is_refused(files, size):
    with pytest.raises(ValueError, match=r"cut off|ONNX"):
        gather_first(files.onnx.read_bytes()[:size])
