"""The rows of the health page: each part, its problems and their repairs.

No widget here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memsearch_tui.activity import Line
from memsearch_tui.counted import many
from memsearch_tui.widgets.pieces import Row

_MB = 1e6


def lines(state: dict[str, Any], making: str = "") -> list[Line]:
    """Build the rows of the health page.

    Args:
        state: the result of ``MemoryStatus.health``.
        making: the progress of the second model; '' for none.
    """
    if "error" in state:
        rows: list[Row] = [
            [("The service can't be reached: ", "bad"), (state["error"], "text")],
            [(state["hint"], "dim")],
            [],
            [("Notes can be read, searched by words and edited all the same.", "text")],
        ]
        return [Line("error", rows[0], rows)]
    found = [*_problems(state["problems"]), Line("", []), _index(state)]
    if store := state.get("store"):
        found.append(Line("store", [_label("store"), (store, "text")], [[(store, "text")]]))
    found.append(_service(state["service"]))
    if second := _second(state, making):
        found.append(second)
    if now := state["progress"]:
        text = f"{now['phase']} {now['project']} {now['done']}/{now['total']}"
        found.append(Line("now", [_label("now"), (text, "accent")], [[(text, "text")]]))
    found += [Line("", []), *map(_project, state["projects"])]
    return [*found, *_sync(state.get("sync", {"remote": ""}))]


def _label(name: str) -> tuple[str, str]:
    return f"{name:9s}", "dim"


def _problems(problems: list[dict[str, str]]) -> list[Line]:
    if not problems:
        row: Row = [("no problems", "good")]
        return [Line("fine", row, [row])]
    found = []
    for problem in problems:
        fix: Row = [(f"  -> {problem['fix']}", "accent")] if problem["fix"] else []
        row = [("problem  ", "bad"), (problem["what"], "text"), *fix]
        detail: list[Row] = [[(problem["what"], "bad")], []]
        detail.append([("mended by ", "dim"), (problem["fix"], "accent")] if fix else [])
        found.append(Line(f"problem {problem['what']}", row, detail))
    return found


def _index(state: dict[str, Any]) -> Line:
    tone = {"ready": "good", "opening": "warn"}.get(state["index"], "bad")
    size = state["disk"]["index"] / _MB
    row: Row = [_label("index"), (state["index"], tone)]
    row.append((f"  {state['fingerprint']}  {size:.1f} MB", "text"))
    sizes: list[Row] = [
        [(f"{name:12s}", "dim"), (f"{size / _MB:10.1f} MB", "text")]
        for name, size in state["disk"].items()
    ]
    cache: Row = [("The index is a cache: `memsearch reset` makes it anew from the notes.", "dim")]
    return Line("index", row, [row, [], *sizes, [], cache])


def _service(service: dict[str, Any]) -> Line:
    up = f"pid {service['pid']}, up {service['uptime_s']:.0f} s, {service['rss_mb']:.0f} MB"
    row: Row = [_label("service"), (up, "text")]
    ends: Row = [("It ends by itself when nobody uses it; `memsearch service logs`.", "dim")]
    return Line("service", row, [row, [], ends])


def _second(state: dict[str, Any], making: str) -> Line | None:
    """Return the row of the second model: its progress, or what it would improve."""
    second = state["second"]
    if second["asked"]:
        total = sum(row["distinct"] for row in state["projects"])
        text = f"{second['name']}, {second['vectors']} of {many(total, 'text')}"
        row: Row = [_label("beside"), (text, "text")]
        return Line("second", row, [row])
    if not second["advice"]:
        return None
    is_command = second["fix"].startswith("memsearch")
    way = making or ("-> m brings it" if is_command else f"-> {second['fix']}")
    row = [_label("beside"), (second["advice"], "text"), (f"  {way}", "accent")]
    return Line("second", row, [[(second["advice"], "text")], [], [(way, "accent")]])


def _project(project: dict[str, Any]) -> Line:
    days, notes = many(project["days"], "day"), many(project["entries"], "note")
    row: Row = [(project["name"], "strong"), (f"  {notes} · {days}", "text")]
    detail: list[Row] = [
        [(project["name"], "strong")],
        [("notes       ", "dim"), (f"{notes} in {days}", "text")],
        [
            ("by meaning  ", "dim"),
            (f"{project['vectors']} of {many(project['chunks'], 'chunk')}", "text"),
        ],
        [("collection  ", "dim"), (project["collection"], "text")],
        [("folder      ", "dim"), (project["memory"], "text")],
    ]
    return Line(f"project {project['collection']}", row, detail)


def _sync(sync: dict[str, Any]) -> list[Line]:
    """Return the rows about sync: the remote and the result of the last round."""
    if not sync["remote"]:
        return []
    last = sync["last"] or {}
    at = datetime.fromtimestamp(sync["worked"]).strftime("%Y-%m-%d %H:%M") if sync["worked"] else ""
    words = (("received", "received"), ("sent", "sent"), ("gone", "deleted"))
    counts = ", ".join(f"{last[key]} {word}" for key, word in words if last.get(key))
    row: Row = [_label("sync"), (sync["remote"], "text")]
    row += [(f"  {at or 'not yet'}", "good" if at else "warn")]
    row += [(f"  {counts}", "dim")] if counts else []
    rows: list[Row] = [
        [_label(""), (text, "warn")]
        for text in (*last.get("problems", []), *filter(None, [last.get("error")]))
    ]
    if last.get("conflicts"):
        count = many(last["conflicts"], "note")
        rows.append([_label(""), (f"{count} changed in two places", "warn"), ("  -> f5", "accent")])
    for other in sync["elsewhere"]:
        text = f"{other['name']}, {many(other['files'], 'file')}: no folder here"
        rows.append([_label(""), (text, "dim")])
    more = [Line(f"sync {number}", one, [one]) for number, one in enumerate(rows)]
    return [Line("", []), Line("sync", row, [row, [], *rows]), *more]
