"""``search``, ``expand`` and ``transcript`` through the running service, with the standard library
alone.

A command line with an unknown option is left to click, which prints the same.
"""

from __future__ import annotations

import os

import memsearch_engine as engine

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import Any

_MAX_HITS, _MAX_LINES = 200, 1000
_COMMON = {"--json": "json", "--json-output": "bare", "-j": "bare", "--all": "all", "-a": "all"}
#: Flags of a command: option -> (name, value).
_FLAGS: dict[str, dict[str, tuple[str, Any]]] = {
    "search": {option: (name, True) for option, name in _COMMON.items()}
    | {"--explain": ("explain", True), "--weak": ("weak", True)},
    "expand": {option: (name, True) for option, name in _COMMON.items()}
    | {"--raw": ("raw", True), "--section": ("whole", True), "--no-section": ("whole", False)},
}
_FLAGS["transcript"] = {
    "--json": ("json", True),
    "--full": ("full", True),
    "--raw": ("raw", True),
}
#: Options with a value: option -> (name, allowed values; none: a number).
_VALUES: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "search": {
        "--top-k": ("limit", ()),
        "-k": ("limit", ()),
        "--mode": ("mode", ("hybrid", "dense", "bm25", "lexical")),
        "--fusion": ("fusion", ("weighted", "rrf")),
    },
    "expand": {"--lines": ("lines", ()), "-n": ("lines", ())},
    "transcript": {"--context": ("context", ()), "-c": ("context", ())},
}


def run(arguments: list[str]) -> int | None:
    """Run a command line and return its exit code. None: click has to run it."""
    command = arguments[0] if arguments else ""
    if command not in _FLAGS or (options := _parsed(command, arguments[1:])) is None:
        return None
    words = options.pop("words")
    if not words or any("\ud800" <= char <= "\udfff" for word in words for char in word):
        return None
    try:
        if command == "search":
            return _search(" ".join(words), options)
        return (_expand if command == "expand" else _transcript)(words, options)
    except (KeyboardInterrupt, UnicodeEncodeError, MemoryError, OSError) as error:
        from memsearch_tui.cli.terminal import report

        return report(error, arguments)


def _parsed(command: str, arguments: list[str]) -> dict[str, Any] | None:
    """Return the options of a command line and its ``words``; None if an option is unknown here."""
    flags, values = _FLAGS[command], _VALUES[command]
    found: dict[str, Any] = {"words": []}
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            found["words"].append(argument)
        elif argument in flags:
            name, value = flags[argument]
            found[name] = value
        else:
            option, is_joined, value = argument.partition("=")
            if option not in values or (is_joined and not option.startswith("--")):
                return None
            name, choices = values[option]
            value = value if is_joined else next(rest, "")
            if choices and value in choices:
                found[name] = value
            elif not choices and value.isascii() and value.isdigit() and len(value) < 6:
                found[name] = int(value)
            else:
                return None
    return found


def _search(query: str, options: dict[str, Any]) -> int | None:
    mode, limit = options.get("mode", "hybrid"), options.get("limit")
    if limit == 0:
        return None
    answer = engine.search_running(
        query,
        limit=min(limit or 0, _MAX_HITS),
        mode=mode,
        fusion=options.get("fusion", ""),
        everything="all" in options,
        meanwhile=_load_output,
    )
    if answer is None:
        return None
    from memsearch_tui.cli import results

    return results.print_search(
        answer,
        mode,
        as_json="json" in options,
        bare="bare" in options,
        explain="explain" in options,
        query=query,
        weak="weak" in options,
    )


def _load_output() -> None:
    """Import what prints the answer: regular expressions alone take as long as Python's start."""
    from memsearch_tui.cli import results  # noqa: F401


def _expand(words: list[str], options: dict[str, Any]) -> int | None:
    lines = options.get("lines")
    if len(words) != 1 or (lines is not None and lines > _MAX_LINES):
        return None
    whole = options.get("whole", True)
    section = engine.expand_running(words[0], lines=lines, whole=whole, everything="all" in options)
    if section is None:
        return None
    from memsearch_tui.cli import results

    as_in_file = "raw" in options or lines is not None or not whole
    results.print_section(
        section, as_json="json" in options or "bare" in options, raw=as_in_file or None
    )
    return 0


def _transcript(words: list[str], options: dict[str, Any]) -> int | None:
    name, context = words[0], options.get("context", 0)
    if len(words) != 1 or context > _MAX_LINES or os.path.sep in name or os.path.exists(name):
        return None
    found = engine.transcript_running(
        name, context=context, full="full" in options, raw="raw" in options
    )
    if found is None:
        return None
    from memsearch_tui.cli import results

    results.print_transcript(found, as_json="json" in options)
    return 0
