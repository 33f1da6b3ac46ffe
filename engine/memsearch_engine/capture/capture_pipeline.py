"""From a finished turn to an entry, its archived evidence and a row in the ledger. Hooks, imports and
reconciling all end here.

Idempotent on (agent, session, turn). The entry is written first: the rest can be made again.
"""

from __future__ import annotations

import os
import re
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

import msgspec

from memsearch_engine.actions.index import Actions
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import Session, Turn
from memsearch_engine.capture import summaries
from memsearch_engine.capture.clean import redacted
from memsearch_engine.capture.extract import extract, is_trivial
from memsearch_engine.capture.ledger import Ledger, Outcome, SeenTurn
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.projects import locate
from memsearch_engine.core.repository import current_branch
from memsearch_engine.core.settings import Settings
from memsearch_engine.injection import injection_log, usage
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import Anchor, Waits, branch_said
from memsearch_engine.journal.parse import turn_id
from memsearch_engine.journal.write import Journal, Skipped

_JUST_S = 600.0
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


class CapturedTurn(msgspec.Struct, frozen=True):
    """What became of a turn.

    Attributes:
        memory: the memory folder that it belongs to.
        written: whether an entry was added now.
    """

    outcome: Outcome
    memory: str = ""
    entry_id: str = ""
    written: bool = False


class CapturePipeline:
    """Writes the turns of one home. Not to be shared between threads."""

    def __init__(
        self, home: Home, journal: Journal | None = None, settings: Settings | None = None
    ) -> None:
        self.home = home
        self.journal = journal or Journal(home)
        self.settings = settings or Settings()
        self.ledger = Ledger(home)
        self.archive = Archive(home) if self.settings.evidence.enabled else None
        self.actions = Actions(home)

    def close(self) -> None:
        self.ledger.close()
        self.actions.close()
        if self.archive:
            self.archive.close()

    def capture(
        self, turn: Turn, where: Session, *, memory: str = "", cwd: str = "", at: float = 0.0
    ) -> CapturedTurn:
        """Write *turn* into the memory of its folder.

        Args:
            memory: the memory folder where it is known already (``MEMSEARCH_DIR``, or the
                user's word).
            cwd, at: the folder and time to use where the turn names none.

        Raises:
            OSError, MemsearchError: the entry could not be written; it can be tried again.
        """
        when = local_time(turn.started) or datetime.fromtimestamp(at).astimezone()
        cwd = turn.cwd or cwd
        if ids := usage.cited(turn.assistant):
            usage.note(
                self.home,
                ids,
                "cited",
                agent=turn.agent,
                session=turn.session,
                turn=turn.turn,
                at=when.timestamp(),
            )
            injection_log.mark_cited(self.home, turn.agent, turn.session, ids)
        if turn.is_ours:
            return self._note(turn, when, cwd, CapturedTurn("ours"))
        memory = memory or home_of(cwd, self.home)
        self._supersede(turn, memory)
        if is_trivial(turn):
            return self._note(turn, when, cwd, CapturedTurn("trivial"))
        if not memory:
            return self._note(turn, when, cwd, CapturedTurn("homeless"), f"{cwd} is gone")
        clean = redacted(turn, self.home)
        anchor = Anchor(_id(turn.session), _id(turn.turn), turn.agent, where.kind, where.path)
        body = extract(clean)
        marks: dict[str, str] = (
            {"trust": Waits.OUTSIDE if turn.outside else Waits.SUSPECT}
            if turn.outside or orders(body)
            else {}
        )
        by_model = summaries.chosen(self.settings, turn.agent).provider != "extractive"
        if by_model:
            marks["summary"] = "pending"
        if branch := _branch(turn, cwd):
            marks["branch"] = branch
        if turn.replaced_by:
            marks["superseded-by"] = turn_id(turn.agent, anchor.session, _id(turn.replaced_by))
        day, time = when.date().isoformat(), when.strftime("%H:%M")
        added = self.journal.append_turn(
            memory, day, time, body, anchor, marks, aliases=turn.aliases, times=noted_at(turn)
        )
        if added.skipped is Skipped.DELETED:
            return self._note(turn, when, cwd, CapturedTurn("deleted", memory, added.entry_id))
        if not added.written and (
            newer := self.journal.refresh_turn(memory, anchor, turn.aliases, body, marks)
        ):
            added = newer
        if self.archive:
            try:
                self.archive.put(clean)
            except Unreachable:
                # the agent still has it; `memsearch agents evidence archive` makes up for it, and doctor
                # says so
                pass
        try:
            self.actions.put(clean, memory, added.entry_id, when.timestamp())
        except Unreachable:
            pass  # derived: the service makes up for it
        if by_model and added.written:
            summaries.enqueue(self.home, turn, memory, added.entry_id, added.path, where.path)
        return self._note(
            turn, when, cwd, CapturedTurn("captured", memory, added.entry_id, added.written)
        )

    def _supersede(self, turn: Turn, memory: str) -> None:
        """Mark the notes of the turns in whose place *turn* was sent."""
        session = _id(turn.session)
        for older in turn.replaces if memory else ():
            newer = turn_id(turn.agent, session, _id(turn.turn))
            self.journal.supersede_turn(memory, Anchor(session, _id(older), turn.agent), newer)

    @staticmethod
    def started(turn: Turn) -> float:
        """When the turn began, in seconds since 1970; 0 where it does not say."""
        when = local_time(turn.started)
        return when.timestamp() if when else 0.0

    def note_new(self, turn: Turn) -> None:
        """Note that a turn was seen and is not taken yet."""
        when = local_time(turn.started) or datetime.now().astimezone()
        self._note(turn, when, turn.cwd, CapturedTurn("new"))

    def note_failed(self, turn: Turn, reason: str) -> None:
        """Note that a turn could not be taken, and why. It is tried again."""
        when = local_time(turn.started) or datetime.now().astimezone()
        self._note(turn, when, turn.cwd, CapturedTurn("failed"), reason[:300])

    def _note(
        self, turn: Turn, when: datetime, cwd: str, kept: CapturedTurn, reason: str = ""
    ) -> CapturedTurn:
        day, started = when.date().isoformat(), when.timestamp()
        seen = SeenTurn(
            turn.agent, turn.session, turn.turn, day, cwd, kept.outcome, reason, started
        )
        self.ledger.note([seen])
        return kept


def _branch(turn: Turn, cwd: str) -> str:
    """The branch that a turn ran on: the one that is checked out where it has just ended, else what
    its agent has noted.
    """
    ended = local_time(turn.ended) or local_time(turn.started)
    is_new = (
        ended is not None and abs((datetime.now().astimezone() - ended).total_seconds()) < _JUST_S
    )
    name = (current_branch(cwd) if is_new and os.path.isabs(cwd) else "") or turn.branch
    return branch_said(name)


def noted_at(turn: Turn) -> list[str]:
    """The minutes in which memsearch's stop script may have noted a turn: it wrote down the clock
    when the turn ended.
    """
    ended = local_time(turn.ended) or local_time(turn.started)
    if ended is None or not agent_registry.agent(turn.agent).noted_by_minute:
        return []
    return [(ended + timedelta(minutes=n)).strftime("%Y-%m-%d %H:%M") for n in range(-1, 3)]


def _id(text: str) -> str:
    """An id as it may stand in an anchor; one that is no id is known by its digest."""
    return text if _ID.fullmatch(text) else digest(text, size=12)


def home_of(cwd: str, home: Home) -> str:
    """The memory folder for turns of *cwd*; '' where the project's folder is gone (nothing is made
    anew for it).
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        return ""  # relative to what, nobody knows
    place = locate(cwd, home)
    return place.memory if os.path.isdir(place.root) else ""


def local_time(stamp: str) -> datetime | None:
    """An ISO time stamp in this machine's zone: the day under which a person looks for it. None
    where it is no time, or one at an end of the calendar, which has no place in every zone, nor
    minutes on both sides.
    """
    try:
        when = datetime.fromisoformat(stamp.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None
    return when if MINYEAR < when.year < MAXYEAR else None
