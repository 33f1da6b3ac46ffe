"""The verbs of skills: having them drafted, reading, installing, and taking them out again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from memsearch_engine.agents import patches
from memsearch_engine.agents.patches import Patch
from memsearch_engine.errors import MemsearchError, NotFound, UsageError
from memsearch_engine.ids import digest
from memsearch_engine.longterm import skills
from memsearch_engine.longterm.skills import Candidate, Result
from memsearch_engine.memory import Memory
from memsearch_engine.settings import load

#: Where agents look for a project's skills, of those that are there.
_PLACES = (".claude/skills", ".agents/skills")


class Skills:
    """Skills drafted from a project's notes.

    >>> with Memory() as memory:
    ...     Skills(memory).all()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._home = memory, memory.home

    def distill(self, *, agent: str = "", provider: str = "", model: str = "", force: bool = True) -> Result:
        """Have a model draft skills from what recurred, now. Asks whom the settings name, or *provider*.

        Args:
            agent: whose table in the settings says how. force: whatever the pause, and though no note has come.

        Raises:
            SettingsError: nobody may be asked.
        """
        self._memory._register()
        return skills.distill(
            self._home, load(self._home), self._memory.project, force=force, agent=agent, provider=provider, model=model
        )

    def add(self, name: str, description: str, body: str) -> Candidate:
        """Write a draft by hand: its commands are taken as they are. Raises UsageError where it is no skill as the specification has it."""
        slug = skills.slug_of(name)
        clean, why = skills.checked_body(self._home, body, lambda line: True)
        if not slug or not clean:
            raise UsageError(why or f"{name!r} is no name")
        text = skills.render(slug, description, clean, self._home)
        if problems := skills.validated(slug, text):
            raise UsageError(problems[0])
        self._memory._register()
        skills.write(self._home, self._memory.project, slug, text, description, [], 0, "manual")
        return self.get(slug)

    def all(self, *, checked: bool = False) -> list[Candidate]:
        """Every draft, by name. *checked*: with what the specification's validator says of each."""
        found = skills.all_of(self._home, self._memory.project, self._stands)
        for candidate in found if checked else ():
            candidate.problems = skills.validated(candidate.name, candidate.text)
        return found

    def get(self, name: str) -> Candidate:
        """Raises NotFound."""
        return skills.get(self._home, self._memory.project, name, self._stands)

    def _stands(self, note: str) -> str:
        """How a note stands that a skill rests on."""
        try:
            found = self._memory.note(note)
        except NotFound:
            return "gone"
        except MemsearchError:
            return ""
        if "superseded-by" in found.marks:
            return "overtaken"
        try:
            pairs = self._memory.amendments(found.id)
        except MemsearchError:
            return ""
        return "overtaken" if any(pair.holds and pair.older.entry_id == found.id for pair in pairs) else ""

    def places(self, candidate: Candidate) -> list[str]:
        """Where it would be installed where nobody says: where it is, where the settings say, else where agents of the project look."""
        settings = load(self._home)
        chosen = skills.chosen(settings)
        root = self._memory.place.root
        here = [place for place in _PLACES if os.path.isdir(os.path.join(root, place.partition("/")[0]))]
        kept = patches.record(self._home, self._record(candidate))  # what we wrote, not what a file of a clone's says
        installed = [os.path.dirname(os.path.dirname(file.path)) for file in kept.files] if kept else []
        return installed or (chosen[1].paths if chosen else []) or here or [_PLACES[-1]]

    def planned(self, name: str, folders: Iterable[str] = ()) -> list[Patch]:
        """The files that installing would write. Nothing is written.

        Args:
            folders: where agents look for skills (``.claude/skills``), from the project's root; those of ``places`` by default.

        Raises:
            NotFound. UsageError: it is no skill as the specification has it.
        """
        candidate = self.get(name)
        if problems := skills.validated(candidate.name, candidate.text):
            raise UsageError(f"{name} is no skill as the specification has it: {problems[0]}", f"edit {candidate.path}")
        found = []
        for folder in list(folders) or self.places(candidate):
            base = os.path.normpath(os.path.join(self._memory.place.root, os.path.expanduser(folder)))
            path = os.path.join(base, candidate.name, "SKILL.md")
            found.append(
                Patch(path, patches.read(path), candidate.text.encode("utf-8", "surrogateescape"), "skill", own=True)
            )
        return found

    def install(self, name: str, planned: list[Patch]) -> list[str]:
        """Write what was shown. Returns the paths. Raises Unreachable: a file changed meanwhile."""
        candidate = self.get(name)
        patches.apply(self._home, self._record(candidate), planned)
        paths = sorted({*candidate.installed, *(patch.path for patch in planned)})
        skills.note_installed(self._home, candidate, paths)
        return paths

    def uninstall(self, name: str) -> list[str]:
        """Take the installed copies out, byte for byte; one that somebody has edited since stays. Returns the paths that changed."""
        candidate = self.get(name)
        done = patches.revert(self._home, self._record(candidate), lambda path, now, before: now)
        skills.note_installed(self._home, candidate, [])
        for patch in done:  # folders that were made for it, .agents and the like
            with contextlib.suppress(OSError):
                Path(patch.path).parents[2].rmdir()
        return [patch.path for patch in done]

    def remove(self, name: str) -> int:
        """Take a draft away, and its installed copies out. ``restore`` brings the draft back. Returns its number."""
        candidate = self.get(name)
        if candidate.installed:
            self.uninstall(name)
        return skills.remove(self._home, self._memory.project, self.get(name))

    def restore(self, name: str) -> Candidate:
        """Bring back what was removed last under that name. Raises NotFound, UsageError."""
        skills.restore(self._home, self._memory.project, name)
        return self.get(name)

    def _record(self, candidate: Candidate) -> str:
        """The name under which it is kept what was written."""
        owner = "everywhere" if candidate.of_consolidation else self._memory.project.id[:8]
        return f"skill-{digest(owner, str(Path(candidate.path).parent), size=8)}"
