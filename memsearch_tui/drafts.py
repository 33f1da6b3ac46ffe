"""Unsaved edits, stored in the home folder so that a crash loses no text."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import memsearch_engine as engine
import msgspec

_NEW = "new "


class EditDraft(msgspec.Struct, frozen=True):
    """The typed text and the text that the edit began with.

    Attributes:
        path: the entry's file; for a new note, the memory folder that it goes to.
        entry_id: the entry's id; for a new note, ``new`` and its day.
        hash, base: hash and text of the entry when its edit began; '' in drafts of older versions.
    """

    path: str
    entry_id: str
    title: str
    text: str
    hash: str = ""
    base: str = ""

    @property
    def new_day(self) -> str:
        """The day of a new note; '' for an edit of an existing one."""
        return self.entry_id.removeprefix(_NEW) if self.entry_id.startswith(_NEW) else ""


def of_new(memory: str, day: str) -> EditDraft:
    """Return the empty draft of a new note.

    Args:
        memory: the memory folder.
        day: an ISO day.
    """
    return EditDraft(memory, f"{_NEW}{day}", f"a new note of {day}", "")


def save(home: engine.Home, draft: EditDraft) -> None:
    """Write *draft*. Secrets are replaced, because it is written before the user saves it.

    Raises:
        OSError: it cannot be written.
    """
    redacted = msgspec.structs.replace(
        draft, text=engine.redact(draft.text, home)[0], base=engine.redact(draft.base, home)[0]
    )
    home.ensure().put(home.draft(draft.path, draft.entry_id), msgspec.json.encode(redacted))


def load(home: engine.Home, path: str, entry_id: str) -> EditDraft | None:
    """Return the draft of an entry, or None."""
    return _read(home.draft(path, entry_id))


def every(home: engine.Home) -> list[EditDraft]:
    """Return all drafts, the last written first."""
    try:
        files = sorted(
            (home.root / "drafts").glob("*.json"),
            key=lambda file: file.stat().st_mtime,
            reverse=True,
        )
    except OSError:
        return []
    return [draft for file in files if (draft := _read(file))]


def drop(home: engine.Home, path: str, entry_id: str) -> None:
    """Delete the draft of an entry, if it can be deleted."""
    with contextlib.suppress(OSError):
        home.draft(path, entry_id).unlink()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Leave ctrl+c to the program that has the terminal: it would end this one, too."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # SIG_IGN would be inherited
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def in_editor(home: engine.Home, text: str) -> str | None:
    """Return *text* as the user changed it in ``$EDITOR``; None if it is unchanged.

    Raises:
        ClickException: the editor cannot be run.
        OSError: the text cannot be written.
        UsageError: the saved text is not UTF-8. It stays in a file, which the hint names.
    """
    import tempfile

    import click

    folder = home.ensure().root / "drafts"
    folder.mkdir(mode=0o700, exist_ok=True)
    number, name = tempfile.mkstemp(".md", "edit-", folder)
    with open(number, "w", encoding="utf-8") as out:
        out.write(f"{text}\n")
    file = Path(name)
    try:
        with uninterrupted():
            click.edit(filename=name)
        changed = _unix(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        problem = f"what the editor saved is not UTF-8 (byte {error.start + 1})"
        raise engine.UsageError(problem, f"your text is in {file}") from error
    except BaseException:
        file.unlink()
        raise
    file.unlink()
    return changed if changed.strip("\n") != _unix(text).strip("\n") else None


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _read(file: Path) -> EditDraft | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=EditDraft)
    except (OSError, msgspec.DecodeError):
        return None
