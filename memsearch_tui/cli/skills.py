"""``memsearch skills``: recurring procedures, drafted as Agent Skills, with memsearch's flags."""

from __future__ import annotations

import os
from typing import TextIO

import click
from memsearch_engine import Patch, SkillCandidate, agent_names

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, memory_at
from memsearch_tui.counted import many

_BARE = click.option("--json-output", "-j", "also_json", is_flag=True, help="The same as --json.")


@click.group()
def skills() -> None:
    """Skills drafted from what recurs in your notes. No agent gets one before you install it."""


@skills.command(
    short_help="Have a model draft skills.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch skills distill --provider codex\n"
        "  memsearch config set plugins.claude-code.memory_to_skill.enabled true   every"
        " day by itself, where notes have come"
    ),
)
@click.option(
    "--plugin",
    default="",
    metavar="AGENT",
    help=f"Whose settings say who is asked: {', '.join(agent_names()[:4])} …",
)
@click.option(
    "--provider", default="", help="Whom to ask instead: an agent, or a name under llm.providers."
)
@click.option("--model", default="", help="Another model than its own.")
@click.option(
    "--force",
    is_flag=True,
    help="Though no note has come since the last time, or the pause is not over.",
)
@as_json
def distill(plugin: str, provider: str, model: str, force: bool) -> int:
    """Have a model draft skills from what recurred: each rests on notes of several sessions, and
    its commands were run here.
    """
    output.say("asking for what recurs …")
    result = memory_at().skills.distill(
        agent=plugin.replace("_", "-"),
        provider=provider,
        model=model,
        force=force or bool(provider),
    )
    output.emit(
        result,
        echo=(f"+ {name}" for name in result.names),
        say=(f"! {output.safe(name)}: {output.safe(why)}" for name, why in result.refused.items()),
    )
    if result.names:
        output.say(
            f"{many(len(result.names), 'skill')} drafted ({result.tokens:,} tokens) -"
            f" `memsearch skills show {result.names[0]}`, then `install`"
        )
    elif not result.refused:
        output.say(
            f"{result.state}: {output.safe(result.reason)}"
            if result.state in ("failed", "skipped")
            else "No new candidate skills."
        )
    return {"drafted": 0, "unchanged": 0, "skipped": 1}.get(result.state, 3)


@skills.command(
    epilog=(
        "\b\nExample:\n"
        "  memsearch skills add --name release-notes --description 'Write the release"
        " notes; before a release' --body-file -"
    )
)
@click.option("--name", required=True, help="What it is called; becomes its folder.")
@click.option(
    "--description", required=True, help="One sentence: what it does, and when to use it."
)
@click.option(
    "--body-file",
    required=True,
    type=click.File("r", encoding="utf-8"),
    help="The skill as markdown without front matter; - is stdin.",
)
@as_json
def add(name: str, description: str, body_file: TextIO) -> None:
    """Write a draft by hand."""
    candidate = memory_at().skills.add(name, description, body_file.read())
    output.emit(
        _json(candidate),
        say=(
            f"{candidate.name} is drafted in {output.safe(candidate.path)} - `memsearch skills"
            f" install {candidate.name}`"
        ),
    )


@skills.command("status", epilog="\b\nExample:\n  memsearch skills status")
@click.option("--hint", is_flag=True, help="One line for a session's start, or nothing.")
@_BARE
@as_json
def status(hint: bool) -> None:
    """List the drafts that wait to be installed."""
    memory = memory_at()
    found = memory.skills.all()
    new = [item.name for item in found if item.state == "new"]
    updated = [item.name for item in found if item.state == "update ready"]
    output.emit(
        {
            "root": os.path.join(os.path.dirname(memory.place.memory), "skill-candidates"),
            "candidate_count": len(found),
            "pending_count": len(new) + len(updated),
            "new_count": len(new),
            "updated_count": len(updated),
            "pending_names": sorted(new + updated),
        }
    )
    if not new and not updated:
        if not hint:
            output.echo("No candidate skill versions pending install.")
        return
    output.echo(
        f"SKILLS: {many(len(new) + len(updated), 'candidate skill version')} pending install - run"
        " the memory-to-skill skill to review and install."
    )
    if not hint:
        parts = [
            f"{word}: {', '.join(names)}"
            for word, names in (("New", new), ("updated", updated))
            if names
        ]
        output.echo(output.safe("; ".join(parts) + "."))


@skills.command(
    "list",
    short_help="List the drafts with their states.",
    epilog="\b\nExample:\n  memsearch skills list --json",
)
@_BARE
@as_json
def list_() -> None:
    """List the drafts, the state of each, and what has become of the notes that it rests on."""
    found = memory_at().skills.all()
    output.emit({"skills": [_json(item) for item in found]})
    for item in found:
        state = {"new": "install ready", "edited": "installed, and edited there"}.get(
            item.state, item.state
        )
        output.echo(
            output.safe(
                f"- {item.name} [candidate, seen {item.seen}x, {state}] - {item.description}"
            )
        )
        output.echo_each(f"    ! {problem}" for problem in _evidence(item))
    if not found:
        output.echo("No skills in the store yet.")


def _evidence(item: SkillCandidate) -> list[str]:
    found = (
        ["this home did not draft it: it came with a clone, or from another program"]
        if item.is_strange
        else []
    )
    if item.gone:
        found.append(
            f"{len(item.gone)} of the {many(len(item.sources), 'note')} that it rests on are gone"
        )
    if item.superseded:
        found.append(
            f"{len(item.superseded)} of the {many(len(item.sources), 'note')} that it rests on are"
            f" superseded: {', '.join(item.superseded)}"
        )
    return found


@skills.command(
    short_help="Show a draft and its notes.",
    epilog="\b\nExample:\n  memsearch skills show release-notes",
)
@click.argument("name")
@as_json
def show(name: str) -> None:
    """Show a draft, the notes that it rests on, and where it is installed."""
    item = memory_at().skills.get(name)
    output.emit(
        {**_json(item), "text": item.text},
        echo=output.safe(item.text.rstrip()),
        say=f"{item.state}; {output.safe(item.path)}"
        + (f"; from {', '.join(item.sources)}" if item.sources else ""),
    )
    output.say_each(f"installed: {output.safe(path)}" for path in item.installed)
    output.say_each(f"! {problem}" for problem in [*_evidence(item), *item.problems])


@skills.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch skills install release-notes                          where this"
        " project's agents look\n"
        "  memsearch skills install release-notes --path .claude/skills --path ~/.codex/skills"
    )
)
@click.argument("name")
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="DIR",
    help="A folder of skills; may be given several times.",
)
@click.option("--dry-run", "-n", is_flag=True, help="Show the files; write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def install(name: str, paths: tuple[str, ...], dry_run: bool, yes: bool) -> int:
    """Copy a draft into folders where agents look for skills. The files are shown first; `memsearch
    skills uninstall` takes them out again.
    """
    found = memory_at().skills
    planned = found.planned(name, paths)
    changes = [patch for patch in planned if patch.changes]
    for patch in changes:
        output.echo(output.style(output.safe(patch.path), "strong"))
        output.echo_each(f"    {output.safe(line)}" for line in _shown(patch))
    if not changes:
        output.say(f"{name} is already installed")
    if changes and not dry_run:
        output.confirm(f"Write {many(len(changes), 'file')}?", yes)
    installed = found.install(name, planned) if not dry_run else []
    output.emit(
        {
            "name": name,
            "installed": installed,
            "would_write": [patch.path for patch in changes] if dry_run else [],
        }
    )
    if installed and changes:
        output.say(f"{name} is installed - `memsearch skills uninstall {name}` takes it out")
    return 0


def _shown(patch: Patch) -> list[str]:
    if not isinstance(patch.before, bytes):
        return (patch.after or b"").decode("utf-8", "replace").splitlines()
    return output.diff(patch.before, patch.after)


@skills.command(epilog="\b\nExample:\n  memsearch skills uninstall release-notes")
@click.argument("name")
@as_json
def uninstall(name: str) -> int:
    """Take the installed copies of a draft out, as it was before. One that was edited since stays
    where it is.
    """
    done = memory_at().skills.uninstall(name)
    output.emit(
        {"changed": done},
        say="\n".join(f"removed: {output.safe(path)}" for path in done) or "nothing to remove",
    )
    return 0 if done else 1


@skills.command(epilog="\b\nExample:\n  memsearch skills remove release-notes")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def remove(name: str, yes: bool) -> None:
    """Take a draft away, and its installed copies out. `memsearch skills restore` brings the draft
    back.
    """
    found = memory_at().skills
    item = found.get(name)
    output.confirm(
        f"Take {name} away"
        + (f", and out of {many(len(item.installed), 'folder')}" if item.installed else "")
        + "?",
        yes,
    )
    found.remove(name)
    output.emit(
        {"removed": name}, say=f"{name} is gone - `memsearch skills restore {name}` brings it back"
    )


@skills.command(epilog="\b\nExample:\n  memsearch skills restore release-notes")
@click.argument("name")
@as_json
def restore(name: str) -> None:
    """Bring a draft back that was removed."""
    item = memory_at().skills.restore(name)
    output.emit(_json(item), say=f"{name} is back: {output.safe(item.path)}")


def _json(item: SkillCandidate) -> dict[str, object]:
    return {
        "name": item.name,
        "description": item.description,
        "seen": item.seen,
        "pending": item.is_pending,
        "is_new": item.state == "new",
        "state": item.state,
        "path": item.path,
        "sources": item.sources,
        "reason": item.reason,
        "installed": item.installed,
        "gone": item.gone,
        "overtaken": item.superseded,
    }
