"""``memsearch demo``: write the sample year into a temporary home, index it, and show it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from memsearch_engine import Answer, Home, Memory, all_agents

from memsearch_tui.cli import output
from memsearch_tui.cli.terminal import is_interactive
from memsearch_tui.demo.history import build, fillers, stories
from memsearch_tui.demo.home import fill, make_repository

_QUERY = "can a coupon be redeemed twice"
_PROMPT = "deploy the hotfix to production tomorrow, friday"
_PROJECT = "orders-api"
_FILE = "app/core/settings.py"


_NEXT = """
To go on with the sample:
  export MEMSEARCH_HOME={home} CLAUDE_CONFIG_DIR={agents}
  cd {at}
  memsearch                             open the app
  memsearch search 'redis ttl'          search from the command line
  memsearch review                      decide what waits

To begin with your own, in a new terminal:
  memsearch agents                      which agents are on this machine
  memsearch agents install claude-code  capture its turns from now on
  memsearch agents import --all --dry-run
                                        what an import would add"""


def demo_root() -> Path:
    """Return the folder of the demo."""
    return Path(tempfile.gettempdir()) / f"memsearch-demo-{os.getuid()}"


def last_day(*clocks: datetime) -> date:
    """Return the newest day on which the sample year can end: all its notes lie before now.

    Args:
        clocks: the current time, in each time zone that the notes may be read in.
    """
    now, newest = min(clocks), max(s.time for s in (*stories(), *fillers()) if s.day == 0)
    return now.date() - timedelta(days=f"{now:%H:%M}" <= newest)


def prepare(root: Path, *, end: date | None = None) -> tuple[Home, Path]:
    """Write the demo if it does not exist or if the day has changed.

    Sets the environment to its home.

    Args:
        end: the last day of the year; None: the newest one whose notes lie before now.

    Returns:
        The demo's home and the folder of its first project.
    """
    end = end or last_day(datetime.now(), datetime.now(UTC).replace(tzinfo=None))
    home = Home(root / "home")
    stamp = root / "ends-on"
    if root.is_symlink() or (root.exists() and root.stat().st_uid != os.getuid()):
        raise PermissionError(13, "not a folder of this user", str(root))
    if not stamp.is_file() or stamp.read_text() != end.isoformat():
        Memory(root, home=home).service.stop()
        for name in ("projects", "agents", "home"):
            shutil.rmtree(root / name, ignore_errors=True)
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = build(root, end)
        make_repository(made.projects[_PROJECT], made.captured, end)
        fill(root, made, end)
        stamp.write_text(end.isoformat())
    os.environ["MEMSEARCH_HOME"] = str(home.root)
    for agent in all_agents():  # the demo must not read this machine's agents
        if agent.home_variable and not agent.home_variable.startswith("XDG_"):
            os.environ[agent.home_variable] = str(root / "agents" / agent.name)
    os.environ["CLAUDE_CONFIG_DIR"] = str(root / "agents" / "claude")
    os.environ.pop("MEMSEARCH_DIR", None)
    return home, root / "projects" / _PROJECT


def run(*, open_app: bool, json_: bool) -> int:
    """Write the sample year if needed; then open the app on it, or print sample commands.

    Returns:
        An exit code.
    """
    root = demo_root()
    home, project = prepare(root)
    os.chdir(project)
    for folder in sorted((root / "projects").iterdir()):
        _ = Memory(str(folder), home=home).projects  # reading this registers the project
    memory = Memory(str(project), home=home)
    if open_app and is_interactive():
        from memsearch_tui.app import run as open_

        return open_(everything=True)
    progress = output.Progress()
    try:
        results = Memory(project, home=home, everything=True).index(progress=progress)
    finally:
        progress.close()
    answer = Memory(str(project), home=home, everything=True).search(_QUERY, 3)
    names = ("files", "entries", "chunks", "embedded")
    total = {name: sum(getattr(result, name) for result in results) for name in names}
    if json_:
        hits = [
            {"entry_id": hit.id, "day": hit.day, "content": hit.row.text} for hit in answer.hits
        ]
        where = {"home": str(home.root), "project": str(project)}
        output.emit({**total, **where, "query": _QUERY, "mode": answer.mode, "hits": hits})
        return 0
    output.echo(
        f"A sample year in {root}: {total['files']} day files, {total['entries']} notes,"
        f" {total['chunks']} chunks indexed"
    )
    for command, lines in _walk(memory, answer):
        output.echo(f"\n{output.style(f'memsearch {command}', 'strong')}")
        output.echo_each(f"  {output.safe(line)}" for line in lines)
    output.echo(_NEXT.format(home=home.root, agents=os.environ["CLAUDE_CONFIG_DIR"], at=project))
    return 0


def _walk(memory: Memory, answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """Yield sample commands, each with its shortened output."""
    for hit in answer.hits[:1]:
        yield f"search '{_QUERY}'", [f"{hit.day} {hit.time}  {hit.agent}  {hit.id}"]
        yield f"expand {hit.id}", memory.note(hit.id).text.splitlines()
    injected = memory.injection.preview(_PROMPT).text.splitlines()
    lines = [line[2:] for line in injected if line.startswith("- ")]
    yield (
        f"agents context --prompt '{_PROMPT}'",
        ["(what an agent gets when you type that)", *lines],
    )
    stale = memory.staleness.verify().stale[:2]
    yield (
        "verify",
        [
            f"{one.row.day} {one.row.agent:11s}  {output.clip(one.standing.words, 90)}"
            for one in stale
        ],
    )
    acts = [(memory.note(act.entry), act.agent) for act in memory.actions.blame(_FILE)]
    yield (
        f"blame {_FILE}",
        [f"{note.day} {agent:11s}  {output.clip(note.title, 90)}" for note, agent in acts],
    )
