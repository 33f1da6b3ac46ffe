"""From an anchor to the turns behind it, and only to places where that agent keeps its sessions.

An anchor is untrusted text. Its path is used when it lies in the agent's own folder; else the session is looked for there
by its id, which also finds sessions after a home or a configuration folder has moved.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from memsearch_engine.errors import NotFound, UsageError
from memsearch_engine.home import AgentFolders
from memsearch_engine.transcripts import claude_code
from memsearch_engine.transcripts.model import Turn

#: Agents whose sessions can be opened.
READABLE = (claude_code.AGENT,)
_SESSION = re.compile(r"[A-Za-z0-9._-]{1,200}$")


class Found(msgspec.Struct):
    """The turns of a session and which of them was meant (``index``, -1 where the anchor names none)."""

    path: str
    turns: list[Turn]
    index: int


def transcript_path(agent: str, session: str, path: str, folders: AgentFolders | None = None) -> Path | None:
    """The session file of an anchor, or None where the agent has it no more."""
    folders = folders or AgentFolders.from_env()
    if agent not in READABLE:
        return None
    base = folders.claude_code
    if path:
        candidate = Path(os.path.expanduser(path))
        if candidate.suffix == ".jsonl" and _inside(candidate, base) and candidate.is_file():
            return candidate
    if not _SESSION.match(session) or session.startswith("."):
        return None
    return next((file for file in base.glob(f"*/{session}.jsonl") if _inside(file, base)), None)


def open_anchor(agent: str, session: str, turn: str, path: str, folders: AgentFolders | None = None) -> Found:
    """Read the session behind an anchor. Raises NotFound where it is lost."""
    if agent not in READABLE:
        raise NotFound(f"transcripts of {agent or 'unknown agents'} can't be read yet", "Claude Code's can")
    file = transcript_path(agent, session, path, folders)
    if file is None:
        raise NotFound(
            f"the conversation of session {session} is gone: {agent} no longer has it",
            "the note itself is untouched",
        )
    return open_file(file, turn)


def open_file(file: Path, turn: str = "") -> Found:
    """All turns of a transcript file, *turn* found among them."""
    if file.suffix != ".jsonl":
        raise UsageError(f"{file} is no transcript that can be read", "Claude Code's end in .jsonl")
    turns = claude_code.read(file).turns
    index = next((i for i, t in enumerate(turns) if t.turn == turn), -1) if turn else -1
    if turn and index < 0:
        near = [i for i, t in enumerate(turns) if t.turn.startswith(turn)]
        index = near[0] if len(near) == 1 else -1
    return Found(str(file), turns, index)


def _inside(path: Path, base: Path) -> bool:
    """Whether *path* really lies under *base*, links resolved."""
    real, root = os.path.realpath(path), os.path.realpath(base)
    return real.startswith(root + os.sep)
