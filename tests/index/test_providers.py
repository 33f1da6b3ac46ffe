"""The HTTP embedder against strict stand-ins of the services that it has presets for.

The stand-ins are written from the providers' documentation by another hand than the embedder. A
request that the service would refuse is a line in ``fake.violations``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import embed, embed_http

from tests.index.provider_fakes import (
    EMBEDDINGS,
    Failure,
    Fake,
    GeminiFake,
    JinaFake,
    MistralFake,
    OllamaFake,
)

PROVIDERS = list(EMBEDDINGS)
WITH_KEY = [name for name in PROVIDERS if name != "ollama"]
WITH_ROLES = ["voyage", "jina"]
#: A model of each provider that takes a wished dimension, and one that it takes.
SHORTER = {
    "openai": ("text-embedding-3-large", 256),
    "google": ("gemini-embedding-001", 768),
    "voyage": ("voyage-3.5", 256),
    "jina": ("jina-embeddings-v5-text-small", 128),
    "mistral": ("codestral-embed", 512),
    "ollama": ("embeddinggemma", 256),
}
ALL_MODELS = [(provider, model) for provider, fake in EMBEDDINGS.items() for model in fake.models]


@pytest.fixture(autouse=True)
def alone(monkeypatch) -> None:
    """No proxy, key or address of the machine's owner."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in [f"{provider.upper()}_API_KEY" for provider in PROVIDERS] + [
        "OPENAI_BASE_URL",
        "OLLAMA_HOST",
    ]:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def provider(request) -> str:
    return request.param


@pytest.fixture
def fake(provider: str) -> Iterator[Fake]:
    with EMBEDDINGS[provider]() as fake:
        yield fake


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """The waits between tries, not waited."""
    found: list[float] = []
    monkeypatch.setattr(embed_http.time, "sleep", found.append)
    return found


def load(fake: Fake, provider: str, tmp_path, **kwargs: Any) -> embed.Embedder:
    options = {"provider": provider, "base_url": fake.url, "api_key": fake.api_key, **kwargs}
    return embed.load(Home(tmp_path / "h"), EmbeddingSettings(**options))


def is_unit(vectors: np.ndarray) -> bool:
    return bool(np.allclose(np.linalg.norm(vectors, axis=-1), 1, atol=1e-5))


every = pytest.mark.parametrize("provider", PROVIDERS, indirect=True)
keyed = pytest.mark.parametrize("provider", WITH_KEY, indirect=True)


@every
def test_a_question_and_passages_with_the_defaults(fake, provider, tmp_path):
    embedder = load(fake, provider, tmp_path)
    preset = embed_http.PRESETS[provider][1]
    assert embedder.dimension == fake.models[preset].dimension
    asked = embedder.query("how long does the cache live?")
    found = embedder.passages(
        ["the cache lives 900 seconds", "部署脚本改用了蓝绿发布", "x = [1, 2]\n"]
    )
    assert asked.shape == (embedder.dimension,) and found.shape == (3, embedder.dimension)
    assert is_unit(asked) and is_unit(found)
    assert fake.violations == [] and getattr(fake, "ignored", []) == []


@every
def test_the_same_text_has_the_same_vector_wherever_it_stands(fake, provider, tmp_path):
    embedder = load(fake, provider, tmp_path)
    texts = [f"note {n}" for n in range(12)]
    found = embedder.passages(texts)
    turned = embedder.passages(texts[::-1])
    assert np.allclose(found, turned[::-1]) and not np.allclose(found[0], found[1])
    assert fake.violations == []


@every
def test_the_dimension_setting(fake, provider, tmp_path):
    model, dimension = SHORTER[provider]
    embedder = load(fake, provider, tmp_path, model=model, dimension=dimension)
    assert embedder.dimension == dimension
    assert embedder.query("hello").shape == (dimension,) and is_unit(embedder.passages(["a", "b"]))
    assert fake.violations == []


@pytest.mark.parametrize(("provider", "model"), ALL_MODELS, indirect=["provider"])
def test_every_known_model(fake, provider, model, tmp_path):
    embedder = load(fake, provider, tmp_path, model=model)
    assert embedder.dimension == fake.models[model].dimension
    if model.startswith("jina-code-embeddings"):
        assert embedder.query("hello").shape  # its words for the two roles are its own
    assert embedder.passages(["a", "b"]).shape == (2, embedder.dimension)
    assert fake.violations == []


@pytest.mark.slow
@every
def test_more_texts_than_a_batch(fake, provider, tmp_path):
    embedder = load(fake, provider, tmp_path)
    batch = embed_http.PRESETS[provider][2]
    texts = [f"note number {n}" for n in range(2 * batch + 3)]
    found = embedder.passages(texts)
    assert found.shape == (len(texts), embedder.dimension)
    assert [len(request.body["input"]) for request in fake.requests[1:]] == [batch, batch, 3]
    assert np.allclose(found[batch : batch + 2], embedder.passages(texts[batch : batch + 2]))
    assert fake.violations == []


@every
def test_passages_as_long_as_chunks_are(fake, provider, tmp_path):
    """A full batch of chunks of 1,500 characters is sent in requests that the service takes as they
    are.
    """
    embedder = load(fake, provider, tmp_path)
    texts = [f"{n} " + "word " * 300 for n in range(embed_http.PRESETS[provider][2])]
    assert embedder.passages(texts).shape == (len(texts), embedder.dimension)
    assert fake.violations == []


@every
def test_a_very_long_text(fake, provider, tmp_path, pauses):
    """A pasted log as the question: answered, or refused once; it doesn't take the texts beside it
    with it.
    """
    embedder = load(fake, provider, tmp_path)
    found = embedder.passages(["short", "line of a log\n" * 4000, "short too"])
    assert found.shape == (3, embedder.dimension)
    assert fake.violations == []


@every
def test_an_empty_text_among_others(fake, provider, tmp_path, pauses):
    embedder = load(fake, provider, tmp_path)
    assert embedder.passages(["a", "", "b"]).shape == (3, embedder.dimension)
    assert fake.violations == []


@pytest.mark.parametrize("provider", WITH_ROLES, indirect=True)
def test_questions_and_passages_have_vectors_of_their_own(fake, provider, tmp_path):
    embedder = load(fake, provider, tmp_path)
    asked, found = embedder.query("redis"), embedder.passages(["redis"])[0]
    assert not np.allclose(asked, found) and float(asked @ found) > 0.5
    assert fake.violations == []


@pytest.mark.parametrize(
    "provider", [name for name in PROVIDERS if name not in WITH_ROLES], indirect=True
)
def test_a_service_without_roles_gives_one_vector(fake, provider, tmp_path):
    embedder = load(fake, provider, tmp_path)
    assert np.allclose(embedder.query("redis"), embedder.passages(["redis"])[0])
    assert fake.violations == []


@every
def test_the_service_says_how_long_to_wait(fake, provider, tmp_path, pauses):
    embedder = load(fake, provider, tmp_path)
    fake.limit(times=2, seconds=7)
    assert embedder.query("hello").shape == (embedder.dimension,)
    assert len(pauses) == 2 and all(7 <= pause < 60 for pause in pauses)
    assert fake.violations == []


@every
def test_the_service_says_until_when_to_wait(fake, provider, tmp_path, pauses):
    """``Retry-After`` as a date (RFC 9110, 10.2.3)."""
    embedder = load(fake, provider, tmp_path)
    fake.limit(times=1, seconds=20, form="date")
    assert embedder.query("hello").shape == (embedder.dimension,)
    assert len(pauses) == 1 and 18 <= pauses[0] <= 22
    assert fake.violations == []


@pytest.mark.parametrize("provider", ["google"], indirect=True)
def test_the_service_says_in_the_body_how_long_to_wait(fake, provider, tmp_path, pauses):
    embedder = load(fake, provider, tmp_path)
    fake.limit(times=1, seconds=20, form="body")
    assert embedder.query("hello").shape == (embedder.dimension,)
    assert len(pauses) == 1 and 20 <= pauses[0] <= 22


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_a_wait_is_really_waited(fake, provider, tmp_path):
    embedder = load(fake, provider, tmp_path)
    fake.limit(times=1, seconds=1)
    embedder.query("hello")
    assert fake.early == [] and fake.arrivals[-1] - fake.arrivals[-2] >= 1


@every
def test_a_limit_that_does_not_end(fake, provider, tmp_path, pauses):
    embedder = load(fake, provider, tmp_path)
    fake.limit(times=100, seconds=1)
    with pytest.raises(Unreachable, match="429"):
        embedder.passages(["a", "b"])
    assert len(fake.requests) < 12


@every
def test_a_fault_of_the_service_passes(fake, provider, tmp_path, pauses):
    embedder = load(fake, provider, tmp_path)
    fake.failures.extend(
        [Failure(503, {}, b"upstream connect error"), Failure(500, {}, {"error": "internal"})]
    )
    assert embedder.query("hello").shape == (embedder.dimension,)
    assert len(pauses) == 2 and fake.violations == []


def wrong(fake: Fake) -> str:
    """A key of the right form that is not the right one."""
    return fake.api_key[:-4] + "XXXX"


@keyed
def test_a_wrong_key_is_named(fake, provider, tmp_path, pauses):
    with pytest.raises(Unreachable) as caught:
        load(fake, provider, tmp_path, api_key=wrong(fake))
    injected = f"{caught.value} {caught.value.hint}"
    assert f"{provider.upper()}_API_KEY" in injected and "embedding.api_key" in injected
    assert wrong(fake) not in injected
    assert len(fake.requests) == 1 and pauses == []


@keyed
def test_a_key_that_is_revoked_while_indexing(fake, provider, tmp_path, pauses):
    """One refusal is enough: the batch is not taken apart to find the text that the service
    dislikes.
    """
    embedder = load(fake, provider, tmp_path)
    before = len(fake.requests)
    fake.api_key = wrong(fake)
    with pytest.raises(Unreachable) as caught:
        embedder.passages([f"note {n}" for n in range(16)])
    assert f"{provider.upper()}_API_KEY" in f"{caught.value} {caught.value.hint}"
    assert len(fake.requests) - before == 1 and pauses == []


@keyed
def test_no_key(fake, provider, tmp_path, pauses):
    with pytest.raises(Unreachable) as caught:
        load(fake, provider, tmp_path, api_key="")
    assert f"{provider.upper()}_API_KEY" in f"{caught.value} {caught.value.hint}"
    assert len(fake.requests) == 1


@keyed
def test_the_key_from_the_environment(fake, provider, tmp_path, monkeypatch):
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", fake.api_key)
    assert load(fake, provider, tmp_path, api_key="").query("hello").shape
    assert fake.violations == []


@every
def test_an_unknown_model(fake, provider, tmp_path, pauses):
    with pytest.raises(Unreachable) as caught:
        load(fake, provider, tmp_path, model="no-such-model")
    assert "no-such-model" in str(caught.value) and len(fake.requests) == 1


def test_an_ollama_without_the_model(tmp_path, pauses):
    with (
        OllamaFake(pulled=["bge-m3"]) as fake,
        pytest.raises(Unreachable, match=r"nomic-embed-text.*not found"),
    ):
        load(fake, "ollama", tmp_path)


def test_a_dimension_that_mistral_embed_does_not_take(tmp_path, pauses):
    with MistralFake() as fake:
        with pytest.raises(Unreachable) as caught:
            load(fake, "mistral", tmp_path, dimension=1024)
        assert "output_dimension" in str(caught.value) and len(fake.requests) == 1


def test_a_dimension_that_ollama_passes_over(tmp_path):
    """More than the model has is no error there; what is reported is what the vectors have."""
    with OllamaFake() as fake:
        embedder = load(fake, "ollama", tmp_path, dimension=1024)
        assert embedder.dimension == 768 == embedder.query("hello").shape[0]


def test_gemini_shortened_vectors_are_made_units(tmp_path):
    with GeminiFake() as fake:
        embedder = load(fake, "google", tmp_path, dimension=768)
        assert is_unit(embedder.query("hello")) and is_unit(embedder.passages(["a", "b", "c"]))


def test_jina_without_balance_is_not_blamed_on_the_key(tmp_path, pauses):
    with JinaFake() as fake:
        embedder = load(fake, "jina", tmp_path)
        said = {
            "detail": "Insufficient account balance.",
            "code": "AUTHZ_INSUFFICIENT_BALANCE",
            "request_id": "1",
        }
        fake.failures.append(Failure(403, {}, said))
        with pytest.raises(Unreachable, match="balance") as caught:
            embedder.query("hello")
        assert not caught.value.hint.startswith("set JINA_API_KEY")
