"""The attack table: attack, tried, got through.

    python -m tests.attacks.table                # full size, some minutes
    python -m tests.attacks.table --size 0.1     # as the gate does
    python -m tests.attacks.table a_hung_service # one of them

Exit code 1 where anything got through that is not explained.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.attacks.attacks import ATTACKS, EXPLAINED


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--size", type=float, default=1.0, help="share of the full size")
    options = parser.parse_args()
    worse = False
    print(f"{'attack':88s} {'tried':>6s} {'through':>7s}")
    for attack in ATTACKS:
        if options.names and attack.__name__ not in options.names:
            continue
        folder = Path(tempfile.mkdtemp(prefix="memsearch-attacks-"))
        os.environ |= {"HOME": str(folder), "MEMSEARCH_HOME": str(folder / "home")}
        try:
            tally = attack(folder, options.size)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        worse = worse or len(tally.through) > EXPLAINED.get(attack.__name__, 0)
        worse = worse or not (tally.tried or tally.why)
        print(
            f"{(attack.__doc__ or '').strip():88s} {tally.tried:6d} {len(tally.through):7d}",
            flush=True,
        )
        for line in ([f"({tally.why})"] if tally.why else []) + tally.through[:12]:
            print(f"    {line[:400]}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
