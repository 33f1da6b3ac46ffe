"""``memsearch doctor``: each check reports what it examined, what it found, and the repair."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json
from memsearch_tui.counted import many

Check = dict[str, Any]
#: Area -> its checks. An error of the engine is the result of the check that raises it.
_Checks = Callable[[engine.Memory, bool], Check | list[Check]]


def examine(memory: engine.Memory, *, fix: bool) -> Iterator[Check]:
    """Run all checks, and yield each result as ``--json`` prints it.

    Args:
        fix: repair what is safe to repair, then check again.
    """
    beside: dict[str, Future[list[Check]]] = {}
    if not fix:  # repairs have an order
        # the service starts and answers meanwhile, and these wait for databases
        beside = _begun(memory, "service") | _begun(memory, "trust", "notes' quality")
    for what in _CHECKS:
        yield from beside[what].result() if what in beside else _examined(memory, what, fix)


def _begun(memory: engine.Memory, *names: str) -> dict[str, Future[list[Check]]]:
    """Run checks in a thread that nobody waits for if the command is interrupted."""
    found: dict[str, Future[list[Check]]] = {what: Future() for what in names}

    def run() -> None:
        for what, future in found.items():
            try:
                future.set_result(_examined(memory, what, fix=False))
            except BaseException as error:
                future.set_exception(error)

    threading.Thread(target=engine.reading_once().run, args=(run,), daemon=True).start()
    return found


def _examined(memory: engine.Memory, what: str, fix: bool) -> list[Check]:
    try:
        found = _CHECKS[what](memory, fix)
    except engine.MemsearchError as error:
        found = _check(what, False, str(error), error.hint or _HINTS.get(what, ""))
    return found if isinstance(found, list) else [found]


def _check(what: str, ok: bool, detail: str, fix: str = "") -> Check:
    return {"what": what, "ok": ok, "detail": detail, "fix": fix}


def _history(memory: engine.Memory, fix: bool) -> Check:
    """Check the undo history. A damaged one accepts no changes; *fix* sets it aside."""
    repair = memory.repair
    wrong = repair.history_fault()
    if wrong and fix:
        aside = repair.set_history_aside()
        return _check(
            "undo history",
            True,
            f"a new one was begun; the damaged one is {aside}, which may hold old texts",
        )
    return _check(
        "undo history",
        not wrong,
        wrong or "sound",
        "memsearch doctor --fix sets it aside and begins a new one",
    )


def _sync(memory: engine.Memory, _fix: bool) -> list[Check]:
    """Check the sync with other machines, if it is set up."""
    state = memory.sync.state(elsewhere=False)
    if not state.remote:
        return []
    wrong = [*state.last.problems, state.last.error] if state.last else []
    problem = next(filter(None, wrong), "")
    return [
        _check(
            "sync",
            not problem,
            problem or f"{state.remote} was met" if state.worked else "not met yet",
            "memsearch sync status",
        )
    ]


def _home(memory: engine.Memory, fix: bool) -> Check:
    root = memory.home.root
    try:
        memory.home.ensure()
    except OSError as error:
        return _check(
            "home",
            False,
            f"{root} can't be written: {error.strerror}",
            "set MEMSEARCH_HOME to a writable folder",
        )
    closed = memory.home.close_to_others() if fix else 0
    if exposed := memory.home.exposed():
        count, first = many(len(exposed), "file"), exposed[0].relative_to(root)
        what = f"{count} in {root} can be read by others, {first} first"
        return _check("home", False, what, "memsearch doctor --fix removes that access")
    if closed:
        return _check(
            "home", True, f"{root}: {many(closed, 'file')} can no longer be read by others"
        )
    return _check("home", True, str(root))


def _settings(memory: engine.Memory, _fix: bool) -> Check:
    settings = memory.config.load()
    if settings.warnings:
        return _check(
            "settings", False, "; ".join(settings.warnings), "remove or correct these keys"
        )
    return _check("settings", True, "no problem found")


def _registry(memory: engine.Memory, _fix: bool) -> Check:
    if memory.shortfall:
        return _check("project", False, memory.shortfall)
    return _check(
        "project",
        True,
        f"{memory.project.name} at {memory.place.root}, {memory.project.collection}",
    )


def _peer(memory: engine.Memory, _fix: bool) -> Check:
    """Check for memsearch's own hooks: they call the first ``memsearch`` on the PATH, and may
    replace it.
    """
    from memsearch_engine.core import compatibility

    if compatibility.urges_its_upgrade(memory.home.root, engine.__version__):
        return _check(
            "memsearch's plugins",
            False,
            "they urge `pip install --upgrade memsearch` at each start: that would replace this"
            " program",
            "memsearch agents install AGENT --replace, and leave that upgrade alone",
        )
    return _check("memsearch's plugins", True, "none that would replace this command")


def _files(memory: engine.Memory, _fix: bool) -> Check:
    if not os.path.isdir(memory.place.memory):
        return _check("notes", True, f"none yet in {memory.place.memory}")
    if problems := memory.files.unreadable():
        text = "; ".join(f"{path}: {reason}" for path, reason in problems)
        return _check("notes", False, text, "correct the permissions, or move these away")
    found = f"{many(len(memory.files.all()), 'file')} in {memory.place.memory}"
    if copies := [os.path.basename(path) for path, _ in memory.files.copies()]:
        found += (
            f"; copies of days, searched only: {', '.join(copies)} (merge what they alone have,"
            " then delete them)"
        )
    return _check("notes", True, found)


def _model(memory: engine.Memory, _fix: bool) -> Check:
    models = memory.models
    embedding = memory.settings.embedding
    if embedding.provider != "onnx":
        return _check("model", True, f"{embedding.provider} over HTTP")
    files = models.find(embedding.model)
    sound = models.is_sound(files)
    detail = f"{files.model.name} in {files.onnx.parent}" + (
        "" if sound else ": its checksum is not the known one"
    )
    return _check("model", sound, detail, "reinstall memsearch-tui")


def _agents(memory: engine.Memory, _fix: bool) -> Check:
    plugins = memory.plugins
    rows = [row for agent in engine.agents_live() if (row := plugins.status(agent)).installed]
    wrong = [f"{row.agent}: {text}" for row in rows for text in row.problems]
    notes = [f"{row.agent}: {text}" for row in rows for text in row.notes]
    detail = "; ".join(wrong or notes) or (
        f"installed in {', '.join(row.agent for row in rows)}" if rows else "installed nowhere"
    )
    return _check("plugins", not wrong, detail, "memsearch agents status")


def _conversations(memory: engine.Memory, fix: bool) -> Check:
    """Check for cited conversations that their agent will delete soon."""
    evidence = engine.Memory(memory.place.root, home=memory.home, everything=True).evidence
    found = evidence.survey()
    soon = [expiring for expiring in found.expiring if expiring.unkept]
    if soon and fix:
        evidence.archive()
        found = evidence.survey()
        soon = [expiring for expiring in found.expiring if expiring.unkept]
    detail = f"{found.live} live, {found.kept} archived only, {found.lost} lost"
    if soon:
        days = min(expiring.days for expiring in soon)
        detail = (
            f"{many(len(soon), 'transcript')} will be deleted by their agent, the first in"
            f" {many(days, 'day')}; {sum(expiring.unkept for expiring in soon)} memories cite"
            " them and are not archived"
        )
    return _check("conversations", not soon, detail, "memsearch agents evidence archive")


def _readers(memory: engine.Memory, _fix: bool) -> Check:
    """Check for damaged lines in transcripts, and for record kinds that no reader knows (a changed
    format).
    """
    rows, unread = memory.capture.unknown_records(), memory.capture.unread_files()
    text = ", ".join(
        f"{agent} {version}: {count}x {kind}" for agent, kind, version, count in rows[:5]
    )
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    # unknown records are skipped; the messages are still read
    detail = (
        f"records passed over, damaged or of unknown kinds: {text}{more}"
        if rows
        else "every record is known"
    )
    if unread:
        names = "; ".join(f"{where}: {reason}" for where, reason in unread[:5])
        more = f" and {len(unread) - 5} more" if len(unread) > 5 else ""
        detail += f"; not read: {names}{more}"
    return _check("transcripts", True, detail)


def _trust(memory: engine.Memory, _fix: bool) -> Check:
    """Check for an unfinished scrub. Notes that are pending review are no fault."""
    # asked only then: the scanner of secrets takes 60 ms to load
    if memory.home.scrub_note.exists() and (left := memory.secrets.interrupted()):
        text = f"a scrub was interrupted ({', '.join(left)})"
        return _check("trust", False, text, "run the same `memsearch secrets scrub` again")
    waiting = memory.trust.count()
    return _check(
        "trust",
        True,
        (
            f"{many(waiting, 'note')} waiting for your decision (`memsearch review`)"
            if waiting
            else "nothing waits"
        ),
    )


def _repair(memory: engine.Memory, _fix: bool) -> Check:
    """Count junk and repetitions. Only ``repair`` changes them, because it asks first."""
    kinds = Counter(case.subject.kind for case in memory.review.cases("repair"))
    text = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return _check(
        "notes' quality",
        True,
        f"{text} (`memsearch review`)" if text else "no junk, no repetitions",
    )


def _index(health: engine.Health) -> Check:
    found = [problem.what for problem in health.problems]
    fixes = (problem.fix for problem in health.problems)
    return _check(
        "index",
        health.index != "broken" and not health.problems,
        "; ".join(filter(None, [health.index, health.store, *found])),
        next((fix for fix in fixes if fix not in ("", "memsearch doctor")), "")
        or "memsearch doctor --fix reads every file again; memsearch reset builds it anew",
    )


def _service(memory: engine.Memory, fix: bool) -> list[Check]:
    service = memory.service
    state, health = service.status(), service.health()
    if fix and (health.problems or health.notice):
        memory.index(force=True)
        health = service.health()
    inbox = memory.capture.inbox(timeout_s=60)
    checks = [
        _check(
            "service", True, f"pid {state.pid}, {state.rss_mb:.0f} MB, up {state.uptime_s:.0f} s"
        ),
        _index(health),
    ]
    second = health.second
    if second.asked or second.advice:
        detail = (
            f"{second.name} is asked, too" if second.asked else f"{second.advice} (`{second.fix}`)"
        )
        checks.append(_check("second model", True, detail))
    alarms = state.alarms
    checks.append(
        _check(
            "capture",
            not alarms,
            "; ".join(alarms) or "no turn is late",
            "memsearch agents status",
        )
    )
    waiting = [*inbox.waiting, *inbox.set_aside]
    checks.append(
        _check(
            "inbox",
            not waiting,
            f"{many(len(waiting), 'event')} waiting: {waiting[0].reason}" if waiting else "empty",
            "memsearch agents queue",
        )
    )
    return checks


_CHECKS: dict[str, _Checks] = {
    "home": _home,
    "undo history": _history,
    "settings": _settings,
    "project": _registry,
    "memsearch's plugins": _peer,
    "notes": _files,
    "model": _model,
    "plugins": _agents,
    "conversations": _conversations,
    "transcripts": _readers,
    "trust": _trust,
    "notes' quality": _repair,
    "sync": _sync,
    "service": _service,
}
#: Area -> the next step for an error that names none.
_HINTS = {"service": "memsearch service stop, then try again"}


@click.command(epilog="\b\nExamples:\n  memsearch doctor\n  memsearch doctor --fix")
@click.option("--fix", is_flag=True, help="Repair what can be repaired without touching a note.")
@as_json
def doctor(fix: bool) -> int:
    """Check everything: home, settings, service, files, index, model."""
    checks = []
    gc.disable()  # it would look through each of 100,000 notes several times: a sixth of the time
    for check in examine(engine.Memory(), fix=fix):
        checks.append(check)
        sign = output.style("ok  ", "good") if check["ok"] else output.style("FAIL", "bad")
        output.echo(f"{sign} {check['what']}: {output.safe(check['detail'])}")
        if not check["ok"] and check["fix"]:
            output.echo(f"       -> {check['fix']}")
    is_ok = all(check["ok"] for check in checks)
    output.emit({"checks": checks, "ok": is_ok})
    return 0 if is_ok else 5
