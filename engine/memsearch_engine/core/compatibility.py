"""memsearch's settings, read from the file that both programs share (``~/.memsearch/config.toml``).

A setting with another meaning here is translated, with words on the difference. A setting without
meaning here is accepted silently and answered to scripts. Keys and defaults are those of memsearch
0.4.23.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

#: memsearch's tasks. Its agent ``dsh``, which is unknown here, has settings for them, too.
_TASKS: dict[str, dict[str, Any]] = {
    "project_review": {"output_file": ".memsearch/PROJECT.md"},
    "user_profile": {"output_file": ".memsearch/USER.md"},
    "memory_to_skill": {"min_occurrences": 3, "paths": []},
}
#: memsearch's settings that have no meaning here: key -> default.
KEYS: dict[str, Any] = {
    "milvus.collection": "memsearch_chunks",
    "chunking.max_chunk_size": 1500,
    "chunking.overlap_lines": 2,
    "reranker.model": "",
    "compact.llm_model": "",
    "compact.llm_provider": "openai",
    **{f"llm.{name}": "" for name in ("provider", "model", "base_url", "api_key")},
    **{f"prompts.{name}": "" for name in ("compact", "summarize")},
    **{
        f"plugins.dsh.{task}.{name}": value
        for task, more in _TASKS.items()
        for name, value in {
            "enabled": False,
            "provider": "native",
            "model": "",
            "min_interval_hours": 24,
            "input_dir": ".memsearch/memory",
            **more,
        }.items()
    },
}
#: memsearch's settings for digests -> ours. Of several for one of ours, the last one counts.
_COMPACT = {
    "compact.llm_provider": "compact.provider",
    "compact.llm_model": "compact.model",
    "llm.provider": "compact.provider",
    "llm.model": "compact.model",
    "llm.base_url": "compact.base_url",
    "llm.api_key": "compact.api_key",
    "prompts.compact": "compact.prompt_file",
}
#: memsearch's keys that a project's file may set.
PROJECT_KEYS = ("milvus.collection", "chunking.max_chunk_size", "chunking.overlap_lines")
#: The embedding providers that memsearch's flag ``-p`` names.
PROVIDERS = ("onnx", "openai", "google", "voyage", "jina", "mistral", "ollama", "local")
#: memsearch's further types of a provider. Both use the protocol of OpenAI.
PROVIDER_TYPES = ("openai-compatible", "gemini")
_NOT_RERANKED = "hits are not reranked: on its evaluation set that made most searches worse"
_SERVER = re.compile(r"(?i)(?:https?|tcp|unix):")
_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"
_HUB_MODEL = re.compile(r"[\w.-]+/[\w.-]+$")


def translated(flat: dict[str, Any], known_model: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Translate settings.

    Args:
        known_model: name -> whether that model is here.

    Returns:
        Our settings by dotted key, and for each translated key what happens instead.
    """
    found: dict[str, Any] = {}
    remarks: dict[str, str] = {}
    for key, value in flat.items():
        if key == "chunking.max_chunk_size" and isinstance(value, int):
            found.setdefault("chunking.max_chars", max(200, min(value, 20_000)))
        elif key in _COMPACT and isinstance(value, str) and value and _COMPACT[key] not in flat:
            found[_COMPACT[key]] = _last_of(flat, _COMPACT[key])
        elif key in KEYS:
            if key == "reranker.model" and value:
                remarks[key] = _NOT_RERANKED
        elif key == "milvus.uri" and isinstance(value, str) and value and not _SERVER.match(value):
            found[key] = ""
            if not value.endswith("/.memsearch/milvus.db"):
                remarks[key] = (
                    f"{value} is not opened: "
                    "the index of this product lies in its own home folder, without an open port"
                )
        elif key == "embedding.provider" and value in ("local", ""):
            found[key] = "onnx"
            if value:
                remarks[key] = "sentence-transformers is not used: the built-in ONNX model is"
        elif key == "embedding.model" and isinstance(value, str) and _HUB_MODEL.match(value):
            is_onnx = flat.get("embedding.provider", "onnx") in ("onnx", "local", "")
            is_missing = is_onnx and not known_model(value)
            if is_missing:
                remarks[key] = (
                    f"{value} is not here: "
                    "the built-in model is used (`memsearch models list` has others)"
                )
            found[key] = "" if is_missing else value
        elif key.startswith("llm.providers.") and key.endswith(".type"):
            found |= _provider_type(key, value, flat)
        elif key.startswith("plugins.") and key.endswith(".summarize.provider") and value == "":
            continue  # the agent's own model there; here nothing is asked before the owner says so
        else:
            found[key.replace("plugins.claude_code.", "plugins.claude-code.")] = value
    own = flat.get("prompts.compact")
    if isinstance(own, str) and own:  # takes precedence over `compact.prompt_file`, a key of both
        found["compact.prompt_file"] = own
    return found, remarks


def _last_of(flat: dict[str, Any], ours: str) -> str:
    """The value of the last of memsearch's keys that stand for one of ours."""
    values = [flat.get(name) for name, own in _COMPACT.items() if own == ours]
    return [value for value in values if isinstance(value, str) and value][-1]


def collection_of(folder: str) -> str:
    """Return the suffix of the collection name that memsearch's plugins use for a folder.

    Args:
        folder: the project's folder, or the value of ``MEMSEARCH_DIR``.
    """
    import hashlib

    return hashlib.sha256(folder.encode()).hexdigest()[:8]


def plain_query(text: str) -> str:
    """A query of memsearch's tools as plain words: they know no filters."""
    words = [
        word.lstrip("-").replace(":", " ") if ":" in word or word.startswith("-") else word
        for word in text.split()
    ]
    return " ".join(words).replace('"', " ")


def note_indexed(folder: str) -> None:
    """Update memsearch's own note on the index of a ``.memsearch`` folder, if there is one.

    Its hooks warn of a stale index as long as the note says so.
    """
    from memsearch_engine.core import safe_files

    path = os.path.join(folder, ".index-state.json")
    with contextlib.suppress(OSError, ValueError):
        state = json.loads(safe_files.read(path, safe_files.MAX_SETTINGS))
        if not isinstance(state, dict) or state.get("status") == "ok":
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        state |= dict.fromkeys(("updated_at", "last_completed_at", "last_success_at"), now)
        state |= {"status": "ok", "last_error": None, "failed_files": []}
        safe_files.put(path, json.dumps(state, indent=2).encode())


def urges_its_upgrade(home: Path, version: str) -> bool:
    """Whether memsearch's hooks will urge the user to ``pip install --upgrade memsearch``.

    That would replace our command. They compare our version with the newest of theirs that they
    have looked up (``.pypi-latest``).
    """
    try:
        newest = (home / ".pypi-latest").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return False
    return newest not in ("", version)


def _provider_type(key: str, value: Any, flat: dict[str, Any]) -> dict[str, Any]:
    """Translate the type of a provider. A provider without a type has the type of its name."""
    table, name = key.removesuffix(".type"), key.split(".")[2]
    of_name = name if name in ("openai", "anthropic") else "openai"
    found = {key: "openai" if value in PROVIDER_TYPES else value or of_name}
    needs_address = value == "gemini" and f"{table}.base_url" not in flat
    return found | ({f"{table}.base_url": _GEMINI} if needs_address else {})
