"""What an installer is: the lines of its own configuration that an agent needs, and our skills
beside its own.

Nothing is fetched. memsearch's own plugins do the same work: beside one of them ours is not
installed, unless it takes its place.
"""

from __future__ import annotations

import abc
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import memsearch_engine
from memsearch_engine.agents.patches import Link, Patch, link, read
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import user_home

BY_MARKETPLACE = "memsearch@memsearch-tui"
SKILLS = ("memory-recall", "memory-config", "remember", "forget")
#: The agent whose skills are written by hand; those of the others are made from them.
_SKILLS_OF = "claude-code"
#: A hook of ours in an agent's settings, and memsearch's own.
OURS = re.compile(
    rf"memsearch(?:\.exe|_engine/hook_entry\.py)?['\"]? hook (?:{'|'.join(map(re.escape, agent_registry.names()))}) \w+$"
)
PEERS = re.compile(
    r"memsearch[^\s]*/(?:plugins/[\w-]+/)?hooks/[\w-]+\.sh|memsearch-(?:opencode|openclaw|claude)"
)


def bundled() -> Path:
    """The plugins that this installation brings: in the wheel, or beside the sources."""
    here = Path(__file__).parent / "bundled"
    return here if here.is_dir() else Path(__file__).parents[3] / "plugins"


def skill_text(skill: str, agent: str) -> str:
    """The ``SKILL.md`` of one of ``SKILLS`` for an agent.

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
    """The whole path of the ``memsearch`` command: an agent started by a dock or an editor has not
    the PATH of a shell.
    """
    own = Path(sys.executable).parent / "memsearch"
    return str(own) if own.exists() else os.path.abspath(shutil.which("memsearch") or own)


def hook_argv() -> list[str]:
    """How an agent starts a hook: by the interpreter and the file themselves, whatever its
    environment is.
    """
    return [
        sys.executable,
        "-P",
        "-E",
        "-S",
        str(Path(memsearch_engine.__file__).with_name("hook_entry.py")),
    ]


def with_programs(text: str) -> str:
    """A plug-in's source that knows how this installation is started."""
    for name, argv in (("MEMSEARCH", [command()]), ("HOOK", hook_argv())):
        text = text.replace(f'const {name} = ["memsearch"]', f"const {name} = {json.dumps(argv)}")
    return text


def missing(argv: list[str]) -> str:
    """Why a hook can't be started by *argv*; '' where it can."""
    for number, part in enumerate(argv):
        if os.sep in part and not (
            os.access(part, os.X_OK) if number == 0 else os.path.isfile(part)
        ):
            return f"{part} is gone, or can't be run"
    if argv and os.sep not in argv[0]:
        return f"`{argv[0]}` has no path, and an agent without your shell's PATH does not find it"
    return ""


class Installer(abc.ABC):
    """One agent's own configuration: the class ``Installer`` of the module ``installer`` of its
    package is one of these.
    """

    name = ""
    #: How one of two goes, where ours is here twice.
    one_way_out = ""

    def bundle(self) -> Path:
        """The folder of the files that we bring for it."""
        return bundled() / self.name

    @abc.abstractmethod
    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """What installing changes, nothing where all of it stands. *replace_peer*: switch
        memsearch's own plugin off.
        """

    def peer(self) -> list[str]:
        """Where memsearch's own plugin is active."""
        return []

    def problems(self) -> list[str]:
        """What keeps ours from working, as it stands in its configuration."""
        return []

    def plugin(self) -> str:
        """The version of ours that came by a marketplace of the agent's own; '' where none is
        active.
        """
        return ""

    def plugin_problems(self) -> list[str]:
        """The same, of what came by a marketplace."""
        return []

    def hooked(self) -> bool:
        """Whether hooks of ours stand in the agent's configuration."""
        return False

    def starts(self) -> list[list[str]]:
        """How the hooks that are installed now are started: the program and what follows it, up to
        the word ``hook``.
        """
        return []

    def notes(self) -> list[str]:
        """What could be, and is not wrong."""
        return []

    def trust_planned(self) -> list[Patch]:
        """What ``trusted`` will change, as far as that is known before ours is installed."""
        return []

    def trusted(self, *, plugins: bool) -> list[Patch]:
        """What says to the agent that its user trusts ours; *plugins*: that which came by a
        marketplace.
        """
        return []

    def rules(self) -> list[str]:
        """What lets it look things up without asking each time, in its own words; nothing where it
        doesn't ask.
        """
        return []

    def lacks_rules(self) -> bool:
        return False

    def with_rules(self, patches: list[Patch]) -> list[Patch]:
        """*patches*, and what lets the agent look things up without asking each time."""
        return patches

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """*now*, which somebody changed, without what is ours; None where all of it is. A skill
        that was edited stays.
        """
        return now if path.endswith("SKILL.md") else None

    def _skills(self, folder: Path) -> list[Patch]:
        made = []
        for skill in SKILLS:
            text = skill_text(skill, self.name)
            path = folder / skill / "SKILL.md"
            found = link(folder / skill)
            # The link leads to another program's skill of this name: replace the link, not the
            # file behind it.
            if found:
                made.append(Patch(str(folder / skill), found, None, f"link to {found.to}"))
            made.append(own_file(path, with_command(text), "skill", anew=found is not None))
        return made


def moved_or(variable: str, folder: Path) -> Path:
    """The folder that a variable names, absolute: it is taken out of the same one from wherever
    that is asked; else *folder*.
    """
    moved = os.environ.get(variable, "")
    return Path(os.path.abspath(os.path.expanduser(moved))) if moved else folder


def own_file(path: Path, text: str, why: str, *, anew: bool = False) -> Patch:
    """A file that is wholly ours. A link in its place gives way; *anew*: its folder is made by an
    earlier patch.
    """
    before: bytes | Link | None = None if anew else link(path) or read(path)
    if isinstance(before, Link) and read(path) == text.encode():
        before = text.encode()  # the user's own link to the very same file
    return Patch(str(path), before, text.encode(), why, own=True)


def with_command(text: str) -> str:
    """A skill whose commands name the program as this machine finds it."""
    name = quoted()
    return text.replace("`memsearch ", f"`{name} ").replace("Bash(memsearch ", f"Bash({name} ")


def quoted(name: str = "") -> str:
    """A program's path (the command's own where none is given) as a shell reads it, in one way
    everywhere: a rule allows just what is written as the rule is.
    """
    name = name or command()
    if re.search(r"[\"$`\\]", name):
        return shlex.quote(name)
    return f'"{name}"' if re.search(r"[^\w@%+=:,./-]", name) else name


def starts_in(source: bytes | None) -> list[list[str]]:
    """How a plug-in's source starts this program: once for its hooks, and once for its tools where
    it has any.
    """
    found = []
    for text in re.findall(rb"(?m)^const (?:HOOK|MEMSEARCH) = (.+)$", source or b""):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        argv = [value] if isinstance(value, str) else value  # a string in older versions
        if isinstance(argv, list) and argv and all(isinstance(part, str) for part in argv):
            found.append(argv)
    return found


class Client(NamedTuple):
    """Where a client of the Model Context Protocol lists its servers: ``CLIENT`` in the module
    ``mcp_entry`` of an agent's package.

    ``file``: below the user's home, unless *variable* names the folder; ``under``: the tables that
    lead to the entry.
    """

    title: str
    file: str
    under: tuple[str, ...]
    entry: Callable[[str], dict[str, Any]]
    variable: str = ""
    comments: bool = False
    moved_within: str = ""  # the file's folder below the one that *variable* names

    def path(self) -> Path:
        own = user_home() / self.file
        if not self.variable or not os.environ.get(self.variable):
            return own
        return moved_or(self.variable, own) / self.moved_within / own.name


def plain_entry(program: str) -> dict[str, Any]:
    return {"command": program, "args": ["mcp"], **({"env": moved()} if moved() else {})}


def moved() -> dict[str, str]:
    """What a server has to be told where our home was moved: clients hand little of their own
    environment on.
    """
    home = os.environ.get("MEMSEARCH_HOME", "")
    return {"MEMSEARCH_HOME": os.path.abspath(os.path.expanduser(home))} if home else {}
