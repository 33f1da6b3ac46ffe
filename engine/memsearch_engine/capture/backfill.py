"""Imports old sessions: counts what would be written, and writes it.

A plan reads every session once and counts its turns. The import reads the new turns again, one at a
time, so that memory use does not grow with the sessions. Both can be stopped and repeated, because
a turn always gives the same entry.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import msgspec

from memsearch_engine.agents.transcripts.evidence import shortened
from memsearch_engine.agents.transcripts.locate import all_sessions, open_session, unknown_files
from memsearch_engine.agents.transcripts.model import Conversation, Session, Turn
from memsearch_engine.capture.capture_pipeline import (
    CapturedTurn,
    CapturePipeline,
    home_of,
    local_time,
    noted_at,
)
from memsearch_engine.capture.extract import why_trivial
from memsearch_engine.capture.ledger import SeenTurn, TurnOutcome
from memsearch_engine.capture.preparing import PreparedTurn
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.core.projects import locate
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.turns import key_of_turn

_MAX_TOKENS = 6000  # the longest input of a summary of one turn


class ImportSelection(msgspec.Struct, frozen=True):
    """Selects the turns to import.

    Attributes:
        agents: names of agents.
        since: the first day (``YYYY-MM-DD``).
        memory: import only the turns of this memory folder.
        orphans: a project folder for turns whose folder no longer exists; ``""`` to skip them.
    """

    agents: tuple[str, ...]
    since: str = ""
    memory: str = ""
    orphans: str = ""


class Count(msgspec.Struct):
    """Counts of an agent's sessions and turns.

    Attributes:
        summarisers: sessions in which memsearch asked a model.
        new: turns that an import writes.
        known: turns that are already captured.
        homeless: turns whose folder no longer exists.
        left_out: turns that the choice excludes.
        tokens: input of the summaries of the new turns.
    """

    sessions: int = 0
    subagents: int = 0
    summarisers: int = 0
    turns: int = 0
    new: int = 0
    known: int = 0
    trivial: int = 0
    homeless: int = 0
    left_out: int = 0
    tokens: int = 0
    first_day: str = ""
    last_day: str = ""


class SessionTurns(msgspec.Struct, frozen=True):
    """The new turns of a session."""

    where: Session
    turns: list[str]


class ImportPlan(msgspec.Struct):
    """The plan of an import.

    Attributes:
        counts: agent -> counts.
        work: (start of the session, its new turns), in the order in which they happened.
        failed: (session, reason) of sessions that can't be read.
        gone: missing project folder -> number of its turns.
        passed_over: agent -> kind -> number of records that are damaged or of an unknown kind.
        not_read: (path, reason) of files that seem to be sessions and are none that their agent's
            reader knows.
    """

    counts: dict[str, Count]
    work: list[tuple[str, SessionTurns]]
    failed: list[tuple[str, str]]
    gone: dict[str, int]
    passed_over: dict[str, dict[str, int]] = {}
    not_read: list[tuple[str, str]] = []

    @property
    def new(self) -> int:
        """The number of turns that an import writes."""
        return sum(len(work.turns) for _, work in self.work)


class ImportReport(msgspec.Struct):
    """The result of an import.

    Attributes:
        written, known, skipped: numbers of turns.
        failed: (turn, reason).
        memories: the memory folders that were written.
    """

    written: int = 0
    known: int = 0
    skipped: int = 0
    failed: list[tuple[str, str]] = []
    memories: list[str] = []


Progress = Callable[[str, int, int], None]


def plan(
    home: Home,
    pipeline: CapturePipeline,
    folders: AgentFolders,
    choice: ImportSelection,
    progress: Progress | None = None,
    *,
    changed_only: bool = False,
) -> ImportPlan:
    """Read all sessions of the chosen agents, and count their turns. Only the ledger is written.

    Args:
        progress: called with phase, done and total.
        changed_only: skip sessions that are as the ledger last recorded them.
    """
    made = ImportPlan({agent: Count() for agent in choice.agents}, [], [], {})
    found = [
        where for agent in choice.agents for where in all_sessions(agent, folders, made.failed)
    ]
    if not changed_only:
        for agent in choice.agents:
            made.not_read += unknown_files(agent, folders)
    if changed_only:
        found = pipeline.ledger.changed(found)
    planned: set[str] = set()
    for number, where in enumerate(found):
        if progress:
            progress("reading", number, len(found))
        try:
            conversation = open_session(where, home.offsets)
            known = pipeline.outcomes(conversation)
            _count(pipeline, conversation, choice, made, planned, known)
        except OSError as error:
            made.failed.append((f"{where.path} {where.session}", error.strerror or str(error)))
        except Exception as error:  # one damaged session must not stop the import
            made.failed.append(
                (f"{where.path} {where.session}", f"{type(error).__name__}: {error}"[:200])
            )
    made.work.sort(key=lambda item: item[0])
    return made


def _count(
    pipeline: CapturePipeline,
    conversation: Conversation,
    choice: ImportSelection,
    made: ImportPlan,
    planned: set[str],
    known: dict[str, TurnOutcome],
) -> None:
    """Add the turns of a session to the plan, and record those that the ledger does not know."""
    if conversation.is_ephemeral:
        return
    where, home = conversation.where, pipeline.home
    count = made.counts[where.agent]
    _record_session(pipeline, conversation, made)
    if conversation.parent:
        count.subagents += 1
        return
    new: list[str] = []
    start = ""
    notes: list[SeenTurn] = []
    memory_of = cache(partial(home_of, home=home))
    for number, turn in enumerate(conversation.each()):
        if turn.is_ours:
            if number == 0:  # a session in which memsearch asked a model
                count.summarisers += 1
                return
            continue  # a user's text that begins like such a prompt: the other turns are the user's
        when = local_time(turn.started)
        day = when.date().isoformat() if when else ""
        if choice.since and day < choice.since:
            count.left_out += 1
            continue
        memory = memory_of(turn.cwd)
        if not memory and choice.orphans:
            memory = locate(choice.orphans, home).memory
        if choice.memory and memory != choice.memory:
            count.left_out += 1
            continue
        before = known.get(turn.turn)
        outcome = _outcome(pipeline, turn, memory, before, planned)
        _tally(made, where.agent, turn, outcome, day)
        if outcome == "new":
            start = start or turn.started
            new.append(turn.turn)
        # a turn that capture skipped is not missed, also if a newer version would capture it
        if outcome != before and before != "trivial":
            name, cwd, why = turn.turn, turn.cwd, why_trivial(turn)
            started = when.timestamp() if when else 0.0
            notes.append(SeenTurn(where.agent, turn.session, name, day, cwd, outcome, why, started))
    pipeline.ledger.note(notes)
    count.sessions += 1
    if new:
        made.work.append((start, SessionTurns(where, new)))


def _tally(made: ImportPlan, agent: str, turn: Turn, outcome: str, day: str) -> None:
    count = made.counts[agent]
    count.turns += 1
    name = outcome if outcome in ("trivial", "homeless", "new") else "known"
    setattr(count, name, getattr(count, name) + 1)
    if outcome == "homeless":
        made.gone[turn.cwd] = made.gone.get(turn.cwd, 0) + 1
    elif outcome == "new":
        count.tokens += tokens_of(turn)
        count.first_day = min(filter(None, (count.first_day, day)), default="")
        count.last_day = max(count.last_day, day)


def _record_session(
    pipeline: CapturePipeline, conversation: Conversation, made: ImportPlan
) -> None:
    """Record a session in the ledger, and its unknown records in the plan."""
    where, unknown = conversation.where, conversation.unknown
    pipeline.ledger.note_session(conversation)
    if not unknown:
        return
    kinds = made.passed_over.setdefault(where.agent, {})
    for kind, number in unknown.items():
        kinds[kind] = kinds.get(kind, 0) + number
    if not conversation.ids:
        number = sum(unknown.values())
        reason = f"no turn was found, and {number} records are damaged or of unknown kinds"
        made.not_read.append((where.path, reason))


def _outcome(
    pipeline: CapturePipeline,
    turn: Turn,
    memory: str,
    before: TurnOutcome | None,
    planned: set[str],
) -> TurnOutcome:
    """Return what an import does with a turn. *before*: its outcome in the ledger."""
    if why_trivial(turn):
        return "trivial"
    if not memory:  # a captured or deleted turn was imported into another folder
        return before if before in ("captured", "deleted") else "homeless"
    if pipeline.journal.is_deleted(Anchor(turn.session, turn.turn, turn.agent), turn.aliases):
        return "deleted"
    return "captured" if _is_known(pipeline, memory, turn, planned) else "new"


def run(
    pipeline: CapturePipeline,
    made: ImportPlan,
    choice: ImportSelection,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> ImportReport:
    """Write the planned turns, session by session, oldest first.

    Args:
        progress: called with phase, done and total.
        stop: asked before each turn.
    """
    report = ImportReport(failed=[], memories=[])
    total, done = made.new, 0
    if made.work:
        pipeline.preparer.start()  # another pipeline may have made the plan
    orphans = locate(choice.orphans, pipeline.home).memory if choice.orphans else ""
    for _, work in made.work:
        where = work.where
        try:
            conversation = open_session(where, pipeline.home.offsets)
        except OSError as error:
            report.failed.append((where.path, error.strerror or str(error)))
            continue
        memory_of = cache(lambda cwd: home_of(cwd, pipeline.home) or orphans)
        try:
            with pipeline.journal.synced_at_end():
                read = partial(_read, pipeline, conversation, report=report)
                for turns in pipeline.preparer.ahead(map(read, work.turns)):
                    if stop and stop():
                        return report
                    if progress:
                        progress("writing", done, total)
                    done += 1
                    for turn, prepared in turns:
                        _write(pipeline, where, turn, prepared, memory_of, report)
        except MemsearchError as error:  # its notes may not be on the disk
            report.failed.append((where.path, str(error)))
            _note_failed(pipeline, where, work.turns, error)
    return report


def _read(
    pipeline: CapturePipeline, conversation: Conversation, name: str, report: ImportReport
) -> list[Turn]:
    """Return one turn of a session; nothing if it is gone or can't be read."""
    try:
        return pipeline.turn_at(conversation, conversation.find(name))
    except (OSError, MemsearchError) as error:
        _fail(pipeline, conversation.where, name, error, report)
        return []


def _write(
    pipeline: CapturePipeline,
    where: Session,
    turn: Turn,
    prepared: PreparedTurn | None,
    memory_of: Callable[[str], str],
    report: ImportReport,
) -> None:
    """Write one turn of a session, and count it."""
    try:
        memory = memory_of(turn.cwd)
        captured = pipeline.capture(
            turn, where, memory=memory, at=where.modified, prepared=prepared
        )
        _count_turn(report, captured)
    except (OSError, MemsearchError) as error:
        _fail(pipeline, where, turn.turn, error, report)


def _fail(
    pipeline: CapturePipeline, where: Session, name: str, error: Exception, report: ImportReport
) -> None:
    report.failed.append((f"{where.path} turn {name}", str(error)))
    _note_failed(pipeline, where, [name], error)


def _note_failed(
    pipeline: CapturePipeline, where: Session, turns: list[str], error: Exception
) -> None:
    """Record that turns of a session could not be written. They are tried again."""
    pipeline.ledger.note(
        SeenTurn(where.agent, where.session, turn, "", "", "failed", str(error)) for turn in turns
    )


def _count_turn(report: ImportReport, captured: CapturedTurn) -> None:
    if captured.written:
        report.written += 1
        if captured.memory not in report.memories:
            report.memories.append(captured.memory)
    elif captured.outcome == "captured":
        report.known += 1
    else:
        report.skipped += 1


def tokens_of(turn: Turn) -> int:
    """Return the number of tokens of a turn in a summary's input."""
    text = (
        turn.user
        + turn.assistant
        + "".join(tool.input + shortened(tool.output) for tool in turn.tools)
    )
    return min(estimate(text), _MAX_TOKENS)


def agents_here(folders: AgentFolders) -> list[str]:
    """Return the agents that have sessions on this machine."""
    return [agent for agent in agent_registry.names() if folders.here(agent)]


def _is_known(pipeline: CapturePipeline, memory: str, turn: Turn, planned: set[str]) -> bool:
    """Whether a turn is captured or already planned. If it is not, it is added to *planned*.

    A copy of the turn in a forked session is therefore planned only once.
    """
    anchor = Anchor(turn.session, turn.turn, turn.agent)
    key = f"{memory} {key_of_turn(anchor)}"
    look = memory not in planned
    planned.add(memory)
    text = "\n".join((turn.user, turn.assistant, *(call.input for call in turn.tools)))
    known = pipeline.journal.turns(memory).has(
        anchor, turn.aliases, noted_at(turn), text=text, look=look
    )
    if known or key in planned:
        return True
    planned.add(key)
    return False
