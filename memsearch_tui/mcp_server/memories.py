"""The memories of the projects that clients work in."""

from __future__ import annotations

import os
import threading
from urllib.parse import unquote, urlsplit

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ListRootsResult
from memsearch_engine import Memory

from memsearch_tui.mcp_server import answers


class Memories:
    """The memories of the projects that clients work in, each opened once."""

    def __init__(self, fallback: str | None) -> None:
        """Args:
        fallback: the project folder of a client that names none; None: clients have to name one.
        """
        self._fallback = fallback
        self._open: dict[tuple[str, str], Memory] = {}
        self._lock = threading.Lock()
        #: id of a note -> its hash when the person was asked
        self.asked_about: dict[str, str] = {}

    @property
    def is_at_home(self) -> bool:
        """Whether every client so far works in the folder of this process.

        A request that names no client is then about that folder.
        """
        return all(folder == self._fallback for folder, _ in self._open)

    def of(self, roots: ListRootsResult, project: str = "") -> Memory:
        """Return the memory of a client's project, or of another one that it names."""
        folder = next(
            (path for root in roots.roots if (path := _folder(str(root.uri)))), self._fallback
        )
        if folder is None:
            raise ToolError(
                "this client names no folder that it works in (roots): start `memsearch mcp`"
                " without --http"
            )
        with self._lock:
            if (folder, "") not in self._open:
                self._open[folder, ""] = Memory(folder)
            own = self._open[folder, ""]
            if project in ("", own.project.name, own.project.slug):
                return own
            if not answers.sees_all(own):  # checked at each call: the owner may change the setting
                raise ToolError(
                    "other projects are not available here: their owner can allow it with"
                    " `memsearch config set mcp.projects all`"
                )
            if (folder, project) not in self._open:
                self._open[folder, project] = Memory(folder, home=own.home, project=project)
            return self._open[folder, project]

    def close(self) -> None:
        """Close all memories."""
        for memory in self._open.values():
            memory.close()


def _folder(uri: str) -> str:
    parts = urlsplit(uri)
    path = unquote(parts.path) if parts.scheme == "file" else ""
    return path if path and os.path.isdir(path) else ""


def here() -> str:
    """Return the folder of the client on this process's standard input."""
    named = os.environ.get("CLAUDE_PROJECT_DIR", "")
    return named if named and os.path.isdir(named) else os.getcwd()
