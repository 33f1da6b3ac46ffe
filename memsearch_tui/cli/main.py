"""The command ``memsearch``: one table of commands, each imported only when it is called.

A hook is dispatched before click is imported: an agent waits for it.
"""

from __future__ import annotations

import os
import sys

#: group -> command -> (module, function, one line of help)
COMMANDS = {
    "Recall": {
        "search": ("find", "search", "Find memories by meaning and words."),
        "expand": ("find", "expand", "Show the whole section behind a hit."),
        "transcript": (
            "conversation",
            "transcript",
            "Open the conversation that a memory came from.",
        ),
        "show": ("listing", "show", "Print a day."),
        "days": ("listing", "days", "List the days that have memories."),
        "entries": ("listing", "entries", "List entries."),
        "trace": (
            "supersession",
            "trace",
            "What was decided on a matter, in the order it was; the last holds.",
        ),
        "amends": ("supersession", "amends", "Say whether a note amends another, or not."),
        "how": ("done", "how", "How something was run: the commands that worked."),
        "fix": ("done", "fix", "Where an error was met, and what mended it."),
        "blame": ("done", "blame", "Which turns wrote to a file, and what was noted of them."),
        "why-not": ("find", "why_not", "Say why a note is not among the hits."),
    },
    "Notes": {
        "add": ("notes", "add", "Write a note into today."),
        "edit": ("notes", "edit", "Change an entry."),
        "delete": ("notes", "delete", "Delete entries (undo brings them back)."),
        "undo": ("notes", "undo", "Take back the last change."),
        "redo": ("notes", "redo", "Do again what was undone."),
        "history": ("notes", "history", "List changes, newest first."),
        "restore": ("notes", "restore", "Bring an entry back to an earlier state."),
        "pin": ("notes", "pin", "Pin an entry: it ranks higher and never fades."),
        "confidence": (
            "notes",
            "confidence",
            "Say how sure an entry is: low ones are not told to agents.",
        ),
        "expire": ("notes", "expire", "Let an entry expire on a day."),
        "compact": ("compact", "compact", "Write a digest of a day, a week or a query into today."),
        "export": ("notes", "export", "Write entries as markdown or JSON."),
    },
    "Index": {
        "index": ("index", "index", "Bring the index up to date."),
        "watch": ("index", "watch", "Keep the index up to date and show what changes."),
        "stats": ("index", "stats", "Count what is indexed."),
        "health": ("index", "health", "State of files, index, model and service."),
        "doctor": ("index", "doctor", "Check everything; --fix mends what is safe to mend."),
        "reset": ("index", "reset", "Throw the index away and build it again (notes stay)."),
        "models": ("index", "models", "List, fetch and choose embedding models."),
    },
    "Capture": {
        "hook": ("capture", "hook", "Entry point of the agents' hooks (reads a payload on stdin)."),
        "inbox": ("capture", "inbox", "Work off and list what hooks have left."),
        "coverage": ("capture", "coverage", "Turns seen and captured, by agent and day."),
        "summarize": (
            "peer",
            "summarize",
            "Write notes of the turn on stdin, by an agent's model.",
        ),
        "spend": ("capture", "spend", "What models have cost, and what summaries wait."),
        "context": ("capture", "context", "Show what a new session would be told."),
        "agents": (
            "history",
            "agents",
            "Which agents are here, where their sessions are, what is captured.",
        ),
        "import": ("history", "import_", "Bring old sessions of the agents into memory."),
        "evidence": (
            "history",
            "evidence",
            "Keep, count and prune the conversations behind memories.",
        ),
    },
    "Long term": {
        "remember": ("longterm", "remember", "Note a fact down; every new session is told."),
        "forget": ("longterm", "forget", "Take facts out of the long-term memory."),
        "longterm": ("longterm", "longterm", "Learn from sessions, review, show, clear."),
        "native": (
            "native",
            "native",
            "What agents remember by themselves: list, show, take into notes.",
        ),
        "skills": (
            "skills",
            "skills",
            "Skills drafted from what recurs: list, show, install, take out.",
        ),
    },
    "Trust": {
        "secrets": ("trust", "secrets", "Find secrets, and take them out everywhere."),
        "trust": ("trust", "trust", "Notes that wait for your word before sessions are told."),
        "repair": ("trust", "repair", "Find junk and repetitions; mend them on your word."),
        "sync": ("sync", "sync", "One memory on all your machines, and in all branches."),
        "share": ("share", "share", "Notes for the project's team, or for anybody in a file."),
        "verify": (
            "verify",
            "verify",
            "Find notes whose files, symbols or commands are gone or elsewhere.",
        ),
        "supersede": ("trust", "supersede", "Mark a note as overtaken by another."),
    },
    "Setup": {
        "status": ("setup", "status", "One look at everything."),
        "tui": ("setup", "tui", "Open the terminal app."),
        "mcp": ("mcp", "mcp", "Serve this memory to any agent (Model Context Protocol)."),
        "plugins": (
            "plugins",
            "plugins",
            "Install memsearch into your agents, and take it out again.",
        ),
        "config": ("setup", "config", "Read and change settings."),
        "service": ("setup", "service", "Start, stop and inspect the resident service."),
        "project": (
            "setup",
            "project",
            "Which project this folder belongs to; its PROJECT.md and USER.md.",
        ),
        "demo": ("setup", "demo", "Try it on a sample year of memories."),
        "completion": ("setup", "completion", "Print a completion script for your shell."),
        "version": ("setup", "version", "Print the version."),
    },
}


def main() -> None:
    """Entry point of the console script."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and len(arguments) == 3 and not arguments[2].startswith("-"):
        from memsearch_engine import hook

        sys.exit(hook(arguments[1], arguments[2]))
    _utf8()
    if arguments[:1] in (["search"], ["expand"]):
        from memsearch_tui.cli import quick

        if (code := quick.run(arguments)) is not None:
            sys.exit(code)
    if arguments in ([], ["tui"]) and is_terminal():
        arguments = _open_app() or arguments
    from memsearch_tui.cli.group import run

    sys.exit(run(arguments))


def is_terminal() -> bool:
    """Whether there is somebody to show a screen to."""
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "") not in ("", "dumb")
    )


def _open_app() -> list[str]:
    """Open the app without what only commands need. Returns the command that was asked for in it;
    nothing where it can't start: the command says why.
    """
    import contextlib
    import gc

    # all that a start makes stays, and looking through it again and again was a seventh of the
    # start
    gc.disable()
    try:
        from memsearch_engine import MemsearchError

        with contextlib.suppress(MemsearchError):
            from memsearch_tui.app import run
            from memsearch_tui.screens.browse import DEMO

            if (code := run()) != DEMO:
                sys.exit(code)
            return ["demo"]
    finally:
        gc.enable()
    return []


def _utf8() -> None:
    """Speak UTF-8 whatever the locale says: notes are UTF-8, and a mangled sign is worse than an
    odd one.
    """
    if (
        sys.getfilesystemencoding().lower().replace("-", "") != "utf8"
        and sys.executable
        and not sys.flags.utf8_mode
    ):
        # arguments and names of files were read by that locale already: this start is made again
        try:
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
        except OSError:
            pass
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        if stream is not None and (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    os.environ.setdefault("PYTHONUTF8", "1")


if __name__ == "__main__":
    main()
