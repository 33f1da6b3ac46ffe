"""How many secrets are found and how many innocent lines are touched.

python -m tests.secrets.table            # about a minute
python -m tests.secrets.table --speed    # milliseconds for an entry of 2 kB, too
"""

from __future__ import annotations

import json
import random
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from memsearch_engine.core.home import Home
from memsearch_engine.secrets.scan import find, redact

HERE = Path(__file__).parent
SAMPLE = 30_000
#: No weight and no word comes from these sets.
MEASURED = ("unseen9", "unseen11", "unseen12", "unseen13", "unseen14")


def missed(name: str, home: Home, group: str = "") -> tuple[list[str], int]:
    """Names of the cases of which a secret stays, and how many cases there are.

    Args:
        group: only cases whose name begins with it.
    """
    rows = [
        json.loads(line)
        for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    rows = [row for row in rows if row["name"].startswith(group)]
    left = [
        row["name"]
        for row in rows
        if any(value in redact(row["text"], home)[0] for value in row["secrets"])
    ]
    return left, len(rows)


def by_hand() -> list[str]:
    return (HERE / "innocent.txt").read_text(encoding="utf-8").splitlines()


def mentions() -> list[str]:
    """Prose in many languages that mentions passwords and gives none."""
    return (HERE / "mentions.txt").read_text(encoding="utf-8").splitlines()


def documents() -> list[str]:
    """Made-up lines in the manner of changelogs, manuals and commands, all innocent."""
    return (HERE / "documents.txt").read_text(encoding="utf-8").splitlines()


def installed(sample: int = SAMPLE) -> list[str]:
    """Lines of the standard library's sources: read where they are installed, copied nowhere."""
    library = Path(sysconfig.get_paths()["stdlib"])
    lines: set[str] = set()
    for file in sorted(library.rglob("*.py")):
        if not {"site-packages", "test", "tests"} & set(file.parts):
            lines.update(
                line[:400]
                for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
                if line.strip()
            )
    return random.Random(1).sample(sorted(lines), min(sample, len(lines)))


def touched(lines: list[str], home: Home) -> list[str]:
    return [line for line in lines if find(line, home)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        sets = (
            "heldout",
            "unseen",
            *(f"unseen{n}" for n in range(2, 15)),
            "trained",
            "trained2",
            "trained3",
            "trained4",
            "trained5",
            "phrases",
            "shapes",
            "siblings",
        )
        for name in sets:
            left, count = missed(name, home)
            print(
                f"{name:10} {count - len(left)} of {count} found "
                f"({(count - len(left)) / count:.1%})  missed: {', '.join(left)}"
            )
        for name, lines in (
            ("by hand", by_hand()),
            ("mentions", mentions()),
            ("documents", documents()),
            ("installed", installed()),
        ):
            wrong = touched(lines, home)
            print(
                f"{name:10} {len(wrong)} of {len(lines)} innocent lines "
                f"touched ({len(wrong) / len(lines) * 1000:.2f} in 1,000)"
            )
        if "--speed" in sys.argv:
            entry = (
                (
                    "User asked why staging was slow. "
                    "Agent raised the Redis TTL to 900 s in settings.py; 41 tests pass.\n"
                )
                * 20
            )[:2000]
            start = time.perf_counter()
            for _ in range(50):
                redact(entry, home)
            print(f"2 kB entry {(time.perf_counter() - start) * 20:.2f} ms")


if __name__ == "__main__":
    main()
