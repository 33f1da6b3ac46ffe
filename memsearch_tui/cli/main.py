"""The entry point of the command ``memsearch``.

A hook is dispatched before click is imported, because an agent waits for it.
"""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line or the app; the entry point of the console script."""
    arguments = sys.argv[1:]
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_streams()
    if arguments[:1] == ["hook"] and len(arguments) == 3 and not arguments[2].startswith("-"):
        from memsearch_engine import hook

        sys.exit(hook(arguments[1], arguments[2]))
    _utf8()
    if arguments[:1] in (["search"], ["expand"], ["transcript"]):
        from memsearch_tui.cli import quick

        if (code := quick.run(arguments)) is not None:
            sys.exit(code)
    from memsearch_tui.cli.terminal import is_interactive

    if arguments in ([], ["tui"]) and is_interactive():
        arguments = _open_app() or arguments
    from memsearch_tui.cli.group import run

    sys.exit(run(arguments))


def _open_app() -> list[str]:
    """Open the app without the imports that only commands need.

    Returns:
        The command that was chosen in the app. It is empty if the app cannot start: the command
        then reports why.
    """
    import contextlib
    import gc

    # objects of the start stay alive; collecting them repeatedly took a seventh of the start
    gc.disable()
    try:
        from memsearch_engine import MemsearchError

        with contextlib.suppress(MemsearchError):
            from memsearch_tui.app import run
            from memsearch_tui.screens.browse.screen import DEMO

            if (code := run()) != DEMO:
                sys.exit(code)
            return ["demo"]
    finally:
        gc.enable()
    return []


def _open_streams() -> None:
    """Open ``/dev/null`` for each standard stream that the caller closed.

    Otherwise the next file, such as a database, would get its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))


def _utf8() -> None:
    """Use UTF-8 for all streams, whatever the locale: notes are UTF-8, and a wrong character is
    worse than an odd one.
    """
    if (
        sys.getfilesystemencoding().lower().replace("-", "") != "utf8"
        and sys.executable
        and not sys.flags.utf8_mode
    ):
        # arguments and file names were already decoded by that locale: start again
        try:
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
        except OSError:
            pass
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        if (
            isinstance(stream, io.TextIOWrapper)
            and (stream.encoding or "").lower().replace("-", "") != "utf8"
        ):
            stream.reconfigure(encoding="utf-8", errors="replace")
    os.environ.setdefault("PYTHONUTF8", "1")


if __name__ == "__main__":
    main()
