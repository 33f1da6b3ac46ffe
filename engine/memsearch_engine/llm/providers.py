"""One question to one model: an API that speaks OpenAI's or Anthropic's protocol, or the command line of an agent.

Text in, text out: no tools, no session, no hooks. The question goes by standard input or in a request's body, never as an
argument; what comes back is untrusted, and its caller checks it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from typing import Any

import msgspec

from memsearch_engine.errors import MemsearchError, SettingsError
from memsearch_engine.llm.tokens import estimate
from memsearch_engine.settings import Llm, Provider, secret

_BASES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}
_RETRIABLE = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_MOST_ANSWER = 4 * 1024 * 1024
#: Agents that can answer one question without a trace, and the small model that each is asked with.
NATIVE = {"claude-code": "haiku", "codex": "", "opencode": ""}


class ModelError(MemsearchError):
    """No answer. ``again``: whether asking later may help (a limit, a time-out, a server's fault)."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


class Reply(msgspec.Struct, frozen=True):
    """``counted``: whether the tokens are the service's own count, or our estimate."""

    text: str
    input_tokens: int
    output_tokens: int
    counted: bool = True


def complete(
    llm: Llm, provider: str, system: str, question: str, *, agent: str = "", model: str = "", max_tokens: int = 600
) -> Reply:
    """Ask a model.

    Args:
        provider: ``native`` (then *agent* names the command line), or a name under ``llm.providers``.
        model: instead of the provider's own.
        max_tokens: of the answer, where the protocol can limit it.

    Raises:
        SettingsError: the provider is not configured.
        ModelError: it gave no answer.
    """
    if provider == "native":
        return _native(agent, model, system, question, llm.timeout_s)
    known = llm.providers.get(provider)
    if known is None:
        raise SettingsError(
            f"no model provider `{provider}`",
            f"memsearch config set llm.providers.{provider}.model NAME, and .base_url",
        )
    if not (model or known.model):
        raise SettingsError(f"`llm.providers.{provider}.model` is not set")
    return _over_http(known, model or known.model, system, question, max_tokens, llm.timeout_s)


# -- HTTP ---------------------------------------------------------------------------------------------------


def _over_http(provider: Provider, model: str, system: str, question: str, max_tokens: int, timeout_s: float) -> Reply:
    base = (provider.base_url or _BASES[provider.type]).rstrip("/")
    key = secret(provider.api_key or f"env:{provider.type.upper()}_API_KEY")
    headers = {"Content-Type": "application/json"}
    said = [{"role": "user", "content": question}]
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    if provider.type == "anthropic":
        url = f"{base}/messages"
        headers |= {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
        body |= {"system": system, "messages": said}
    else:
        url = f"{base}/chat/completions"
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        body |= {"messages": [{"role": "system", "content": system}, *said]}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            answer = json.loads(response.read(_MOST_ANSWER))
    except urllib.error.HTTPError as error:
        text = error.read(500).decode("utf-8", "replace")
        raise ModelError(f"{url} answered {error.code}: {text[:200]}", again=error.code in _RETRIABLE) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{url}: {error}", again=True) from error
    try:
        text = _text(provider.type, answer)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelError(f"{url} sent an answer of an unknown shape", again=False) from error
    usage = answer.get("usage") or {}
    counts = [usage.get(name) for name in ("input_tokens", "prompt_tokens", "output_tokens", "completion_tokens")]
    given, made = counts[0] or counts[1], counts[2] or counts[3]
    return Reply(
        text,
        given if isinstance(given, int) else estimate(system + question),
        made if isinstance(made, int) else estimate(text),
        isinstance(given, int),
    )


def _text(kind: str, answer: Any) -> str:
    """The answer's text; a thinking block in front of it is passed over."""
    if kind == "anthropic":
        return "\n".join(block["text"] for block in answer["content"] if block.get("type") == "text")
    content = answer["choices"][0]["message"].get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


# -- command lines ------------------------------------------------------------------------------------------


def _native(agent: str, model: str, system: str, question: str, timeout_s: float) -> Reply:
    if agent not in NATIVE:
        raise ModelError(f"{agent or 'this agent'} has no command line that answers without a trace", again=False)
    program = shutil.which({"claude-code": "claude"}.get(agent, agent))
    if not program:
        raise ModelError(f"the command line of {agent} is not on the PATH", again=False)
    model = model or NATIVE[agent]
    if agent == "claude-code":
        argv = ["-p", "--safe-mode", "--strict-mcp-config", "--tools", "", "--no-session-persistence", "--no-chrome",
                "--output-format", "json", "--system-prompt", system]  # fmt: skip
        stdin = question
    elif agent == "codex":
        argv = ["exec", "--ephemeral", "--skip-git-repo-check", "--disable", "hooks", "-s", "read-only", "--json"]
        stdin = f"{system}\n\n{question}"
    else:
        argv = ["run", "--pure", "--format", "json"]
        stdin = f"{system}\n\n{question}"
    argv += ["--model" if agent != "codex" else "-m", model] if model else []
    argv += ["-"] if agent == "codex" else []
    # hooks of ours do nothing in it; and it is no session inside the session that it is about
    environment = {
        name: value for name, value in os.environ.items() if name not in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
    }
    environment["MEMSEARCH_DISABLE"] = "1"
    with tempfile.TemporaryDirectory(prefix="memsearch-") as empty:
        try:
            done = subprocess.run(
                [os.path.abspath(program), *argv], input=stdin.encode(), capture_output=True, cwd=empty, env=environment,
                timeout=timeout_s, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise ModelError(f"{agent} did not answer within {timeout_s:.0f} s", again=True) from error
        except OSError as error:
            raise ModelError(f"{agent} can't be started: {error}", again=False) from error
    out = done.stdout[:_MOST_ANSWER].decode("utf-8", "replace")
    if done.returncode:
        words = (done.stderr.decode("utf-8", "replace").strip() or out.strip())[-200:]
        raise ModelError(f"{agent} ended with {done.returncode}: {words}", again=True)
    text, given, made = (_claude_said if agent == "claude-code" else _said_by_lines)(out)
    if not text.strip():
        raise ModelError(f"{agent} gave an empty answer", again=True)
    counted = given > 0
    return Reply(text, given or estimate(system + question), made or estimate(text), counted)


def _claude_said(out: str) -> tuple[str, int, int]:
    """``claude --output-format json``: one object, or a list whose last element is the result."""
    try:
        value = json.loads(out)
    except ValueError as error:
        raise ModelError(f"claude sent an answer of an unknown shape: {out[:100]}", again=True) from error
    result = value[-1] if isinstance(value, list) and value else value
    if not isinstance(result, dict):
        return "", 0, 0
    if result.get("is_error"):
        raise ModelError(f"claude: {str(result.get('result'))[:200]}", again=True)
    usage = result.get("usage") or {}
    given = sum(
        int(usage.get(name) or 0) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    return str(result.get("result") or ""), given, int(usage.get("output_tokens") or 0)


def _said_by_lines(out: str) -> tuple[str, int, int]:
    """The event lines of ``codex exec --json`` and ``opencode run --format json``."""
    texts, given, made = [], 0, 0
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        item, part, usage = event.get("item") or {}, event.get("part") or {}, event.get("usage") or {}
        if item.get("type") == "agent_message":
            texts.append(str(item.get("text") or ""))
        elif event.get("type") == "text":
            texts.append(str(part.get("text") or ""))
        given += int(usage.get("input_tokens") or 0)
        made += int(usage.get("output_tokens") or 0)
    return "\n".join(texts), given, made
