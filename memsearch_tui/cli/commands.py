"""The table of commands, grouped by purpose: module, function and one line of help. It imports no
command.

``memsearch --help`` shows ``VISIBLE``; ``memsearch help --all`` adds ``MORE`` under the same
groups. ``ALIASES`` are older names: they work but are not listed.
"""

from __future__ import annotations

from collections import namedtuple

Command = namedtuple("Command", "module function help")
#: An older name. ``instead``: the new name, which a remark on stderr gives. It is '' for a name
#: that memsearch's own users, plugins and skills call: that name stays supported without a remark.
Alias = namedtuple("Alias", "module function instead")

VISIBLE = {
    "Find": {
        "search": Command("find", "search", "Find notes by meaning and words."),
        "expand": Command("find", "expand", "Show the whole note behind a hit."),
        "transcript": Command("find", "transcript", "Open the conversation behind a note."),
        "trace": Command("outdated", "trace", "Show how the notes on a topic changed."),
        "how": Command("done", "how", "Show how something was run: the commands that worked."),
        "fix": Command("done", "fix", "Show where an error occurred, and what fixed it."),
    },
    "Notes": {
        "add": Command("notes", "add", "Write a note into today."),
        "edit": Command("notes", "edit", "Change a note."),
        "delete": Command("notes", "delete", "Delete notes (`undo` brings them back)."),
        "undo": Command("notes", "undo", "Undo the last change."),
        "mark": Command("notes", "mark", "Pin a note, let it expire, name its newer version."),
    },
    "Decide": {
        "review": Command("review", "review", "Decide what waits: list, open, accept, reject."),
    },
    "Agents": {
        "agents": Command("agents", "agents", "Connect agents, import their sessions, check them."),
    },
    "Long term": {
        "remember": Command("longterm", "remember", "Write a fact that every session gets."),
        "longterm": Command("longterm", "longterm", "Learn from sessions: run, review, clear."),
    },
    "Machines and team": {
        "sync": Command("sync", "sync", "Share one memory between your machines."),
    },
    "System": {
        "status": Command("index", "status", "Show the state of everything on one screen."),
        "doctor": Command("doctor", "doctor", "Check everything; --fix repairs what is safe."),
        "config": Command("config", "config", "Read and change settings."),
        "demo": Command("setup", "demo", "Try it on a sample year of notes."),
    },
}

MORE = {
    "Find": {
        "days": Command("find", "days", "List the days that have notes."),
        "show": Command("find", "show", "Print a day."),
        "entries": Command("find", "entries", "List notes, for scripts."),
        "blame": Command("done", "blame", "Show which turns wrote to a file."),
    },
    "Notes": {
        "history": Command("notes", "history", "List changes, newest first."),
        "redo": Command("notes", "redo", "Do again what was undone."),
        "restore": Command("notes", "restore", "Bring a note back to an earlier state."),
        "export": Command("notes", "export", "Write notes as markdown or JSON."),
        "compact": Command("pages", "compact", "Write a digest of many notes into today."),
    },
    "Decide": {
        "trust": Command("trust", "trust", "Quarantined notes: release, quarantine, sources."),
        "repair": Command("trust", "repair", "Find junk and repetitions, and repair them."),
        "verify": Command("outdated", "verify", "Compare notes with the repository."),
        "supersession": Command(
            "outdated", "supersession", "Decide whether a note supersedes another."
        ),
    },
    "Long term": {
        "forget": Command("longterm", "forget", "Take facts out of the long-term memory."),
        "pages": Command("pages", "pages", "PROJECT.md and USER.md: propose, accept, undo."),
        "skills": Command("skills", "skills", "Skills drafted from what recurs."),
    },
    "Machines and team": {
        "share": Command("share", "share", "Share notes with the project's team, or in a file."),
    },
    "System": {
        "index": Command("index", "index", "Bring the index up to date."),
        "watch": Command("index", "watch", "Update the index continuously and show changes."),
        "reset": Command("index", "reset", "Build the index again (notes stay)."),
        "models": Command("index", "models", "List, fetch and choose embedding models."),
        "service": Command("setup", "service", "Start, stop and inspect the resident service."),
        "project": Command("setup", "project", "Show which project this folder belongs to."),
        "secrets": Command("trust", "secrets", "Find secrets, and remove them everywhere."),
        "mcp": Command("setup", "mcp", "Serve this memory to any agent over MCP."),
        "tui": Command("setup", "tui", "Open the terminal app."),
        "completion": Command("setup", "completion", "Print a completion script for your shell."),
        "version": Command("setup", "version", "Print the version."),
        "help": Command("help", "help_", "Explain a command or a topic."),
    },
}

#: Stay supported without a remark: the commands of memsearch's own command line, and those that its
#: plugins, our plugins and our skills call.
ALIASES = {
    "hook": Alias("capture", "hook", ""),
    "summarize": Alias("capture", "summarize", ""),
    "stats": Alias("index", "stats", ""),
    "health": Alias("index", "health", "status --index"),
    "spend": Alias("capture", "spend", "status --cost"),
    "why-not": Alias("find", "why_not", "search --why-not"),
    "pin": Alias("notes", "pin", "mark --pin"),
    "confidence": Alias("notes", "confidence", "mark --confidence"),
    "expire": Alias("notes", "expire", "mark --expires"),
    "supersede": Alias("notes", "supersede", "mark --superseded-by"),
    "amends": Alias("outdated", "supersession", "supersession"),
    "plugins": Alias("plugins", "plugins", "agents install"),
    "import": Alias("history", "import_", "agents import"),
    "context": Alias("capture", "context", ""),
    "coverage": Alias("capture", "coverage", ""),
    "evidence": Alias("history", "evidence", "agents evidence"),
    "inbox": Alias("capture", "inbox", "agents queue"),
    "native": Alias("agents", "files", "agents files"),
}


def listed(*, everything: bool) -> dict[str, dict[str, Command]]:
    """Return the commands that help lists, by group.

    Args:
        everything: add the commands of ``MORE``.
    """
    if not everything:
        return VISIBLE
    return {group: {**commands, **MORE.get(group, {})} for group, commands in VISIBLE.items()}


def found(name: str) -> Command | Alias | None:
    """Return the row of a command or alias; None for an unknown name."""
    for table in (VISIBLE, MORE):
        for commands in table.values():
            if name in commands:
                return commands[name]
    return ALIASES.get(name)
