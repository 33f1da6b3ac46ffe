"""``memsearch demo``: write the sample year into a temporary home, index it, show it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path

import click
from memsearch_engine import Home, Memory, all_agents

from memsearch_tui.cli import output
from memsearch_tui.demo.history import build
from memsearch_tui.demo.home import fill
from memsearch_tui.demo.repository import make

_QUERY = "could a voucher be used twice"
_PROMPT = "deploy the hotfix to production tomorrow, friday"
_PROJECT = "orders-api"
_FILE = "app/core/settings.py"


def demo_root() -> Path:
    return Path(tempfile.gettempdir()) / f"memsearch-demo-{os.getuid()}"


def prepare(root: Path, *, fresh: bool, end: date | None = None) -> tuple[Home, Path]:
    """The demo's home and its first project, written anew when the day has changed. Sets the
    environment to it.
    """
    end = end or date.today()
    home = Home(root / "home")
    stamp = root / "ends-on"
    if root.is_symlink() or (root.exists() and root.stat().st_uid != os.getuid()):
        raise PermissionError(13, "not a folder of this user", str(root))
    if fresh or not stamp.is_file() or stamp.read_text() != end.isoformat():
        Memory(root, home=home).service.stop()
        for name in ("projects", "agents", "home"):
            shutil.rmtree(root / name, ignore_errors=True)
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = build(root, end)
        make(made.projects[_PROJECT], made.told, end)
        fill(root, made, end)
        stamp.write_text(end.isoformat())
    os.environ["MEMSEARCH_HOME"] = str(home.root)
    for agent in all_agents():  # what is on this machine stays out of it
        if agent.home_variable and not agent.home_variable.startswith("XDG_"):
            os.environ[agent.home_variable] = str(root / "agents" / agent.name)
    os.environ["CLAUDE_CONFIG_DIR"] = str(root / "agents" / "claude")
    os.environ.pop("MEMSEARCH_DIR", None)
    return home, root / "projects" / _PROJECT


def run(*, open_app: bool, fresh: bool, json_: bool) -> int:
    root = demo_root()
    home, project = prepare(root, fresh=fresh)
    os.chdir(project)
    interactive = (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "") not in ("", "dumb")
    )
    for folder in sorted((root / "projects").iterdir()):
        _ = Memory(str(folder), home=home).projects  # registers it
    memory = Memory(str(project), home=home)
    if open_app and interactive:
        from memsearch_tui.app import run as open_

        return open_(everything=True)
    progress = output.Progress()
    try:
        results = Memory(project, home=home, everything=True).index(progress=progress)
    finally:
        progress.close()
    answer = Memory(str(project), home=home, everything=True).search(_QUERY, 3)
    total = {
        key: sum(getattr(result, key) for result in results)
        for key in ("files", "entries", "chunks", "embedded")
    }
    if json_:
        hits = [
            {"entry_id": hit.row.entry_id, "day": hit.row.day, "content": hit.row.text}
            for hit in answer.hits
        ]
        output.emit(
            {
                **total,
                "home": str(home.root),
                "project": str(project),
                "query": _QUERY,
                "mode": answer.mode,
                "hits": hits,
            }
        )
        return 0
    click.echo(
        f"A sample year in {root}: {total['files']} day files, {total['entries']} memories,"
        f" {total['chunks']} chunks indexed\n\nmemsearch search '{_QUERY}'"
    )
    for hit in answer.hits[:1]:
        section = memory.files.section(hit.row.chunk_id)
        click.echo(
            f"  {hit.row.day} {hit.row.time}  {hit.row.agent}  {hit.row.chunk_id}  ({answer.mode};"
            f" {'; '.join(hit.reasons)})\n"
        )
        click.echo(f"memsearch expand {hit.row.chunk_id}")
        for line in section.entry.body.splitlines():
            click.echo(f"  {output.safe(line)}")
    click.echo(f"\nmemsearch context --prompt '{_PROMPT}'")
    click.echo("  (what an agent is told, unasked, when you type that)")
    for line in memory.injection.preview(_PROMPT).text.splitlines():
        if line.startswith("- "):
            click.echo(f"  {output.safe(line[2:])}")
    stale = memory.staleness.verify().stale
    click.echo("\nmemsearch verify")
    for found in stale[:2]:
        click.echo(
            f"  {found.row.day} {found.row.agent:11s} "
            f" {output.safe(output.clip(found.standing.words, 90))}"
        )
    click.echo(f"\nmemsearch blame {_FILE}")
    for act in memory.actions.blame(_FILE):
        note = memory.note(act.entry)
        click.echo(f"  {note.day} {act.agent:11s}  {output.safe(output.clip(note.title, 90))}")
    click.echo(
        "\nTo go on yourself:\n  export"
        f" MEMSEARCH_HOME={home.root} CLAUDE_CONFIG_DIR={os.environ['CLAUDE_CONFIG_DIR']}; cd"
        f" {project}\n  memsearch                       open the app\n  memsearch search 'redis"
        " ttl'    search from the command line"
    )
    return 0
