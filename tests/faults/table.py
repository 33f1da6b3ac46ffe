"""The fault table: fault, times injected, losses, longest time to recover.

    python -m tests.faults.table                 # full size, some minutes
    python -m tests.faults.table --size 0.2      # as the test run does
    python -m tests.faults.table killed_service  # one of them

Exit code 1 where anything was lost.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.faults.scenarios import SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--size", type=float, default=1.0, help="share of the full size")
    options = parser.parse_args()
    lost = 0
    print(f"{'fault':72s} {'injected':>8s} {'losses':>6s} {'recovery':>9s}")
    for scenario in SCENARIOS:
        if options.names and scenario.__name__ not in options.names:
            continue
        folder = Path(tempfile.mkdtemp(prefix="memsearch-faults-"))
        try:
            tally = scenario(folder, options.size)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        lost += len(tally.losses)
        print(
            f"{(scenario.__doc__ or '').strip():72s} {tally.injected:8d} "
            f"{len(tally.losses):6d} {tally.recovery_s:7.2f} s",
            flush=True,
        )
        for loss in tally.losses[:5]:
            print(f"    {loss[:600]}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
