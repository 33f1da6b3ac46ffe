"""The public interface of skills: draft, read, install, uninstall."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from memsearch_engine.agents import patches
from memsearch_engine.agents.patches import Patch
from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import Conflict, MemsearchError, NotFound, UsageError
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import load
from memsearch_engine.core.state import change_state, state_rows
from memsearch_engine.injection.api import Supersessions
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import skills
from memsearch_engine.longterm.skills import Candidate
from memsearch_engine.search.scope import ScopePart

if TYPE_CHECKING:  # Review needs no model code
    from memsearch_engine.longterm.skill_drafts import SkillDraftResult

#: The folders in which agents look for a project's skills.
_PLACES = (".claude/skills", ".agents/skills")


class Skills(ScopePart):
    """Skills drafted from a project's notes.

    >>> with Memory() as memory:
    ...     memory.skills.all()
    []
    """

    def distill(
        self, *, agent: str = "", provider: str = "", model: str = "", force: bool = True
    ) -> SkillDraftResult:
        """Have a model draft skills from recurring procedures now.

        Args:
            agent: the agent that provides the settings table.
            provider, model: override the settings.
            force: ignore the pause, and draft even without new notes.

        Raises:
            SettingsError: no model is configured.
        """
        from memsearch_engine.longterm import skill_drafts

        self._scope.register()
        return skill_drafts.distill(
            self._home,
            load(self._home),
            self._scope.project,
            force=force,
            agent=agent,
            provider=provider,
            model=model,
        )

    def add(self, name: str, description: str, body: str) -> Candidate:
        """Write a draft by hand. Its commands are not checked.

        Raises:
            UsageError: it does not follow the specification, or a draft with that name exists.
        """
        from memsearch_engine.longterm import skill_drafts

        slug = skills.slug_of(name)
        clean, why = skill_drafts.checked_body(self._home, body, lambda line: True)
        if not slug or not clean:
            raise UsageError(why or f"{name!r} is no name", "`memsearch skills add --help`")
        if any(candidate.name == slug for candidate in self.all()):
            raise UsageError(
                f"there is a skill {slug}", f"edit it, or memsearch skills remove {slug}"
            )
        text = skills.render(slug, description, clean, self._home)
        if problems := skills.validated(slug, text):
            raise UsageError(problems[0], "`memsearch skills add --help`")
        self._scope.register()
        skills.write(
            self._home, self._scope.project, slug, text, description, [], 0, "manual", "hand"
        )
        return self.get(slug)

    def all(self, *, checked: bool = False) -> list[Candidate]:
        """Every draft, by name.

        Args:
            checked: include the errors that the specification's validator finds.
        """
        found = skills.all_of(self._home, self._scope.project, self._note_state)
        for candidate in found:
            self._look(candidate)
            candidate.problems = skills.validated(candidate.name, candidate.text) if checked else []
        return found

    def get(self, name: str) -> Candidate:
        """The draft with this name. Raises NotFound."""
        for candidate in skills.all_of(self._home, self._scope.project, self._note_state):
            if candidate.name == name:
                return self._look(candidate)
        raise NotFound(f"no skill {name}", "`memsearch skills list` lists them")

    def _look(self, candidate: Candidate) -> Candidate:
        """Add where this home has installed a draft, and whether somebody has edited it there."""
        written = patches.record(
            self._home, self._record(candidate.name, candidate.of_consolidation)
        )
        candidate.installed = [file.path for file in written.files] if written else []
        if (
            candidate.state == "installed"
            and written
            and any(patches.was_edited(file) for file in written.files)
        ):
            candidate.state = "edited"
        return candidate

    def _note_state(self, note: str) -> str:
        """The state of a note that supports a skill."""
        try:
            found = self._scope.note(note)
        except NotFound:
            return "gone"
        except MemsearchError:
            return ""
        if "superseded-by" in found.marks:
            return "overtaken"
        try:
            pairs = Supersessions(self._scope).pairs(found.id)
        except MemsearchError:
            return ""
        return (
            "overtaken"
            if any(pair.is_effective and pair.older.entry_id == found.id for pair in pairs)
            else ""
        )

    def places(self, candidate: Candidate) -> list[str]:
        """Return the default folders for an installation.

        They are the current folders, those of the settings, or those in which the project's agents
        look.
        """
        chosen = skills.chosen(load(self._home))
        root = self._scope.place.root
        here = [
            place for place in _PLACES if os.path.isdir(os.path.join(root, place.partition("/")[0]))
        ]
        installed = [os.path.dirname(os.path.dirname(path)) for path in candidate.installed]
        return installed or (chosen[1].paths if chosen else []) or here or [_PLACES[-1]]

    def planned(self, name: str, folders: Iterable[str] = ()) -> list[Patch]:
        """The files that an installation would write. Nothing is written.

        Args:
            folders: the agents' folders for skills (``.claude/skills``), relative to the project's
                root; by default those of ``places``.

        Raises:
            NotFound: there is no such draft.
            UsageError: it does not follow the specification.
        """
        from memsearch_engine.secrets.scan import redact

        candidate = self.get(name)
        if problems := skills.validated(candidate.name, candidate.text):
            raise UsageError(
                f"{name} is no skill as the specification has it: {problems[0]}",
                f"edit {candidate.path}",
            )
        if secrets := redact(candidate.text, self._home)[1]:
            raise UsageError(
                f"{name} has a secret in it: {secrets[0].rule}", f"take it out of {candidate.path}"
            )
        found, root = [], os.path.realpath(self._scope.place.root)
        for folder in list(folders) or self.places(candidate):
            base = os.path.normpath(
                os.path.join(self._scope.place.root, os.path.expanduser(folder))
            )
            path = os.path.join(base, candidate.name, "SKILL.md")
            real = os.path.realpath(path)
            is_here = path.startswith(self._scope.place.root + os.sep)
            if os.path.islink(path) or (
                is_here
                and real != os.path.join(root, os.path.relpath(path, self._scope.place.root))
            ):
                raise UsageError(
                    f"{path} leads elsewhere, to {real}",
                    "name the folder that is meant: --path DIR",
                )
            text = candidate.text.encode("utf-8", "surrogateescape")
            found.append(Patch(path, patches.read(path), text, "skill", own=True))
        return found

    def install(self, name: str, planned: list[Patch]) -> list[str]:
        """Write the files that were shown.

        Args:
            planned: the result of ``planned``.

        Returns:
            The paths of the written files.

        Raises:
            Unreachable: a file has changed since.
            Conflict: the draft has changed since.
        """
        candidate = self.get(name)
        if any(
            patch.after != candidate.text.encode("utf-8", "surrogateescape") for patch in planned
        ):
            raise Conflict(f"{name} has another text by now", "look at it")
        patches.apply(self._home, self._record(name, candidate.of_consolidation), planned)
        paths = sorted({*candidate.installed, *(patch.path for patch in planned)})
        skills.note_installed(self._home, candidate, paths)
        return paths

    def take_back(self, name: str, planned: list[Patch]) -> None:
        """Undo one installation by restoring the previous files.

        Raises:
            Unreachable: a file has changed since.
        """
        before = [patch.before for patch in planned if isinstance(patch.before, bytes)]
        if not before:
            self.uninstall(name)
            return
        candidate = self.get(name)
        back = [
            Patch(
                patch.path,
                patch.after,
                patch.before if isinstance(patch.before, bytes) else None,
                "skill",
                own=True,
            )
            for patch in planned
        ]
        patches.apply(self._home, self._record(name, candidate.of_consolidation), back)
        skills.note_installed(
            self._home, candidate, candidate.installed, before[0].decode("utf-8", "surrogateescape")
        )

    def uninstall(self, name: str) -> list[str]:
        """Remove the installed copies byte for byte, even if the draft is gone.

        A copy that somebody has edited since stays.

        Returns:
            The paths that changed.
        """
        candidate = next((candidate for candidate in self.all() if candidate.name == name), None)
        record = self._record(name, candidate is not None and candidate.of_consolidation)
        if candidate is None and patches.record(self._home, record) is None:
            raise NotFound(f"no skill {name}", "`memsearch skills list` lists them")
        done = patches.revert(self._home, record, lambda path, now, before: now)
        if candidate is not None:
            skills.note_installed(self._home, candidate, [])
        for patch in done:  # folders that were created for it, such as .agents
            with contextlib.suppress(OSError):
                Path(patch.path).parents[2].rmdir()
        return [patch.path for patch in done]

    def remove(self, name: str) -> int:
        """Remove a draft and its installed copies. ``restore`` brings the draft back.

        Returns:
            The number of the stored draft.

        Raises:
            UsageError: it belongs to the long-term memory.
        """
        candidate = self.get(name)
        if candidate.of_consolidation:
            raise UsageError(
                f"{candidate.name} is of the long-term memory",
                f"remove {candidate.path}: the next consolidation takes that as your decision",
            )
        if candidate.installed:
            self.uninstall(name)
        folder = Path(candidate.path).parent
        with locked(self._home, str(folder)):
            number = skills.keep(self._home, self._scope.project, candidate)
            safe_files.real(str(folder))
            for file in ("SKILL.md", "meta.json"):  # other files in the folder are the owner's
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(folder / file)
            with contextlib.suppress(OSError):
                folder.rmdir()
        return number

    def restore(self, name: str) -> Candidate:
        """Restore the last removed draft with that name.

        Raises:
            NotFound: there is none.
            UsageError: a draft with that name exists.
        """
        project = self._scope.project
        query = (
            "SELECT id, skill, meta FROM skills_trash WHERE project=? AND name=? "
            "ORDER BY id DESC LIMIT 1"
        )
        found = state_rows(self._home, skills.SCHEMA, query, (project.id, name))
        if not found:
            raise NotFound(f"no skill {name} was removed here", "memsearch skills list")
        ((number, skill, meta),) = found
        folder = os.path.join(skills.store(project), name)
        if os.path.lexists(os.path.join(folder, "SKILL.md")):
            raise UsageError(f"there is a skill {name}", f"memsearch skills remove {name}")
        with locked(self._home, folder):
            skills.put(os.path.join(folder, "SKILL.md"), skill)
            skills.put(os.path.join(folder, "meta.json"), meta)
            change_state(
                self._home, skills.SCHEMA, "DELETE FROM skills_trash WHERE id=?", (number,)
            )
        return self.get(name)

    def _record(self, name: str, of_consolidation: bool) -> str:
        """The name of the record of files that were written for this project."""
        owner = "everywhere" if of_consolidation else "project"
        return f"skill-{digest(owner, self._scope.place.root, name, size=8)}"
