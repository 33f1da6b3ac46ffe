"""Strict local stand-ins for the hosted embedding and chat APIs, written from the providers' public
contracts.

Every fake refuses what its service refuses, with the service's own status and error body, so that a
client that passes here has sent only requests the service is documented (or, where the
documentation is silent, reported) to take. Rules name their source in the docstring of the class or
in a comment next to the rule; those marked *assumed* have none. Tokens are counted as characters /
4: real services refuse sooner where text is code, numbers or CJK.

Interface shared by all fakes:

* ``url``: the base URL in the form a preset holds it, e.g. ``http://127.0.0.1:1234/v1``.
* ``api_key``: the one key the fake takes.
* ``requests``: what arrived, as ``Request(path, headers, body)``; header names in lower case.
* ``arrivals``: ``time.monotonic()`` of each request.
* ``violations``: one line for each request that broke the contract, with the status it got.
* ``ignored``: fields that the service takes without a word and without effect.
* ``failures``: a queue of ``Failure(status, headers, body)`` answered first, before any check.
* ``limit(times, seconds, form)``: the next requests meet the provider's own 429.
* ``early``: how many seconds before the end of a ``Retry-After`` a request came back; empty is
  good.
* ``close()``.

Tokens are approximated as a quarter of the characters, rounded up. Real tokenizers count more for
code, for numbers and for other scripts than English, so a client that only just fits here may be
refused by the service.
"""

from __future__ import annotations

from tests.index.provider_fakes.anthropic import AnthropicFake as AnthropicFake
from tests.index.provider_fakes.base import Failure as Failure
from tests.index.provider_fakes.base import Fake as Fake
from tests.index.provider_fakes.google import GeminiFake as GeminiFake
from tests.index.provider_fakes.jina import JinaFake as JinaFake
from tests.index.provider_fakes.mistral import MistralFake as MistralFake
from tests.index.provider_fakes.ollama import OllamaFake as OllamaFake
from tests.index.provider_fakes.openai import OpenAIChatFake as OpenAIChatFake
from tests.index.provider_fakes.openai import OpenAIFake as OpenAIFake
from tests.index.provider_fakes.openai import openai_error as openai_error
from tests.index.provider_fakes.voyage import VoyageFake as VoyageFake

EMBEDDINGS: dict[str, type[Fake]] = {
    "openai": OpenAIFake,
    "google": GeminiFake,
    "voyage": VoyageFake,
    "jina": JinaFake,
    "mistral": MistralFake,
    "ollama": OllamaFake,
}
