"""The models that the installation carries are the files that this version was tested with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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
    notice = (files.onnx if files.model.source == "data" else files.tokenizer).with_name("NOTICE")
    assert "icense" in notice.read_text()


@pytest.mark.parametrize("name", CARRIED)
def test_a_paraphrase_is_nearer_than_another_topic(tmp_path, name):
    embedder = embed.load(Home(tmp_path), EmbeddingSettings(model=name))
    query = embedder.query("how long do cached values live?")
    near, far = embedder.passages(
        ["- Entries of the Redis cache expire after 15 minutes", "- The logo is blue now"]
    )
    assert embedder.dimension == 384 and near @ query > far @ query + 0.05
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)


def test_changed_weights_are_noticed(tmp_path: Path):
    files = models.find(Home(tmp_path), models.DEFAULT)
    changed = tmp_path / "model.onnx"
    changed.write_bytes(files.onnx.read_bytes()[:-1])
    assert not models.verify(models.ModelFiles(files.model, changed, files.tokenizer))
