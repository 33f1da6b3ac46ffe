"""Facts that the owner noted.

They take effect at once, are injected unchanged, and stay until they are forgotten.

Each fact is a file under ``longterm/extensions/ad_hoc/notes/`` with its scope, id and text.
"""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime

import msgspec

from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.safe_text import plain
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import workspace

_NOTE = re.compile(
    r"scope: (everywhere|[0-9a-f]{8})[^\n]*\nid: ([0-9a-f]{8})\n(?:by: ([\w.-]+)\n)?\n(.*)", re.S
)
_MAX = 2_000
_STAMP = "%Y-%m-%dT%H-%M-%S"


class Fact(msgspec.Struct, frozen=True):
    """A fact that the owner or an agent noted.

    Attributes:
        scope: eight hex digits of a project; '' for all projects.
        path: the path inside the workspace.
        by: the agent that wrote it; '' for the user.
        waits: why it became a quarantined note instead; '' if it did not. In that case ``path`` is
            the note's file and ``id`` its id.
    """

    id: str
    scope: str
    text: str
    path: str
    by: str = ""
    waits: str = ""

    @property
    def at(self) -> float:
        """The time in the fact's file name, in seconds since 1970; now if the name has none."""
        try:
            stamp = datetime.strptime(os.path.basename(self.path)[:19], _STAMP)
        except ValueError:
            return time.time()
        return stamp.replace(tzinfo=UTC).timestamp()


def facts(home: Home) -> list[Fact]:
    """All facts, oldest first. A file that is not a valid fact is skipped."""
    found = [
        Fact(
            match[2],
            "" if match[1] == "everywhere" else match[1],
            match[4].strip(),
            name,
            match[3] or "",
        )
        for name in workspace.files(home.longterm)
        if name.startswith(f"{workspace.NOTES}/")
        and (match := _NOTE.fullmatch(workspace.read(home.longterm, name)))
    ]
    return sorted(found, key=lambda note: note.path)


def remember(home: Home, fact: str, *, project: str = "", name: str = "", by: str = "") -> Fact:
    """Note a fact. Secrets in it are replaced. Noting the same fact again changes nothing.

    Args:
        project: the project's identity; '' for all projects.
        name: the project's name, for readers of the file.
        by: the agent that writes it; '' for the user. A fact of the user replaces the same fact of
            an agent.
    """
    from memsearch_engine.secrets.scan import redact

    # a secret over several lines is recognized only before the lines are joined
    text = " ".join(redact(plain(fact), home)[0].split())
    text = redact(text, home)[0].replace("<!--", "<!\u200b--")
    text = text.replace("<memsearch-memory", "<memsearch_memory").replace(
        "</memsearch-memory", "</memsearch_memory"
    )
    if not text:
        raise UsageError("there is nothing to remember", "memsearch remember 'the fact'")
    if len(text) > _MAX:
        raise UsageError(f"a fact may have {_MAX} characters", "`memsearch add` takes longer notes")
    scope = project[:8]
    workspace.check_root(home.longterm)
    with locked(home, str(home.longterm)):
        for note in facts(home):
            if (note.text, note.scope) == (text, scope):
                if by or not note.by:
                    return note
                (home.longterm / note.path).unlink(missing_ok=True)
        home.longterm.mkdir(mode=0o700, exist_ok=True)
        stamp = time.strftime(_STAMP, time.gmtime())
        made = digest("note", scope, text, size=4)
        # no words of the fact: a file name is harder to scrub than a text
        path = f"{workspace.NOTES}/{stamp}-{made}.md"
        called = " ".join(plain(name).split())[:80]
        where = f"scope: {scope or 'everywhere'}" + (f" ({called})" if scope and called else "")
        workspace.write(
            home,
            home.longterm,
            path,
            f"{where}\nid: {made}\n{f'by: {by}' + chr(10) if by else ''}\n{text}\n",
        )
    return Fact(made, scope, text, path, by)
