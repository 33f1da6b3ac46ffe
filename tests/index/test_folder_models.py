"""A folder as ``embedding.model`` says in ``embedding.json`` how its vectors are made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from memsearch_engine.core.errors import SettingsError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import embed, models

TINY = Path(__file__).parent / "tiny_model"
#: The vocabulary of the tiny model. The vector of token n has a one at place n, zeros elsewhere.
WORDS = ["[UNK]", "[CLS]", "ask", "tell", "redis", "ttl"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy of the tiny model: an ONNX graph that looks token vectors up in a table."""
    return shutil.copytree(TINY, tmp_path / "tiny model")


@pytest.fixture
def load(folder, tmp_path):
    """Load the model of *folder* with the given ``embedding.json``, or without one."""

    def load(**settings) -> embed.Embedder:
        file = folder / models.FOLDER_SETTINGS
        file.write_text(json.dumps(settings)) if settings else file.unlink(missing_ok=True)
        return embed.load(Home(tmp_path / "home"), EmbeddingSettings(model=str(folder)))

    return load


def words_in(vector: np.ndarray) -> set[str]:
    return {WORDS[place] for place in np.flatnonzero(vector)}


def test_without_the_file_vectors_are_means_without_prefixes(load):
    model = load()
    assert words_in(model.query("redis ttl")) == {"[CLS]", "redis", "ttl"}
    assert words_in(model.passages(["redis ttl"])[0]) == {"[CLS]", "redis", "ttl"}


def test_pooling_prefixes_and_length_are_read(load):
    model = load(query_prefix="ask ", passage_prefix="tell ")
    assert words_in(model.query("redis")) == {"[CLS]", "ask", "redis"}
    assert words_in(model.passages(["redis"])[0]) == {"[CLS]", "tell", "redis"}
    assert words_in(load(pooling="cls").query("redis ttl")) == {"[CLS]"}
    assert words_in(load(max_tokens=2).query("redis ttl")) == {"[CLS]", "redis"}


def test_each_way_of_using_a_model_has_its_own_fingerprint(load, folder, tmp_path):
    ways = [{}, {"pooling": "cls"}, {"query_prefix": "ask "}, {"max_tokens": 128}]
    fingerprints = [load(**way).fingerprint for way in ways]
    assert len(set(fingerprints)) == len(ways)
    assert load(pooling="mean").fingerprint == fingerprints[0]  # what holds without the file
    settings = EmbeddingSettings(model=str(folder))
    assert embed.fingerprint_of(Home(tmp_path / "home"), settings) == fingerprints[0]


def test_a_folder_says_its_languages(load):
    assert embed.speaks(load(), "缓存保留多久")
    assert not embed.speaks(load(languages="English"), "缓存保留多久")


@pytest.mark.parametrize(
    "settings", [{"pooling": "max"}, {"max_tokens": 0}, {"prefix": "query: "}, {"pooling": 1}]
)
def test_a_mistake_in_the_file_is_named(load, settings):
    with pytest.raises(SettingsError, match=r"embedding\.json.*") as error:
        load(**settings)
    assert "query_prefix" in error.value.hint


def test_a_folder_without_weights_is_refused(folder, tmp_path):
    (folder / "model.onnx").unlink()
    with pytest.raises(Unreachable, match=r"model\.onnx is missing"):
        models.find(Home(tmp_path), str(folder))


def test_an_index_of_an_earlier_default_is_opened_with_its_own_model():
    unnamed = EmbeddingSettings()
    by_minilm = models.recorded("all-minilm-l6-v2-0c1d2e3f", unnamed)
    assert by_minilm.model == "all-minilm-l6-v2"
    assert models.recorded("my-folder-0c1d2e3f", unnamed) == unnamed
    named = EmbeddingSettings(model="/models/mine")
    assert models.recorded("all-minilm-l6-v2-0c1d2e3f", named) == named
    elsewhere = EmbeddingSettings(provider="openai")
    assert models.recorded("text-embedding-3-small-0c1d2e3f", elsewhere) == elsewhere
