"""Mutation testing: change the engine in small ways, one at a time, and see which changes no test
notices.

    pip install -e '.[mutation]'
    python -m tests.mutations journal/write --sample 40
    python -m tests.mutations --sample 20                 a sample of every module below; hours
    without --sample

It works on a copy, by cosmic-ray (https://cosmic-ray.readthedocs.io), and prints the survivors as
differences: each is a test that is missing, or a change that means nothing. No part of the gate: a
module takes minutes to hours. Exit 1 where something survived.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: module below the engine -> the tests that have to notice.
TARGETS = {
    "journal/write": "tests/journal tests/public_api/test_memory.py",
    "journal/whole_file": "tests/sync tests/sharing tests/review",
    "journal/versions": "tests/review",
    "journal/undo": "tests/journal tests/public_api/test_memory.py",
    "journal/history": "tests/journal tests/public_api/test_memory.py",
    "longterm/jobs": "tests/longterm/test_jobs.py",
    "longterm/pipeline": "tests/longterm/test_pipeline.py",
    "longterm/consolidate": "tests/longterm/test_pipeline.py tests/longterm/test_review.py",
    "longterm/extract": "tests/longterm/test_pipeline.py",
    "secrets/scan": "tests/secrets",
    "journal/merge": "tests/journal tests/sync/test_git_driver.py tests/sync/test_losses.py",
    "journal/shared": "tests/sharing",
    "sync/sharing/copies": "tests/sharing",
    "sync/sharing/packs": "tests/sharing",
    "sync/run": "tests/sync",
    "sync/file_merge": "tests/sync",
    "sync/losses": "tests/sync",
    "sync/snapshot": "tests/sync",
    "sync/conversations": "tests/sync/test_conversations.py",
    "injection/prompt": "tests/injection",
}
#: Changes that mean nothing here: annotations are never evaluated.
_NO_MEANING = "core/ReplaceBinaryOperator_BitOr_%"
_MIN_S = 120.0


def main() -> int:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(TARGETS)}")
    args.add_argument(
        "--sample",
        type=int,
        default=0,
        metavar="N",
        help="so many changes of each module, chosen at random",
    )
    args.add_argument("--seed", type=int, default=7)
    options = args.parse_args()
    if unknown := [name for name in options.modules if name not in TARGETS]:
        args.error(f"no tests are named for {', '.join(unknown)}")
    survived = 0
    for name in options.modules or TARGETS:
        survived += mutate(name, TARGETS[name], options.sample, random.Random(options.seed))
    return 1 if survived else 0


def mutate(name: str, tests: str, sample: int, chance: random.Random) -> int:
    """Try changes of a module; how many no test noticed."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as temporary:
        copy = Path(temporary) / "copy"
        shutil.copytree(
            ROOT,
            copy,
            ignore=shutil.ignore_patterns(
                ".git", ".venv", "__pycache__", ".*_cache", "screenshots"
            ),
        )
        session, config = Path(temporary) / "session.sqlite", Path(temporary) / "config.toml"
        command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider -m not(agents) {tests}"
        config.write_text(
            f'[cosmic-ray]\nmodule-path = "engine/memsearch_engine/{name}.py"\ntimeout = {_MIN_S}\n'
            f'test-command = "{command}"\n[cosmic-ray.distributor]\nname = "local"\n',
            encoding="utf-8",
        )
        env = {
            **os.environ,
            "PYTHONPATH": f"{copy / 'engine'}{os.pathsep}{copy}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        plain = subprocess.run(command.split(), cwd=copy, env=env, capture_output=True, text=True)
        if plain.returncode:
            sys.exit(f"the tests of {name} fail as they are:\n{plain.stdout[-2000:]}")
        _cosmic_ray(["init", str(config), str(session)], copy, env)
        chosen, all_ = _choose(session, sample, chance)
        _cosmic_ray(["exec", str(config), str(session)], copy, env)
        alive = _survivors(session)
    print(f"{name}: {chosen} of {all_} changes tried, {len(alive)} survived")
    for difference in alive:
        print(difference.rstrip() + "\n")
    return len(alive)


def _cosmic_ray(argv: list[str], folder: Path, env: dict[str, str]) -> None:
    subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *argv],
        cwd=folder,
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _choose(session: Path, sample: int, chance: random.Random) -> tuple[int, int]:
    """Leave so many changes in the session: (those that are left, all that mean something)."""
    with sqlite3.connect(session) as db:
        db.execute(
            "DELETE FROM work_items WHERE job_id IN (SELECT job_id FROM mutation_specs "
            "WHERE operator_name LIKE ?)",
            (_NO_MEANING,),
        )
        jobs = [job for (job,) in db.execute("SELECT job_id FROM work_items ORDER BY job_id")]
        chosen = chance.sample(jobs, min(sample or len(jobs), len(jobs)))
        db.execute(
            f"DELETE FROM work_items WHERE job_id NOT IN ({','.join('?' * len(chosen))})", chosen
        )
        db.execute("DELETE FROM mutation_specs WHERE job_id NOT IN (SELECT job_id FROM work_items)")
    return len(chosen), len(jobs)


def _survivors(session: Path) -> list[str]:
    with sqlite3.connect(session) as db:
        return [
            diff
            for (diff,) in db.execute(
                "SELECT diff FROM work_results WHERE lower(test_outcome) LIKE '%survived%'"
            )
        ]


if __name__ == "__main__":
    sys.exit(main())
