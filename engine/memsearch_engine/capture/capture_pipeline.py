"""Writes a finished turn: its entry, its archived copy, and its row in the ledger.

Hooks, imports and reconciliation use it. It is idempotent on (agent, session, turn). The entry is
written first, because everything else can be restored from the transcript.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

import msgspec

from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import Conversation, Session, Turn
from memsearch_engine.capture import summaries
from memsearch_engine.capture.extract import in_context, why_trivial
from memsearch_engine.capture.ledger import CaptureLedger, SeenTurn, TurnOutcome
from memsearch_engine.capture.preparing import PreparedTurn, TurnPreparer, prepare
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import locate
from memsearch_engine.core.repository import current_branch
from memsearch_engine.core.settings import Settings
from memsearch_engine.injection import injection_log
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import Anchor, QuarantineReason, safe_branch
from memsearch_engine.journal.parse import turn_id
from memsearch_engine.journal.targets import Skipped
from memsearch_engine.journal.write import Journal

_JUST_S = 600.0
_MAX_BACK = 100  # the newest turns of a session, which may be there again after a rewind
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


class CapturedTurn(msgspec.Struct, frozen=True):
    """The result of capturing a turn.

    Attributes:
        memory: the memory folder of the turn.
        written: whether an entry was added now.
    """

    outcome: TurnOutcome
    memory: str = ""
    entry_id: str = ""
    written: bool = False


class CapturePipeline:
    """Captures the turns of one home. Not thread-safe."""

    def __init__(
        self, home: Home, journal: Journal | None = None, settings: Settings | None = None
    ) -> None:
        self.home = home
        self.journal = journal or Journal(home)
        self.settings = settings or Settings()
        self.ledger = CaptureLedger(home)
        self.archive = Archive(home) if self.settings.evidence.enabled else None
        self.actions = ActionIndex(home)
        self.preparer = TurnPreparer(home)

    def close(self) -> None:
        """Close what the pipeline has opened."""
        self.preparer.close()
        self.ledger.close()
        self.actions.close()
        if self.archive:
            self.archive.close()

    def turn_at(self, conversation: Conversation, place: int) -> list[Turn]:
        """Return the turn at *place* of a session; nothing if the session was shortened meanwhile.

        A short reply gets its question. The turn replaces captured turns that a rewind has deleted.
        """
        found = in_context(conversation, place)
        if found and agent_registry.agent(found[0].agent).rewind_erases:
            found[0].replaces = list(self._erased(conversation, place, self.started(found[0])))
        return found

    def _erased(
        self, conversation: Conversation, place: int, until: float = math.inf
    ) -> dict[str, str]:
        """Return turn -> folder for captured turns that a rewind deleted before *place*."""
        earlier = conversation.turns(place - 1, place) if place > 0 else []
        captured = self.ledger.captured_between(
            conversation.agent,
            conversation.session,
            self.started(earlier[0]) if earlier else 0.0,
            until,
        )
        present = {*conversation.ids, *conversation.aliases}
        return {name: cwd for name, cwd in captured.items() if name not in present}

    def capture(
        self,
        turn: Turn,
        where: Session,
        *,
        memory: str = "",
        cwd: str = "",
        at: float = 0.0,
        prepared: PreparedTurn | None = None,
    ) -> CapturedTurn:
        """Capture *turn* into the memory folder of its project.

        Args:
            where: the session of the turn.
            memory: the memory folder, if it is already known (from ``MEMSEARCH_DIR`` or the user).
            cwd: the folder to use if the turn has none.
            at: the time to use if the turn has none, in seconds since 1970.
            prepared: what ``prepare`` makes of the turn, if it is known already.

        Raises:
            OSError, MemsearchError: the entry could not be written. It can be retried.
        """
        when = local_time(turn.started) or datetime.fromtimestamp(at).astimezone()
        cwd = turn.cwd or cwd
        self._note_citations(turn, when)
        if turn.is_ours:
            return self._note(turn, when, cwd, CapturedTurn("ours"))
        memory = memory or home_of(cwd, self.home)
        self._supersede(turn, memory)
        if why := why_trivial(turn):
            return self._note(turn, when, cwd, CapturedTurn("trivial"), why)
        if not memory:
            return self._note(turn, when, cwd, CapturedTurn("homeless"), f"{cwd} is gone")
        made = prepared or prepare(turn, self.journal)
        clean, body = made.turn, made.body
        anchor = Anchor(_id(turn.session), _id(turn.turn), turn.agent, where.kind, where.path)
        by_model = summaries.chosen(self.settings, turn.agent).provider != "extractive"
        marks = _marks(turn, body, cwd, by_model)
        day, time = when.date().isoformat(), when.strftime("%H:%M")
        added = self.journal.append_turn(
            memory,
            day,
            time,
            body,
            anchor,
            marks,
            aliases=turn.aliases,
            times=noted_at(turn),
            clean=made.clean,
        )
        if added.skipped is Skipped.DELETED:
            return self._note(turn, when, cwd, CapturedTurn("deleted", memory, added.entry_id))
        if not added.written and (
            newer := self.journal.refresh_turn(memory, anchor, turn.aliases, body, marks)
        ):
            added = newer
        if self.archive:
            # the agent still has the turn: `memsearch agents evidence archive` archives it, and
            # doctor reports it
            with contextlib.suppress(Unreachable):
                self.archive.put(clean)
        with contextlib.suppress(Unreachable):  # derived data: the service adds it later
            self.actions.put(clean, memory, added.entry_id, when.timestamp())
        if by_model and added.written:
            summaries.enqueue(self.home, turn, memory, added.entry_id, added.path, where.path)
        return self._note(
            turn, when, cwd, CapturedTurn("captured", memory, added.entry_id, added.written)
        )

    def _note_citations(self, turn: Turn, when: datetime) -> None:
        if ids := injection_log.cited(turn.assistant):
            injection_log.note_use(
                self.home,
                ids,
                "cited",
                agent=turn.agent,
                session=turn.session,
                turn=turn.turn,
                at=when.timestamp(),
            )
            injection_log.mark_cited(self.home, turn.agent, turn.session, ids)

    def _supersede(self, turn: Turn, memory: str) -> None:
        """Mark the notes of the turns that *turn* replaces, because the prompt was edited."""
        session = _id(turn.session)
        for older in turn.replaces if memory else ():
            newer = turn_id(turn.agent, session, _id(turn.turn))
            anchor = Anchor(session, _id(older), turn.agent)
            copies = agent_registry.agent(turn.agent).rewind_copies
            self.journal.mark_turn(memory, anchor, "superseded-by", newer, in_copies=copies)

    def mark_taken_back(self, conversation: Conversation) -> None:
        """Mark the notes of turns that the person took back while no other turn follows.

        Where a rewind deletes turns, those that are there again lose their marks.
        """
        found = {
            turn.turn: turn.cwd
            for place in conversation.taken_back()
            for turn in conversation.turns(place, place + 1)
        }
        # without a version, the session's beginning is lost, and nobody rewound it
        if agent_registry.agent(conversation.agent).rewind_erases and conversation.version:
            found |= self._erased(conversation, len(conversation.ids))
            for name in conversation.ids[-_MAX_BACK:]:
                if name not in found:
                    entry_id = turn_id(conversation.agent, _id(conversation.session), _id(name))
                    self.journal.unmark_turn(entry_id, "confidence", "low")
        for name, cwd in found.items():
            if memory := home_of(cwd, self.home):
                anchor = Anchor(_id(conversation.session), _id(name), conversation.agent)
                self.journal.mark_turn(memory, anchor, "confidence", "low")

    @staticmethod
    def started(turn: Turn) -> float:
        """Return when the turn began, in seconds since 1970; 0 if it has no time."""
        when = local_time(turn.started)
        return when.timestamp() if when else 0.0

    def outcomes(self, conversation: Conversation) -> dict[str, TurnOutcome]:
        """Return turn -> outcome for a session, also for turns with an older id in the ledger."""
        known = self.ledger.outcomes(conversation.where.agent, conversation.session)
        return {conversation.aliases.get(name, name): outcome for name, outcome in known.items()}

    def note_new(self, turn: Turn) -> None:
        """Record that a turn was seen and is not captured yet."""
        when = local_time(turn.started) or datetime.now().astimezone()
        self._note(turn, when, turn.cwd, CapturedTurn("new"))

    def note_failed(self, turn: Turn, reason: str) -> None:
        """Record that a turn could not be captured, and why. It is tried again."""
        when = local_time(turn.started) or datetime.now().astimezone()
        self._note(turn, when, turn.cwd, CapturedTurn("failed"), reason[:300])

    def _note(
        self, turn: Turn, when: datetime, cwd: str, captured: CapturedTurn, reason: str = ""
    ) -> CapturedTurn:
        day, started = when.date().isoformat(), when.timestamp()
        seen = SeenTurn(
            turn.agent, turn.session, turn.turn, day, cwd, captured.outcome, reason, started
        )
        self.ledger.note([seen])
        return captured


def _marks(turn: Turn, body: str, cwd: str, by_model: bool) -> dict[str, str]:
    """Return the marks of a turn's note."""
    marks: dict[str, str] = {}
    if turn.outside or orders(body):
        marks["trust"] = QuarantineReason.OUTSIDE if turn.outside else QuarantineReason.SUSPECT
    if by_model:
        marks["summary"] = "pending"
    if branch := _branch(turn, cwd):
        marks["branch"] = branch
    if turn.replaced_by:
        marks["superseded-by"] = turn_id(turn.agent, _id(turn.session), _id(turn.replaced_by))
    if turn.taken_back:
        marks["confidence"] = "low"  # it is not injected
    return marks


def _branch(turn: Turn, cwd: str) -> str:
    """Return the git branch of a turn.

    It is the branch that is checked out if the turn has just ended, or else the one in the
    transcript.
    """
    ended = local_time(turn.ended) or local_time(turn.started)
    is_new = (
        ended is not None and abs((datetime.now().astimezone() - ended).total_seconds()) < _JUST_S
    )
    name = (current_branch(cwd) if is_new and os.path.isabs(cwd) else "") or turn.branch
    return safe_branch(name)


def noted_at(turn: Turn) -> list[str]:
    """Return the minutes (``HH:MM``) under which memsearch's own stop script may have noted a turn.

    That script writes the time at which the turn ended.
    """
    ended = local_time(turn.ended) or local_time(turn.started)
    if ended is None or not agent_registry.agent(turn.agent).noted_by_minute:
        return []
    return [(ended + timedelta(minutes=n)).strftime("%Y-%m-%d %H:%M") for n in range(-1, 3)]


def _id(text: str) -> str:
    """Return an id that is valid in an anchor: *text* itself, or its digest if it is not valid."""
    return text if _ID.fullmatch(text) else digest(text, size=12)


def home_of(cwd: str, home: Home) -> str:
    """Return the memory folder for turns of *cwd*; ``""`` if the project's folder does not exist.

    A missing folder is not created. If the project was moved, and is known by its repository in its
    new folder, it is found there.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        return ""  # a relative path has no known base
    place = locate(cwd, home)
    if not os.path.isdir(place.root):
        try:
            with contextlib.closing(Registry(home)) as registry:
                place = locate(registry.moved_to(cwd) or cwd, home)
        except MemsearchError:  # the registry can't be read
            return ""
    return place.memory if os.path.isdir(place.root) else ""


def local_time(stamp: str) -> datetime | None:
    """Convert an ISO time stamp to local time, because a person looks for a turn by local day.

    Returns:
        None if it is not a time, or too close to an end of the calendar to be converted.
    """
    try:
        when = datetime.fromisoformat(stamp.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None
    return when if MINYEAR < when.year < MAXYEAR else None
