"""Answer questions from the actions of agents.

The questions are how something is run, what fixed an error, and who changed a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from memsearch_engine.actions import work
from memsearch_engine.actions.index import ActionIndex, AgentAction

_WORDS = re.compile(r"[^\W_][\w.:/-]*")
_SMALL = frozenset(
    "a an and are as at be by do for from how i in is it of on or run the this to we what when "
    "which with".split()
)
_ENOUGH_ALIKE = 0.5  # least share of common words of two errors, or of two commands
_MAX_BETWEEN = 4
_MAX_WORDS = 30

NoteExists = Callable[[AgentAction], bool]


class CommandRuns(msgspec.Struct, kw_only=True):
    """A command that was run.

    Attributes:
        command: the command line.
        worked: number of runs that worked.
        failed: number of runs that failed.
        last: the newest run that worked, else the newest run.
        why: the words or the note by which it was found.
    """

    command: str
    worked: int
    failed: int
    last: AgentAction
    why: str = ""


class Fix(msgspec.Struct, kw_only=True):
    """An error and how it was fixed.

    Attributes:
        met: the command that failed with the error.
        alike: similarity to the error in question: 1 for the same error, less for a similar one.
        mended: the later run in the same session that worked; None if there was none.
        between: the files written and the commands that worked between ``met`` and ``mended``.
    """

    met: AgentAction
    alike: float
    mended: AgentAction | None = None
    between: list[AgentAction] = []

    @property
    def acts(self) -> list[AgentAction]:
        """The failed command, the actions after it and the run that worked, in order."""
        return [self.met, *self.between, *([self.mended] if self.mended else [])]

    @property
    def again(self) -> bool:
        """Whether the run that worked was the same command."""
        return self.mended is not None and self.mended.command == self.met.command

    def words(self) -> str:
        """A sentence about the fix; empty if no fix is known."""
        if self.mended is None:
            return ""
        worked = "it worked" if self.again else f"`{self.mended.command}` worked"
        done = [_description(act) for act in self.between[:_MAX_BETWEEN]]
        if len(self.between) > _MAX_BETWEEN:
            done.append(f"{len(self.between) - _MAX_BETWEEN} things more")
        if done:
            return f"{', '.join(done)}; then {worked}"
        return f"{worked} when run again" if self.again else worked


def _description(act: AgentAction) -> str:
    return (
        f"edited `{act.path}`"
        if act.path
        else f"ran `{act.command}`"
        if act.command
        else "ran a script"
    )


def how(
    actions: ActionIndex,
    memories: list[str],
    asked: str,
    note_exists: NoteExists,
    turns: Iterable[tuple[str, str, str]] = (),
) -> list[CommandRuns]:
    """Find the commands by which something was done.

    Args:
        memories: memory folders; empty for all.
        asked: the question.
        note_exists: returns whether the note of an action still exists.
        turns: (agent, session, turn) of notes that answer the question.

    Returns:
        Commands that contain words of the question, best first, then commands of *turns*.
    """
    words = [word for word in dict.fromkeys(_WORDS.findall(asked.lower())) if word not in _SMALL][
        :_MAX_WORDS
    ]
    found: dict[str, CommandRuns] = {}
    share: dict[str, float] = {}
    for act in actions.runs(memories, words):
        if note_exists(act):
            have = [word for word in words if word in act.command.lower()]
            _count(found, act, "has " + ", ".join(have))
            share[act.command] = len(have) / len(words)
    for name in turns:
        for act in actions.of_turn(*name):
            if (
                act.command
                and act.command not in share
                and note_exists(act)
                and (not memories or act.memory in memories)
            ):
                _count(found, act, f"run in the turn of [mem:{act.entry}]")
    ways = [way for way in found.values() if way.worked]
    return sorted(
        ways, key=lambda way: (-share.get(way.command, 0.0), -(way.worked > 1), -way.last.at)
    )


def _count(found: dict[str, CommandRuns], act: AgentAction, why: str) -> None:
    way = found.setdefault(
        act.command, CommandRuns(command=act.command, worked=0, failed=0, last=act, why=why)
    )
    way.worked, way.failed = way.worked + (not act.failed), way.failed + act.failed
    if way.last.failed and not act.failed:
        way.last = act


def fix(
    actions: ActionIndex, memories: list[str], error: str, note_exists: NoteExists
) -> list[Fix]:
    """Find where an error occurred and what fixed it.

    Args:
        memories: memory folders; empty for all.
        error: the printed text, or some words of it.
        note_exists: returns whether the note of an action still exists.

    Returns:
        Fixed errors first, then the same error before similar ones, then the newest first.
    """
    lines = work.complaints(error) or [line for line in error.splitlines() if line.strip()][:1]
    signs = [work.signature(line) for line in lines]
    found: dict[tuple[str, float, str, int], Fix] = {}
    for act in actions.of_sign(memories, signs):
        if note_exists(act):
            found[act.session, *act.place] = Fix(met=act, alike=1.0)
    wanted = [set(_WORDS.findall(sign)) - _SMALL for sign in signs]
    rare = sorted({word for words in wanted for word in words if len(word) > 2})[:_MAX_WORDS]
    for act, sign in actions.failures(memories, rare):
        key, words = (act.session, *act.place), set(_WORDS.findall(sign))
        # the question may consist of some words of the error only
        alike = (
            max(len(words & of) / max(1, min(len(words | of), 2 * len(of))) for of in wanted)
            if wanted
            else 0.0
        )
        if key not in found and alike >= _ENOUGH_ALIKE and note_exists(act):
            found[key] = Fix(met=act, alike=round(min(alike, 0.99), 2))
    for one in found.values():
        mend(actions, one)
        if not all(note_exists(act) for act in one.acts):  # a note about the fix was deleted
            one.mended, one.between = None, []
    once: dict[object, Fix] = {}  # a command may fail many times before it works
    for one in sorted(found.values(), key=lambda one: one.met.place):
        once.setdefault((one.met.session, one.mended.place if one.mended else one.met.command), one)
    return sorted(once.values(), key=lambda one: (one.mended is None, -one.alike, -one.met.at))


def mend(actions: ActionIndex, one: Fix) -> None:
    """Set ``mended`` and ``between`` of a fix.

    The fix is the next run of the same command in the session that worked, else the next run of a
    variant of the command.
    """
    later = actions.after(one.met)
    same = (act for act in later if act.command == one.met.command and not act.failed)
    other = (act for act in later if not act.failed and _is_variant(act, one.met))
    one.mended = next(same, None) or next(other, None)
    if one.mended is not None:
        done = [
            act
            for act in later
            if act.place < one.mended.place and not act.failed and act.command != one.met.command
        ]
        one.between = list({act.path or act.command or act.place: act for act in done}.values())


def _is_variant(act: AgentAction, of: AgentAction) -> bool:
    """Whether two commands run the same program and have at least half of their words in common."""
    program, words, others = (
        of.head.partition(" ")[0],
        set(act.command.split()),
        set(of.command.split()),
    )
    return act.head.partition(" ")[0] == program and len(words & others) >= _ENOUGH_ALIKE * len(
        words | others
    )


def blame(
    actions: ActionIndex, memories: list[str], path: str, note_exists: NoteExists
) -> list[AgentAction]:
    """Find the turns that wrote to a path.

    Args:
        memories: memory folders; empty for all.
        path: a file or folder, or the end of its path.
        note_exists: returns whether the note of an action still exists.

    Returns:
        The last write of each turn, newest first.
    """
    turns: dict[tuple[str, str, str], AgentAction] = {}
    for act in actions.of_path(memories, work.within(path)):
        if note_exists(act):
            turns.setdefault((act.agent, act.session, act.turn), act)
    return list(turns.values())
