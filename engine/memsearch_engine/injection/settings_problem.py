"""Finds what is wrong with the owner's settings, as one line for the start of a session."""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import load, secret
from memsearch_engine.core.settings_schema import Settings


def settings_problem(home: str) -> str:
    """Return why the settings are not in effect, or which API key is missing; ``""`` for neither.

    Args:
        home: the folder of the home.
    """
    try:
        return missing_key(load(Home(Path(home))))
    except MemsearchError as error:
        return f"nothing is captured or injected: {error}"


def missing_key(settings: Settings) -> str:
    """Return one line that names a missing API key of the settings; ``""`` if none is missing.

    Local models need no key.
    """
    if settings.embedding.provider not in ("onnx", "local"):
        # imported here: most homes never need it
        from memsearch_engine.index.embed_http import key_of

        try:
            key_of(settings.embedding)
        except MemsearchError as error:
            return str(error)
    asked = {
        settings.capture.summarize.provider,
        settings.longterm.extract.provider,
        settings.longterm.consolidate.provider,
    }
    for name in sorted(asked & settings.llm.providers.keys()):
        key = settings.llm.providers[name].api_key
        if key.startswith("env:") and not secret(key):
            return f"`llm.providers.{name}.api_key`: {key[4:]} is not set"
    return ""
