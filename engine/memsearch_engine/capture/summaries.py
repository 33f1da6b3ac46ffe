"""Replaces extractive entries by a model's summaries, unless somebody has edited them.

The extractive entry is written at once and marked ``summary:pending``. The answer of the model is
checked before it is written. After an error or an invalid answer, the summary is tried again with
growing pauses. After ``_TRIES``, the extractive entry stays. Tokens are limited per turn and per
day.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import known_folders, open_anchor
from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.core.errors import (
    Conflict,
    MemsearchError,
    NotFound,
    SettingsError,
    Unreachable,
    UsageError,
)
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.llm import cli, spend
from memsearch_engine.core.llm.providers import ModelError, complete
from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.safe_text import plain
from memsearch_engine.core.settings import Settings, Summarize
from memsearch_engine.core.state import change_state, state_rows, using
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import Target
from memsearch_engine.journal.text import escape_block
from memsearch_engine.journal.write import Journal

PURPOSE = "summary"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS summaries (
  agent TEXT NOT NULL, session TEXT NOT NULL,\
 turn TEXT NOT NULL, memory TEXT NOT NULL, path TEXT NOT NULL,
  entry_id TEXT NOT NULL, hash TEXT NOT NULL,\
 transcript TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  tries INTEGER NOT NULL, next_at REAL NOT NULL, PRIMARY KEY (agent, session, turn)) WITHOUT ROWID;
"""
_TRIES = 6
_FIRST_PAUSE_S = 30.0
_ANSWER_TOKENS = 500
_MAX_FOREIGN = 24_000  # characters of a turn that another tool recorded
_TOOL_CHARS = 400  # characters of a tool's output in a prompt
_BULLET = re.compile(r"^\s{0,3}(?:[-*•]|\d+[.)])\s+(.*\S)\s*$")
_FIRST_PERSON = re.compile(r"^(?:I|I'm|I'll|I've|We|Let me|Sure|Here)\b|^(?:我|好的)", re.I)
_NO_SUMMARY = re.compile(
    r"rate.?limit|usage limit|quota|too many requests|overloaded|"
    r"credit balance|as an ai|i can(?:no|')t (?:help|assist)|"
    r"api error|invalid api key|please provide|no conversation",
    re.I,
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class SummaryJob(msgspec.Struct, frozen=True):
    """A summary to write.

    Attributes:
        path: the day file.
        hash: the hash of the entry that the summary replaces.
        transcript: the path of the session.
        tries: the number of failed tries.
    """

    agent: str
    session: str
    turn: str
    memory: str
    path: str
    entry_id: str
    hash: str
    transcript: str
    tries: int = 0


def chosen(settings: Settings, agent: str) -> Summarize:
    """Return the summarizer of an agent: from memsearch's table, or else ``capture.summarize``."""
    own = settings.plugins.get(agent)
    found = own.summarize if own and own.summarize else settings.capture.summarize
    asks = found.enabled and not (
        found.provider == cli.PROVIDER and not cli.can_ask(agent)
    )  # the agent's program can't run without its tools
    return found if asks else msgspec.structs.replace(found, provider="extractive")


def is_off(settings: Settings, agent: str) -> bool:
    """Whether the owner has switched off the capture of an agent with memsearch's setting.

    It is ``plugins.<agent>.summarize.enabled = false``.
    """
    own = settings.plugins.get(agent)
    return bool(own and own.summarize and not own.summarize.enabled)


def enqueue(home: Home, turn: Turn, memory: str, entry_id: str, path: str, transcript: str) -> None:
    """Queue a model's summary of an entry. It is dropped if the entry changes before."""
    entry = read_day(path).find(entry_id)
    if entry is None:
        return
    values = (
        turn.agent,
        turn.session,
        turn.turn,
        memory,
        path,
        entry_id,
        entry.hash,
        transcript,
    )
    change_state(
        home,
        _SCHEMA,
        "INSERT INTO summaries (agent, session, turn, memory, path, "
        "entry_id, hash, transcript, state, reason, tries, next_at) "
        "VALUES (?,?,?,?,?,?,?,?,'waiting','',0,0) ON CONFLICT (agent, session, turn) "
        "DO UPDATE SET "
        "hash=excluded.hash, entry_id=excluded.entry_id, "
        "path=excluded.path, state='waiting', reason='', tries=0, next_at=0",
        values,
    )


def waiting(home: Home) -> dict[str, int]:
    """Return the number of jobs by state: waiting, done, kept (the entry was edited), failed."""
    return dict(state_rows(home, _SCHEMA, "SELECT state, count(*) FROM summaries GROUP BY state"))


def failures(home: Home, limit: int = 50) -> list[dict[str, str]]:
    """Return the failed summaries, newest first, each with the reason."""
    columns = ("agent", "session", "turn", "entry_id", "state", "reason", "tries")
    rows = state_rows(
        home,
        _SCHEMA,
        f"SELECT {', '.join(columns)} FROM summaries "
        "WHERE reason <> '' AND state IN ('waiting','failed') ORDER BY next_at DESC LIMIT ?",
        (limit,),
    )
    return [dict(zip(columns, row)) for row in rows]


def retry(home: Home) -> int:
    """Queue all waiting and failed jobs for now, and return how many."""
    return change_state(
        home,
        _SCHEMA,
        "UPDATE summaries SET state='waiting', tries=0, next_at=0 "
        "WHERE state IN ('waiting','failed')",
    )


def work(home: Home, journal: Journal, settings: Settings, *, limit: int = 20) -> list[str]:
    """Write the summaries that are due, and return the memory folders that changed."""
    changed: list[str] = []
    for _ in range(limit):
        job = _next(home)
        if job is None:
            break
        try:
            state, reason = _summarise(home, journal, settings, job), ""
        except ModelError as error:
            state, reason = ("again" if error.again else "failed"), str(error)
        except (MemsearchError, OSError) as error:
            state, reason = (
                ("failed" if isinstance(error, SettingsError | NotFound) else "again"),
                str(error),
            )
        if state == "budget":
            _settle(home, job, "waiting", "the day's tokens are used up", time.time() + 3600)
            break
        if state == "again":
            last = job.tries + 1 >= _TRIES
            pause = _FIRST_PAUSE_S * 4**job.tries
            _settle(home, job, "failed" if last else "waiting", reason, time.time() + pause)
            if last:
                _unmark(journal, job)
            continue
        if state == "failed":
            _unmark(journal, job)
        elif state == "done" and job.memory not in changed:
            changed.append(job.memory)
        _settle(home, job, state, reason, 0.0)
    return changed


def _next(home: Home) -> SummaryJob | None:
    """Claim the job that is due longest. A claim expires after five minutes."""
    now = time.time()
    with using(home, _SCHEMA) as db, transaction(db):
        row = db.execute(
            "SELECT agent, session, turn, memory, path, entry_id, hash, transcript, tries "
            "FROM summaries "
            "WHERE state='waiting' AND next_at <= ? ORDER BY next_at LIMIT 1",
            (now,),
        ).fetchone()
        if row:
            db.execute(
                "UPDATE summaries SET next_at=? WHERE agent=? AND session=? AND turn=?",
                (now + 300, *row[:3]),
            )
    return SummaryJob(*row) if row else None


def _settle(home: Home, job: SummaryJob, state: str, reason: str, next_at: float) -> None:
    change_state(
        home,
        _SCHEMA,
        "UPDATE summaries SET state=?, reason=?, tries=tries+1, next_at=? "
        "WHERE agent=? AND session=? AND turn=?",
        (state, reason[:300], next_at, job.agent, job.session, job.turn),
    )


def _summarise(home: Home, journal: Journal, settings: Settings, job: SummaryJob) -> str:
    """Summarize one turn.

    Returns:
        ``done``, ``kept`` (the entry was edited or deleted) or ``budget``.

    Raises:
        ModelError: the model gave no valid answer.
    """
    who = chosen(settings, job.agent)
    if who.provider == "extractive":
        raise SettingsError("summaries by a model are switched off")
    entry = read_day(job.path).find(job.entry_id) if os.path.exists(job.path) else None
    if entry is None or entry.hash != job.hash:
        return "kept"
    system = prompt(home)
    question = _question(
        _turn(home, job), settings.capture.per_turn_tokens - estimate(system) - _ANSWER_TOKENS
    )
    cost = estimate(system + question) + _ANSWER_TOKENS
    if spend.today(home, PURPOSE) + cost > settings.capture.daily_tokens:
        return "budget"
    reply = complete(
        settings.llm,
        who.provider,
        system,
        question,
        agent=job.agent,
        model=who.model,
        max_tokens=_ANSWER_TOKENS,
    )
    spend.note(
        home,
        settings.llm,
        reply,
        purpose=PURPOSE,
        provider=who.provider,
        model=who.model,
        agent=job.agent,
    )
    body = checked(reply.text, question, home)
    try:
        journal.upgrade(job.memory, Target(job.path, job.entry_id, job.hash), body)
    except (Conflict, NotFound):
        return "kept"
    return "done"


def bullets_of(home: Home, settings: Settings, agent: str, text: str, name: str = "") -> str:
    """Summarize a turn that another tool recorded, with the model that is configured for *agent*.

    Args:
        text: the turn, as that tool writes it. Secrets are removed before it is sent.
        name: how the prompt names the agent, if the prompt contains its name.

    Returns:
        Markdown bullets.

    Raises:
        UsageError: no model under ``llm.providers`` is configured for this agent.
        ModelError, SettingsError: the model gave no valid answer, or the daily budget is used up.
    """
    who = chosen(settings, agent)
    if who.provider in ("", "extractive", cli.PROVIDER):
        named = (
            ", ".join(settings.llm.providers)
            or "none is set up yet: memsearch config set llm.providers.NAME.model MODEL"
        )
        raise UsageError(
            f"plugins.{agent}.summarize.provider is {who.provider or 'not set'}: "
            "here a model of `llm.providers` is asked",
            f"memsearch config set plugins.{agent}.summarize.provider NAME ({named})",
        )
    from memsearch_engine.secrets.scan import redact

    system = prompt(home).replace("{{AGENT_NAME}}", name or agent)
    question = f"<turn>\n{_short(redact(plain(text), home)[0], _MAX_FOREIGN)}\n</turn>"
    tokens = estimate(system + question) + _ANSWER_TOKENS
    booked = spend.reserve(
        home,
        purpose=PURPOSE,
        provider=who.provider,
        model=who.model,
        agent=agent,
        tokens=tokens,
        cap=settings.capture.daily_tokens,
    )
    if not booked:
        raise Unreachable(
            f"the day's {settings.capture.daily_tokens:,} tokens are used up",
            "memsearch config set capture.daily_tokens N",
        )
    try:
        reply = complete(
            settings.llm,
            who.provider,
            system,
            question,
            agent=agent,
            model=who.model,
            max_tokens=_ANSWER_TOKENS,
        )
    except (ModelError, SettingsError) as error:
        outcome = error if isinstance(error, ModelError) else ModelError(str(error), again=False)
        spend.settle(home, settings.llm, booked, who.provider, outcome)
        raise
    spend.settle(home, settings.llm, booked, who.provider, reply)
    return checked(reply.text, question, home)


def _unmark(journal: Journal, job: SummaryJob) -> None:
    """Remove the mark ``summary:pending`` after the last try: the extractive entry stays."""
    with contextlib.suppress(MemsearchError, OSError):
        journal.upgrade(job.memory, Target(job.path, job.entry_id, job.hash), None)


def _turn(home: Home, job: SummaryJob) -> Turn:
    """Return the turn from the archive, which has no secrets, or else from the agent."""
    archived = Archive(home).get(job.agent, job.session, job.turn)
    if archived is not None:
        return archived
    folders = AgentFolders.from_env(seen=known_folders(home))
    found = open_anchor(
        job.agent, job.session, job.turn, job.transcript, folders, context=0, cache=home.offsets
    )
    from memsearch_engine.capture.clean import redacted

    return redacted(found.turns[found.index], home)


def prompt(home: Home) -> str:
    """Return the instructions: the user's (``MEMSEARCH_HOME/prompts/summarise.md``) or ours."""
    own = home.root / "prompts" / "summarise.md"
    path = own if own.is_file() else Path(__file__).parent / "prompts" / "summarise.md"
    return path.read_text(encoding="utf-8").strip()


def _question(turn: Turn, max_tokens: int) -> str:
    """Return the turn as text with roles. The longest parts are shortened until it fits."""
    limit = 24_000
    while True:
        asked = [f"[Agent had asked] {_short(turn.in_reply_to, limit)}"] if turn.in_reply_to else []
        lines = ["<turn>", *asked, f"[User] {_short(turn.user, limit)}"]
        for tool in turn.tools:
            lines.append(f"[Agent calls {tool.name}] {_short(tool.input, min(limit, 600))}")
            if tool.output.strip():
                lines.append(
                    f"[{'Failed' if tool.failed else 'Output'}] "
                    f"{_short(tool.output, min(limit, _TOOL_CHARS))}"
                )
        lines += [
            f"[Agent] {_short(turn.assistant, limit)}",
            f"[Turn was {turn.status}]",
            "</turn>",
        ]
        text = plain("\n".join(lines))
        if estimate(text) <= max_tokens or limit < 100:
            return text
        limit = limit * 2 // 3


def _short(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} […] {text[-limit // 3 :]}"


def checked(text: str, question: str, home: Home) -> str:
    """Check a model's answer, and return its bullets in a form that is safe in a day file.

    Raises:
        ModelError: it is not a summary: it has no bullets, too many, the first person, an error
            message, or another language.
    """
    bullets = [m[1] for line in plain(text).splitlines() if (m := _BULLET.match(line))]
    if not 1 <= len(bullets) <= 10:
        raise ModelError(f"the answer has {len(bullets)} bullets", again=True)
    if _NO_SUMMARY.search(" ".join(bullets)) and len(bullets) == 1:
        raise ModelError("the answer is an error text, not a summary", again=True)
    if sum(bool(_FIRST_PERSON.match(bullet)) for bullet in bullets) * 2 > len(bullets):
        raise ModelError("the answer talks to the user instead of noting", again=True)
    asked = question.partition("[User]")[2].partition("\n[")[0]
    if len(_CJK.findall(asked)) * 4 > len(asked.strip()) and not _CJK.search(" ".join(bullets)):
        raise ModelError("the answer is not in the user's language", again=True)
    from memsearch_engine.secrets.scan import redact

    clean = redact("\n".join(f"- {bullet[:600]}" for bullet in bullets), home)[0]
    return escape_block(clean)
