"""What a hook costs an agent, beside a bare Python start: `memsearch hook claude-code Stop`, `SessionStart` and `UserPromptSubmit`.

    python benchmarks/hook.py                # about 3 minutes

Whole processes, run in turn, with payloads as Claude Code 2.1 sends them, with the service up and down; every Stop names
another turn of a session whose transcript exists. "of it, in Python" is `python -c pass` with the modules that any hook
must import to read JSON and write a file: what is left above it is ours.

At a prompt the hook waits for what bears on it, in a project of --chunks notes (random vectors, see fill.py), with the prompts of
tests/evaluation/recall; the service is given all the time it wants, so that late answers show.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import cycle
from pathlib import Path

from common import BARE, END, Product, Report, Run, arguments, in_turn, make_corpus, p95, run, workplace
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm.recall import prepare
from memsearch_engine.registry import Registry
from memsearch_engine.settings import load

from memsearch_tui.demo import build
from tests.evaluation.recall import chats


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument("--chunks", type=int, default=10_000, help="notes of the project in which prompts are sent")
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (folder, product):
        project = build(folder / "demo", END, 400).projects["orders-api"]
        product.root = project
        agent = {"CLAUDE_CONFIG_DIR": str(folder / "demo" / "agents" / "claude")}
        product.env.update(agent)
        os.environ.update(agent)  # the service is started from here
        measure(report, product, folder, options.times)
    with workplace() as (folder, product):
        make_corpus(product.root, options.chunks)
        product.fill()
        at_prompts(report, product, options)
    report.save()


def at_prompts(report: Report, product: Product, options) -> None:
    origin = Origin(product.home)
    origin.trust(product.place.memory)
    origin.close()
    product.home.config.write_text("[recall]\nwait_ms = 3000\n")
    product.start().close()
    registry = Registry(product.home)
    prepare(product.home, load(product.home), product.place.memory, registry.at(product.place).id)  # what hooks read
    registry.close()
    prompts = cycle(case["prompt"] for voice in chats.voices() for case in (*voice.cases, *voice.none))

    def hook() -> Run:
        payload = {"session_id": "s", "prompt": next(prompts), "cwd": str(product.root)}
        argv = product.command("hook", "claude-code", "UserPromptSubmit")
        return run(argv, product.env, product.root, json.dumps(payload).encode())

    ways = {"python -c pass": lambda: run(BARE, product.env), "hook UserPromptSubmit": hook}
    found = in_turn(ways, 2 * options.times, warm=2)
    report.processes(f"at a prompt, {options.chunks:,} notes", found, ["python -c pass"])
    print(f"hook UserPromptSubmit, p95: {p95(run.wall for run in found['hook UserPromptSubmit']):.0f} ms")


def measure(report: Report, product: Product, folder: Path, times: int) -> None:
    turns = cycle(sorted(_turns(folder / "demo" / "agents" / "claude")))
    base = {
        "python -c pass": lambda: run(BARE, product.env),
        "python, json and os.path": lambda: run([sys.executable, "-c", "import json, os, select, time"], product.env),
    }

    def hook(event: str) -> Run:
        transcript, prompt = next(turns)
        payload = {
            "session_id": transcript.stem,
            "transcript_path": str(transcript),
            "cwd": str(product.root),
            "permission_mode": "default",
            "hook_event_name": event,
        }
        if event == "Stop":
            payload |= {
                "prompt_id": prompt,
                "stop_hook_active": False,
                "last_assistant_message": "Prices are integer minor units now. " * 40,
                "background_tasks": [],
                "session_crons": [],
            }
        else:
            payload |= {"source": "startup", "model": "claude-sonnet-4-5"}
        argv = product.command("hook", "claude-code", event)
        return run(argv, product.env, product.root, json.dumps(payload).encode())

    for state in ("service down", "service up"):
        connection = product.start() if state == "service up" else None
        ways = base | {f"hook {event}": lambda event=event: hook(event) for event in ("Stop", "SessionStart")}
        report.processes(state, in_turn(ways, times, warm=2), ["python -c pass"])
        if connection:
            done = connection.call("inbox", dict, timeout_s=300)
            connection.close()
            waiting = {event["reason"] for event in done["waiting"]}
            print(f"then in the inbox: {len(done['waiting'])} events {' / '.join(sorted(waiting)[:3])[:200]}")


def _turns(folder: Path) -> set[tuple[Path, str]]:
    """Every (transcript, prompt id) of the sample year."""
    return {
        (path, prompt)
        for path in folder.rglob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
        if (prompt := json.loads(line).get("promptId"))
    }


if __name__ == "__main__":
    main()
