"""The health page: a row for each part, and the report of all parts and their repairs.

No widget here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memsearch_tui.activity import Line
from memsearch_tui.counted import many
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.render import inline

_MB = 1e6


def lines(state: dict[str, Any], making: str = "") -> list[Line]:
    """Build the rows of the health page.

    Args:
        state: the result of ``MemoryStatus.health``.
        making: the progress of the second model; '' for none.
    """
    if "error" in state:
        row: Row = [("the service can't be reached: ", "bad"), (state["error"], "text")]
        still = "Notes can be read and searched by words all the same."
        detail: list[Row] = [[(state["error"], "bad")], [(state["hint"], "dim")], [(still, "text")]]
        return [Line("error", row, detail)]
    found = [*_problems(state["problems"]), Line("", []), _index(state), _words(state)]
    if store := state.get("store"):
        found.append(Line("store", [_label("store"), (store, "text")], [[(store, "text")]]))
    found += [_service(state["service"]), _capture(state["service"], state.get("connected"))]
    if second := _second(state, making):
        found.append(second)
    if now := state["progress"]:
        text = f"{now['phase']} {now['project']} {now['done']}/{now['total']}"
        found.append(Line("now", [_label("now"), (text, "accent")], [[(text, "text")]]))
    found += [Line("", []), *map(_project, state["projects"])]
    return [*found, *_sync(state.get("sync", {"remote": ""}))]


def report(lines: list[Line], key: str) -> tuple[list[Row], int]:
    """Return the details of all parts, each under its name, and the number of the row of *key*."""
    rows: list[Row] = []
    at = 0
    for line in lines:
        if line.key == key:
            at = len(rows)
        if line.key:
            name = line.row[0][0].strip()
            rows += [[(name, "here" if line.key == key else "strong")], *line.detail, []]
    return rows, at


def _label(name: str) -> tuple[str, str]:
    return f"{name:10s}", "dim"


def _problems(problems: list[dict[str, str]]) -> list[Line]:
    if not problems:
        return [Line("", [(" no problems", "good")])]
    found = []
    for problem in problems:
        row: Row = [(f"! {problem['what']}", "bad")]
        fix: Row = [("mended by ", "dim"), (problem["fix"], "accent")] if problem["fix"] else []
        found.append(Line(f"problem {problem['what']}", row, [fix]))
    return found


def _index(state: dict[str, Any]) -> Line:
    is_open = state["index"] in ("ready", "opening")
    tone = {"ready": "good", "opening": "warn"}.get(state["index"], "bad")
    size = state["disk"]["index"] / _MB
    row: Row = [_label("index"), (state["index"], tone), (f"  {size:.1f} MB", "text")]
    row.append(
        (f"  {state['fingerprint']}", "dim")
        if is_open
        else ("  -> memsearch doctor --fix", "accent")
    )
    detail: list[Row] = [[("Vectors for search by meaning. It is a cache of the notes.", "text")]]
    if building := state.get("building"):
        detail.append(_fact("in progress", building))
    if reason := "" if is_open else state["service"].get("reason"):
        detail.append([("why         ", "dim"), (reason, "bad")])
    mended = inline("`memsearch doctor --fix` repairs it; `memsearch reset` makes it anew.")
    return Line("index", row, [*detail, mended])


def _words(state: dict[str, Any]) -> Line:
    """Return the row of the catalog, which answers searches by words."""
    size = f"{state['disk']['catalog'] / _MB:.1f} MB"
    chunks = sum(project["chunks"] for project in state["projects"])
    row: Row = [_label("words"), ("ready", "good"), (f"  {size}", "text")]
    row.append((f"  {many(chunks, 'chunk')}", "dim"))
    what: Row = [("Titles and words of the notes. It works without a model.", "text")]
    return Line("words", row, [what, inline("`memsearch index` reads the files again.")])


def _fact(name: str, value: str) -> Row:
    return [(f"{name:12s}", "dim"), (value, "text")]


def _service(service: dict[str, Any]) -> Line:
    row: Row = [_label("service"), (f"up {_duration(service['uptime_s'])}", "good")]
    row += [(f"  {service['rss_mb']:.0f} MB of memory", "text"), (f"  pid {service['pid']}", "dim")]
    detail: list[Row] = [[("Searches by meaning, and embeds new notes.", "text")]]
    detail += [_fact("does", name) for name in service.get("own_work", ())]
    detail += [_fact("is used by", name) for name in service.get("kept_up_by", ())]
    if limit := service.get("idle_limit_s"):
        detail.append(_fact("ends after", f"{_duration(limit)} without use"))
    ways = "`memsearch service stop` ends it, the next search starts it; `memsearch service logs`."
    return Line("service", row, [*detail, inline(ways)])


def _capture(service: dict[str, Any], connected: list[str] | None) -> Line:
    """Return the row of capture: whether turns of every connected agent arrive.

    Args:
        connected: agents with working hooks; None if they are not known.
    """
    alarms = service.get("alarms", [])
    state: tuple[str, str]
    if alarms:
        state, way = (many(len(alarms), "alarm"), "bad"), "-> f4"
    elif connected == []:
        state, way = ("no agent is connected", "warn"), "-> c in the list"
    else:
        state, way = (f"no alarms  {', '.join(connected or [])}".rstrip(), "good"), "-> f4"
    row: Row = [_label("capture"), state, (f"  {way}", "accent")]
    ways = (
        "f4 shows what is captured, c connects agents; `memsearch agents status` checks the hooks."
    )
    return Line("capture", row, [*([(alarm, "bad")] for alarm in alarms), inline(ways)])


def _duration(seconds: float) -> str:
    """Return a duration in its largest fitting unit: ``40 s``, ``10 min``, ``3 h``, ``2 d``."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length * 2 or (unit == "min" and seconds >= length):
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _second(state: dict[str, Any], making: str) -> Line | None:
    """Return the row of the second model: its progress, or what it would improve."""
    second = state["second"]
    if second["asked"]:
        total = sum(row["distinct"] for row in state["projects"])
        text = f"{second['name']}  {second['vectors']:,} of {total:,} texts"
        row: Row = [_label("2nd model"), (text, "text")]
        why: Row = [("A second model finds what the first one misses.", "text")]
        return Line("second", row, [why])
    if not second["advice"]:
        return None
    is_command = second["fix"].startswith("memsearch")
    way = making or ("-> 2 downloads it" if is_command else f"-> {second['fix']}")
    # the advice is a sentence, which the row would cut: opening the row shows it
    row = [_label("2nd model"), (making or "advised", "warn")]
    if not making:
        row.append((f"  {way}" if is_command else "  enter shows how", "accent"))
    return Line("second", row, [[(second["advice"], "text")], [(way, "accent")]])


def _project(project: dict[str, Any]) -> Line:
    days, notes = many(project["days"], "day"), many(project["entries"], "note")
    row: Row = [(project["name"], "strong"), (f"  {notes} · {days}", "text")]
    missing = project["chunks"] - project["vectors"]
    if missing > 0:
        row += [(f"  {missing} without meaning yet", "warn"), ("  -> memsearch index", "accent")]
    detail: list[Row] = [
        _fact("by meaning", f"{project['vectors']} of {many(project['chunks'], 'chunk')}"),
        _fact("collection", project["collection"]),
        _fact("folder", project["memory"]),
        inline("`memsearch index` reads its files again."),
    ]
    return Line(f"project {project['collection']}", row, detail)


def _sync(sync: dict[str, Any]) -> list[Line]:
    """Return the rows about sync: the remote and the result of the last round."""
    why: Row = [("One memory on several machines, through a git remote of yours.", "text")]
    if not sync["remote"]:
        way = "-> memsearch sync add REMOTE", "accent"
        row: Row = [_label("sync"), ("only this machine  ", "dim"), way]
        return [Line("", []), Line("sync", row, [why, [way]])]
    last = sync["last"] or {}
    at = datetime.fromtimestamp(sync["worked"]).strftime("%Y-%m-%d %H:%M") if sync["worked"] else ""
    words = (("received", "received"), ("sent", "sent"), ("gone", "deleted"))
    counts = ", ".join(f"{last[key]} {word}" for key, word in words if last.get(key))
    row = [_label("sync"), (sync["remote"], "text")]
    row += [(f"  {at or 'not yet'}", "good" if at else "warn")]
    row += [(f"  {counts}", "dim")] if counts else []
    rows: list[Row] = [
        [(text, "warn")] for text in (*last.get("problems", []), *filter(None, [last.get("error")]))
    ]
    if last.get("conflicts"):
        count = many(last["conflicts"], "note")
        rows.append([(f"{count} changed in two places", "warn"), ("  -> f5", "accent")])
    for other in sync["elsewhere"]:
        text = f"{other['name']}, {many(other['files'], 'file')}: no folder here"
        rows.append([(text, "dim")])
    more = [Line("", [_label(""), *one]) for one in rows]
    return [Line("", []), Line("sync", row, [why, *rows]), *more]
