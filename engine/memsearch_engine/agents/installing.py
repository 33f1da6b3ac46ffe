"""The base class of installers, and what all of them need: paths, commands and skills.

An installer adds the lines to an agent's configuration that the agent needs, and puts our skills
beside its own. Nothing is downloaded. memsearch's own plugins do the same work, so ours is not
installed beside one of them unless it replaces it.
"""

from __future__ import annotations

import abc
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import ClassVar

import memsearch_engine
from memsearch_engine.agents.patches import Link, Patch, link, read
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import user_home

BY_MARKETPLACE = "memsearch@memsearch-tui"
SKILLS = ("memory-recall", "memory-config", "remember", "forget")
#: The agent with the hand-written skills. The skills of other agents are made from them.
_SKILLS_OF = "claude-code"
#: The command of a hook of ours in an agent's settings.
OURS = re.compile(
    r"memsearch(?:\.exe|_engine/hook_entry\.py)?['\"]? hook "
    rf"(?:{'|'.join(map(re.escape, agent_registry.names()))}) \w+$"
)
PEERS = re.compile(
    r"memsearch[^\s]*/(?:plugins/[\w-]+/)?hooks/[\w-]+\.sh|memsearch-(?:opencode|openclaw|claude)"
)


def bundled() -> Path:
    """Return the folder of the bundled plugins: in the wheel, or beside the sources."""
    here = Path(__file__).parent / "bundled"
    return here if here.is_dir() else Path(__file__).parents[3] / "plugins"


def skill_text(skill: str, agent: str) -> str:
    """Return the ``SKILL.md`` of one of ``SKILLS`` for an agent.

    All agents have the same text. Only Claude Code reads more than ``name`` and ``description`` in
    the front matter, so the other keys are left out for the rest.
    """
    path = bundled() / _SKILLS_OF / "skills" / skill / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    if agent == _SKILLS_OF:
        return text
    head, rule, body = text.partition("\n---\n")
    common = [
        line for line in head.split("\n") if line.startswith(("---", "name:", "description:"))
    ]
    return "\n".join(common) + rule + body


def command() -> str:
    """Return the absolute path of the ``memsearch`` command.

    An agent that a dock or an editor started does not have the PATH of a shell.
    """
    own = Path(sys.executable).parent / "memsearch"
    return str(own) if own.exists() else os.path.abspath(shutil.which("memsearch") or own)


def hook_argv() -> list[str]:
    """Return the arguments with which an agent starts a hook.

    They name the interpreter and the file, so they do not depend on the agent's environment.
    """
    return [
        sys.executable,
        "-P",
        "-E",
        "-S",
        str(Path(memsearch_engine.__file__).with_name("hook_entry.py")),
    ]


def with_programs(text: str) -> str:
    """Return a plug-in's source with the programs of this installation filled in."""
    for name, argv in (("MEMSEARCH", [command()]), ("HOOK", hook_argv())):
        text = text.replace(f'const {name} = ["memsearch"]', f"const {name} = {json.dumps(argv)}")
    return text


def missing(argv: list[str]) -> str:
    """Return why *argv* cannot be started, ``""`` if it can."""
    for number, part in enumerate(argv):
        if os.sep in part and not (
            os.access(part, os.X_OK) if number == 0 else os.path.isfile(part)
        ):
            return f"{part} is gone, or can't be run"
    if argv and os.sep not in argv[0]:
        return f"`{argv[0]}` has no path, and an agent without your shell's PATH does not find it"
    return ""


class Installer(abc.ABC):
    """Installs into one agent.

    The ``installer`` module of its package has a subclass ``Installer``.

    Attributes:
        agent: the agent.
        within: the folder of its settings below its home.
        source: its plug-in of ours, below that folder; ``""`` if the agent starts hooks instead.
        one_way_out: how to remove one of two installations.
        base: the folder of its settings.
    """

    agent: ClassVar[agent_registry.Agent]
    within = source = one_way_out = ""

    def __init__(self) -> None:
        home = moved_or(self.agent.home_variable, user_home() / self.agent.home)
        self.base = home / self.within

    def bundle(self) -> Path:
        """Return the folder with the files that we ship for this agent."""
        return bundled() / self.agent.name

    @abc.abstractmethod
    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete.

        Args:
            replace_peer: also switch memsearch's own plugin off.
        """

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        return []

    def problems(self) -> list[str]:
        """Return what in the agent's configuration prevents our hooks from working."""
        return []

    def plugin(self) -> str:
        """Return the version of our plugin from the agent's marketplace; ``""`` if not active."""
        return ""

    def plugin_problems(self) -> list[str]:
        """Return the problems of our plugin from the agent's marketplace."""
        return []

    def hooked(self) -> bool:
        """Return whether hooks of ours are in the agent's configuration."""
        return False

    def starts(self) -> list[list[str]]:
        """Return how the installed hooks are started: the arguments before ``hook``."""
        return starts_in(read(self.base / self.source)) if self.source else []

    def notes(self) -> list[str]:
        """Return hints about optional improvements."""
        return []

    def trust_planned(self) -> list[Patch]:
        """Return the patches of ``trusted``, as far as they are known before the installation."""
        return []

    def trusted(self, *, plugins: bool) -> list[Patch]:
        """Return patches that record the user's trust in our hooks for the agent.

        Args:
            plugins: the hooks of our plugin from a marketplace.
        """
        return []

    def rules(self) -> list[str]:
        """Return the rules that allow recall without a question each time; empty if not needed."""
        return []

    def lacks_rules(self) -> bool:
        """Return whether such rules are missing."""
        return False

    def with_rules(self, patches: list[Patch]) -> list[Patch]:
        """Return *patches* with the rules that allow recall without a question each time."""
        return patches

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part.

        Args:
            path: the file.
            now: its bytes.
            before: its bytes before the installation, None if it was new.

        Returns:
            The bytes to write, None to delete the file. An edited skill stays.
        """
        return now if path.endswith("SKILL.md") else None

    def _bundled_file(self, name: str, path: Path, why: str) -> Patch:
        """Return a patch for a file of ours that starts our programs."""
        return own_file(path, with_programs((self.bundle() / name).read_text("utf-8")), why)

    def _skills(self, folder: Path) -> list[Patch]:
        made = []
        for skill in SKILLS:
            text = skill_text(skill, self.agent.name)
            path = folder / skill / "SKILL.md"
            found = link(folder / skill)
            # The link leads to another program's skill of this name: replace the link, not the file
            # behind it.
            if found:
                made.append(Patch(str(folder / skill), found, None, f"link to {found.to}"))
            made.append(own_file(path, with_command(text), "skill", anew=found is not None))
        return made


def moved_or(variable: str, folder: Path) -> Path:
    """Return the folder that an environment variable names, as an absolute path, else *folder*.

    The path is absolute so that removal from another folder finds the same one.
    """
    moved = os.environ.get(variable, "")
    return Path(os.path.abspath(os.path.expanduser(moved))) if moved else folder


def own_file(path: Path, text: str, why: str, *, anew: bool = False) -> Patch:
    """Return a patch for a file that belongs to us. A link at its path is replaced.

    Args:
        why: the purpose, for people.
        anew: an earlier patch removes what is at its folder's path.
    """
    before: bytes | Link | None = None if anew else link(path) or read(path)
    if isinstance(before, Link) and read(path) == text.encode():
        before = text.encode()  # the user's own link to an identical file
    return Patch(str(path), before, text.encode(), why, own=True)


def with_command(text: str) -> str:
    """Return a skill with commands that name the program by its path on this machine."""
    name = quoted()
    return text.replace("`memsearch ", f"`{name} ").replace("Bash(memsearch ", f"Bash({name} ")


def quoted(name: str = "") -> str:
    """Return a program's path, quoted for a shell; the ``memsearch`` command's if *name* is empty.

    The quoting is always the same, because a permission rule only allows the text that it contains.
    """
    name = name or command()
    if re.search(r"[\"$`\\]", name):
        return shlex.quote(name)
    return f'"{name}"' if re.search(r"[^\w@%+=:,./-]", name) else name


def starts_in(source: bytes | None) -> list[list[str]]:
    """Return how a plug-in's source starts this program, once for hooks and once for tools."""
    found = []
    for text in re.findall(rb"(?m)^const (?:HOOK|MEMSEARCH) = (.+)$", source or b""):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        argv = [value] if isinstance(value, str) else value  # older versions have a string
        if isinstance(argv, list) and argv and all(isinstance(part, str) for part in argv):
            found.append(argv)
    return found
