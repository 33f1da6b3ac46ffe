"""Our bare repository between the notes and the remote.

dulwich reads and writes objects. git does the transport, because it knows the owner's keys, agents
and proxies. It runs only in our clone, without hooks, prompts and remote helpers that run programs.
Nothing is forced.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memsearch_engine.core import network
from memsearch_engine.core.errors import Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.longterm import workspace
from memsearch_engine.sync.seal import NoKey, Seal, is_sealed

_TIMEOUT_S = 120.0
_MAX_PACK = 1 << 30  # bytes that one fetch may store
_MAIN, _SEEN = "refs/heads/main", "refs/remotes/origin/main"
_SAFE = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "protocol.ext.allow": "never",
    "commit.gpgsign": "false",
    "gc.autoDetach": "false",
    "push.gpgSign": "false",
    "submodule.recurse": "false",
    "core.bigFileThreshold": "16m",  # a larger object is streamed, not inflated in memory
}
#: Runs a program that may write no file above a size, in blocks of 512 bytes. The signal is
#: ignored, so that the program says why it failed.
_LIMITED = ("/bin/sh", "-c", 'trap "" XFSZ; ulimit -f "$0" && exec "$@"')
_TOO_LARGE = os.strerror(errno.EFBIG)
#: Errors that a new clone would not remedy.
_NO_DAMAGE = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EACCES)))
#: Environment variables that would redirect git from our clone. A hook of a project has them set.
_FOREIGN = re.compile(
    r"GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|"
    r"ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|CONFIG.*)$"
)

_OURS = re.compile(
    r"not a git repository: '/|bad config|corrupt|loose object|object file|bad object"
)


class Away(Unreachable):
    """The remote cannot be reached now; local changes wait."""


def checked(remote: str) -> str:
    """*remote* as a permitted address: a folder, or ssh, https or file. Raises UsageError."""
    remote = remote.strip()
    is_folder = remote.startswith(("/", "~", ".")) or ":" not in remote
    if (
        not remote
        or remote.startswith("-")
        or "::" in remote.partition("/")[0]
        or not remote.isprintable()
    ):
        raise UsageError(
            f"{remote!r} is no remote", "a folder, git@host:path, or an ssh or https address"
        )
    if "://" in remote and not re.match(r"(?:ssh|https?|file|git)://", remote):
        raise UsageError(f"{remote!r}: only ssh, https and file addresses are known", "or a folder")
    if re.match(r"\w+://[^/@]*:[^/@]*@", remote):
        raise UsageError(
            "a password stands in the address",
            "leave it out: git asks its credential helper for it",
        )
    return os.path.abspath(os.path.expanduser(remote)) if is_folder else remote


class Foreign(Unreachable):
    """The remote is no memsearch repository."""


class Clone:
    """The bare repository in ``MEMSEARCH_HOME/sync``."""

    def __init__(self, home: Home) -> None:
        self.home, self.path = home, home.root / "sync" / "clone.git"
        #: Whether what is added is encrypted.
        self.seals = False
        self._seal: Seal | None = None
        self._names: dict[str, str] = {}
        self._trees: dict[str, dict[str, str]] = {}
        self._opened: Any = None  # a dulwich Repo, whose type annotations are incomplete

    def close(self) -> None:
        """Close the repository."""
        if self._opened is not None:
            self._opened.close()

    # -- the way to the remote

    def fetch(self, remote: str) -> str:
        """Fetch the remote's newest commit; ``""`` for an empty remote. Raises Away, Foreign."""
        names = {line.split("\t")[-1] for line in self._git("ls-remote", "--", remote).splitlines()}
        if not names:
            return ""
        if _MAIN not in names:
            raise Foreign(
                f"{remote} holds something else than memories", "name an empty repository"
            )
        words = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", remote)
        try:
            self._git(*words, f"+{_MAIN}:{_SEEN}", max_bytes=_MAX_PACK)
        except Away as error:
            for part in (self.path / "objects").glob("**/tmp_*"):
                part.unlink(missing_ok=True)  # git leaves what it did not finish
            if _TOO_LARGE in str(error):
                raise Away(
                    f"{remote} sends more than {_MAX_PACK >> 20} MB at once",
                    "name another repository if this one is not yours",
                ) from error
            raise
        self._reopen()
        return self.ref(_SEEN)

    def push(self, remote: str, commit: str) -> bool:
        """Push *commit*. Returns False if another machine was faster. Raises Away."""
        return self._pushed("--", remote, f"{commit}:{_MAIN}")

    def replace(self, remote: str, commit: str, old: str) -> bool:
        """Replace the remote's history, whose newest commit is *old*, by *commit*.

        Returns:
            False if another machine was faster.

        Raises:
            Away: the remote can't be reached.
        """
        return self._pushed(f"--force-with-lease={_MAIN}:{old}", "--", remote, f"+{commit}:{_MAIN}")

    def _pushed(self, *words: str) -> bool:
        try:
            self._git("push", "--quiet", "--no-verify", *words)
        except Away as error:
            if re.search(
                r"non-fast-forward|fetch first|stale info|cannot lock ref|failed to update ref",
                str(error),
            ):
                return False  # somebody was faster; a refusal by the remote says why
            raise
        return True

    def _git(self, *words: str, max_bytes: int = 0) -> str:
        """Run git in the clone, and return its output.

        Args:
            max_bytes: the size that no written file may exceed; 0 for any size.

        Raises:
            Away: git failed or took too long.
        """
        if shutil.which("git") is None:
            raise Unreachable("git is not installed", "sync carries notes with it; install git")
        options = [part for name, value in _SAFE.items() for part in ("-c", f"{name}={value}")]
        limit = (*_LIMITED, str(max_bytes // 512)) if max_bytes else ()
        try:
            git = subprocess.Popen(
                [*limit, "git", *options, *words],
                env=self._environment(words),
                cwd=self.path,
                umask=0o077,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Away(f"git can't be run: {error}") from error
        with git:
            try:
                output, errors = git.communicate(timeout=_TIMEOUT_S)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(git.pid, signal.SIGKILL)  # with the ssh that it started
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise Away(
                    f"the remote did not answer within {_TIMEOUT_S:.0f} s", "it is tried again"
                ) from error
        if git.returncode:
            text = errors.decode("utf-8", "replace")
            lines = [
                line for line in text.splitlines() if line.strip() and not line.startswith("hint:")
            ]
            raise Away(
                f"git {words[0]}: {' '.join(lines)[-400:] or 'failed'}",
                "notes wait here; it is tried again",
            )
        return output.decode("utf-8", "replace")

    def _environment(self, words: Sequence[str]) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}
        env |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_DIR": str(self._made())}
        for word in words:  # otherwise git asks the proxy for a server on this machine
            env |= network.exemption(word, env)
        if "GIT_SSH" not in env and not self._has_ssh:
            env.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20")
        return env

    @functools.cached_property
    def _has_ssh(self) -> bool:
        """Whether the owner's git configuration sets an ssh command."""
        found = subprocess.run(
            ["git", "config", "--get", "core.sshCommand"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=self.home.root,
            check=False,
        )
        return found.returncode == 0

    def _made(self) -> Path:
        """Create the repository beside its place first: the process may die meanwhile."""
        if not self.is_there:
            from dulwich.repo import Repo

            self.home.ensure()
            new = self.path.with_suffix(".new")
            for place in (self.path, new):
                _clear(place)
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            new.mkdir(mode=0o700)
            Repo.init_bare(str(new)).close()
            self.home.close_to_others(new)
            new.rename(self.path)
        return self.path

    @property
    def is_there(self) -> bool:
        """Whether the clone exists."""
        return (self.path / "HEAD").exists()

    def remove(self) -> None:
        """Delete the clone: its content is on the remote or in the notes."""
        self._reopen()
        _clear(self.path)

    def is_damaged(self, error: Exception) -> bool:
        """Whether the clone is damaged after *error*.

        It is not if the remote is unreachable, the disk is full, or a permission is missing.
        """
        if any(text in str(error) for text in _NO_DAMAGE):
            return False
        if any(self.path.rglob("*.lock")):  # of a git that was killed: no other runs now
            return True
        if f"{self.path}/" in str(error):  # git names the file that it can't read
            return True
        if str(error).startswith("git ls-remote") and not _OURS.search(str(error)):
            return False
        try:
            self._git("fsck", "--no-dangling")
        except Away:
            return True
        return False

    def tidy(self) -> None:
        """Pack objects and keep the clone private."""
        if self.is_there:
            self._git("gc", "--auto", "--quiet")
            self.home.close_to_others(self.path)

    # -- objects

    @property
    def _repo(self) -> Any:
        if self._opened is None:
            from dulwich.repo import Repo

            self._opened = Repo(str(self._made()))
        return self._opened

    def _reopen(self) -> None:
        self.close()
        self._opened = None

    def ref(self, name: str = _MAIN) -> str:
        """The commit of a reference, or ``""``."""
        try:
            return str(self._repo.refs[name.encode()].decode())
        except KeyError:
            return ""

    def has(self, commit: str) -> bool:
        """Whether the clone has a commit."""
        return bool(commit) and commit.encode() in self._repo.object_store

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether *new* is *old* or a descendant."""
        waiting, known = [new.encode()], set()
        while waiting:
            commit = waiting.pop()
            if commit == old.encode():
                return True
            if commit not in known:
                known.add(commit)
                waiting += self._repo[commit].parents
        return False

    def tree(self, commit: str) -> dict[str, str]:
        """Path -> blob id of a tree; empty for ``""``. Do not modify the result."""
        if not commit:
            return {}
        if commit in self._trees:
            return self._trees[commit]
        from dulwich.object_store import iter_tree_contents

        top = self._repo[commit.encode()].tree
        found = {
            entry.path.decode("utf-8", "surrogateescape"): entry.sha.decode()
            for entry in iter_tree_contents(self._repo.object_store, top)
            if entry.mode in (0o100644, 0o100755)  # a link or a submodule is nobody's note
        }
        self._trees[commit] = found
        return found

    def larger(self, commit: str, limit: int) -> dict[str, int]:
        """Files of a commit with more than *limit* bytes: path -> bytes. No file is unpacked.

        Raises:
            Away: git can't read the commit.
        """
        listed = self._git("ls-tree", "-r", "-l", "-z", "--full-tree", commit) if commit else ""
        found = {}
        for line in listed.split("\0"):
            about, _, path = line.partition("\t")
            size = about.split()[-1:]  # "-" for a submodule
            if size and size[0].isdecimal() and int(size[0]) > limit:
                found[path] = int(size[0])
        return found

    def blob(self, sha: str) -> bytes:
        """The content of a blob; empty for ``""``. Raises NoKey."""
        data = bytes(self._repo[sha.encode()].data) if sha else b""
        if self.seals and data and not is_sealed(data):
            raise NoKey(
                "somebody without the key has written there",
                "nothing of it was taken; look at the repository",
            )
        return self.seal.open(data) if is_sealed(data) else data

    def read(self, sha: str) -> bytes:
        """The stored bytes of a blob, encrypted or not."""
        return bytes(self._repo[sha.encode()].data) if sha else b""

    @property
    def seal(self) -> Seal:
        """The encryption key. Raises NoKey, UsageError."""
        if self._seal is None:
            self._seal = Seal(self.home)
        return self._seal

    def name_of(self, sha: str) -> str:
        """The blob id of a text, encrypted or not."""
        if not sha or not is_sealed(self._repo[sha.encode()].data):
            return sha
        if sha not in self._names:
            self._names[sha] = name_of(self.blob(sha))
        return self._names[sha]

    def put(self, tree: dict[str, str], key: str, data: bytes, *, plainly: bool = False) -> None:
        """Store *data* as a file of a tree; the same blob if it is unchanged, none for ``b""``.

        Args:
            plainly: do not encrypt it.
        """
        if not data:
            tree.pop(key, None)
        elif self.name_of(tree.get(key, "")) != name_of(data):
            tree[key] = self._add(self.seal.close(data) if self.seals and not plainly else data)

    def _add(self, data: bytes) -> str:
        from dulwich.objects import Blob

        blob = Blob.from_string(data)
        self._repo.object_store.add_object(blob)
        return blob.id.decode()

    def commit(self, files: dict[str, str], parents: Iterable[str], message: str) -> str:
        """Create a commit with exactly these files (path -> blob)."""
        blobs = [
            (path.encode("utf-8", "surrogateescape"), sha.encode(), 0o100644)
            for path, sha in files.items()
        ]
        found = [parent.encode() for parent in parents]
        return str(workspace.committed(self._repo.object_store, blobs, found, message).decode())


def _clear(place: Path) -> None:
    """Delete a folder, or what stands in its place."""
    shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):
        place.unlink()


def name_of(data: bytes) -> str:
    """The id of a blob with these bytes, without storing it."""
    from dulwich.objects import Blob

    return Blob.from_string(data).id.decode()
