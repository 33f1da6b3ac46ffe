"""Check and build a release: ``python docs/development/release.py``.

It checks that version, changelog and tag agree, builds wheel and sdist, installs each into a fresh
environment of every Python found, runs the demo there outside the checkout, and prints the sizes.
It uploads nothing. Exit code 1: something is not ready.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: What the wheel has beside the packages.
IN_WHEEL = (
    "data/share/man/man1/memsearch.1",
    "data/share/bash-completion/completions/memsearch",
    "data/share/zsh/site-functions/_memsearch",
    "data/share/fish/vendor_completions.d/memsearch.fish",
    "memsearch_engine/agents/bundled/claude-code/",
    "licenses/LICENSE",
)


def version() -> str:
    text = (ROOT / "engine/memsearch_engine/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.M)
    assert found is not None
    return found[1]


def unprepared(release: str) -> list[str]:
    """What of version, changelog and tag does not fit the release."""
    problems = []
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(release)}\] - \d{{4}}-\d\d-\d\d$", changes, re.M):
        problems.append(f"CHANGELOG.md has no section `## [{release}] - YYYY-MM-DD`")
    if "v" + release not in _git("tag", "--points-at", "HEAD").split():
        problems.append(f"the commit has no tag v{release}")
    if _git("status", "--porcelain").strip():
        problems.append("the checkout has changes that are not committed")
    return problems


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return done.stdout


def build(folder: Path) -> list[Path]:
    """Build wheel and sdist into *folder*."""
    tools = folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
    python = str(tools / "bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", "hatchling>=1.25"], check=True)
    out = folder / "dist"
    subprocess.run([python, "-m", "hatchling", "build", "-d", str(out)], cwd=ROOT, check=True)
    return sorted(out.iterdir(), key=lambda path: path.suffix, reverse=True)


def missing(wheel: Path) -> list[str]:
    """What the wheel should contain and does not."""
    names = zipfile.ZipFile(wheel).namelist()
    return [f"the wheel has no {part}" for part in IN_WHEEL if not any(part in n for n in names)]


def pythons() -> list[str]:
    """Return the newest Python of each supported version: of pyenv, of uv, or on the PATH."""
    home, found = Path.home(), []
    for name in PYTHONS:
        own = [
            *(home / ".pyenv/versions").glob(f"{name}.*/bin/python"),
            *(home / ".local/share/uv/python").glob(f"cpython-{name}.*/bin/python3"),
        ]
        path = str(max(own, key=_patch)) if own else shutil.which(f"python{name}")
        if path:
            found.append(path)
    return found


def _patch(python: Path) -> int:
    """Return the third part of the version in the path of a Python."""
    found = re.search(r"3\.\d+\.(\d+)", str(python))
    return int(found[1]) if found else -1


def try_out(package: Path, python: str, folder: Path) -> str:
    """Install a package into a fresh environment and run the demo. Returns the error, or ''."""
    place = Path(tempfile.mkdtemp(dir=folder))
    own = place / "bin/python"
    steps = [
        [python, "-m", "venv", str(place)],
        [str(own), "-m", "pip", "install", "-q", str(package)],
        [str(place / "bin/memsearch"), "version"],
        [str(place / "bin/memsearch"), "demo", "--no-open"],
    ]
    for step in steps:
        done = subprocess.run(step, cwd=place, capture_output=True, text=True)
        if done.returncode:
            return f"{' '.join(step)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return ""


def main(arguments: list[str]) -> int:
    """Run all steps. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", help="only this Python (more than once)")
    parser.add_argument("--wheel", action="store_true", help="do not install the sdist")
    parser.add_argument("--keep", type=Path, help="copy wheel and sdist into this folder")
    options = parser.parse_args(arguments)
    release = version()
    problems = unprepared(release)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packages = build(folder)
        for package in packages:
            print(f"{package.stat().st_size / 1e6:6.2f} MB  {package.name}")
        problems += missing(packages[0])
        for package in packages[: 1 if options.wheel else None]:
            for python in options.python or pythons():
                error = try_out(package, python, folder)
                print(f"{'failed' if error else 'works '}  {package.name} with {python}")
                problems += [error] * bool(error)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for package in packages:
                shutil.copy2(package, options.keep)
    for problem in problems:
        print(f"not ready: {problem}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
