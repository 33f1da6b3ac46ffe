"""How fast text is cleaned of secrets, beside the library alone.

python benchmarks/redaction.py                     # seconds
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from common import ROOT, Report, arguments, median
from memsearch_engine.core.home import Home
from memsearch_engine.secrets import scan


def main() -> None:
    report = Report(arguments(__doc__).parse_args())
    entry = (
        "User asked why staging was slow. "
        "Agent raised the Redis TTL to 900 s in core/settings.py; 41 tests pass.\n"
    ) * 20
    code = "\n".join(file.read_text() for file in sorted((ROOT / "engine").rglob("*.py")))[
        :1_000_000
    ]
    cases = Path(ROOT / "tests" / "secrets" / "positive.jsonl").read_text().splitlines()
    secret = "\n".join(json.loads(case)["text"] for case in cases)
    rows = []
    for name, text in (("an entry", entry), ("source code", code), ("nothing but secrets", secret)):
        ours, library = (
            timed(lambda text=text: scan.redact(text, Home.from_env())),
            timed(lambda text=text: scan._betterleaks(text)),
        )
        rows.append(
            [
                name,
                f"{len(text) / 1000:.0f} kB",
                round(ours, 2),
                round(library, 2),
                round(len(text) / ours / 1000, 2),
            ]
        )
    report.table("redact", ["what", "size", "ms", "of it, the library", "MB/s"], rows)
    report.save()


def timed(call: Callable[[], object]) -> float:
    """Median milliseconds of five."""
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1000)
    return median(taken)


if __name__ == "__main__":
    main()
