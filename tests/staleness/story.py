"""``python -m tests.staleness.story [--wrong]``: how right what is claimed of labelled projects is,
name by name.

``python.json`` is a project's history of nine months and 135 notes on it with 453 names,
``go.json`` another one's of eleven, labelled by somebody who did not know how names are looked for.
What is looked for was mended by the first; the second was only measured.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from memsearch_engine.staleness import ask

from tests.staleness.repos import Project, at

STORIES = ("python", "go")


class Judged(NamedTuple):
    note: str
    name: str
    kind: str
    wanted: str
    found: str
    words: str
    is_right: bool


def build(root: Path, name: str) -> tuple[Project, list[dict[str, Any]]]:
    story = json.loads(Path(__file__).with_name(f"{name}.json").read_text())
    project = Project(root)
    for commit in story["commits"]:
        for op, *args in commit["ops"]:
            getattr(project, op)(*args)
        project.commit(commit["at"], commit["message"])
    return project, story["notes"]


def judge(root: Path, name: str) -> list[Judged]:
    project, notes = build(root / "project", name)
    asked = [
        ask.NoteToCheck(str(n), "h", at(note["at"]), text=note["text"])
        for n, note in enumerate(notes)
    ]
    answer = ask.check(str(project.root), project.git, root / "ground.db", asked)
    assert answer is not None and not answer.problem, answer.problem
    judged = []
    for note, checked in zip(notes, answer.notes):
        found = {finding.name: finding for finding in checked.standing.findings}
        labels = {label["name"]: label for label in note["names"]}
        for named, label in labels.items():
            finding = found.get(named)
            state = {"fresh": "there", "changed": "there", "unknown": "none"}.get(
                finding.state if finding else "unknown", finding.state if finding else ""
            )
            is_right = state == label["state"] and (
                state not in ("gone", "moved")
                or (
                    finding is not None
                    and finding.day == label["on"]
                    and (state == "gone" or finding.to == label["to"])
                )
            )
            words = finding.words if finding else "not looked for"
            judged.append(
                Judged(note["at"], named, label["kind"], label["state"], state, words, is_right)
            )
        for named in found.keys() - labels.keys():  # nobody named it: nothing may be claimed of it
            finding = found[named]
            if finding.state in ("gone", "moved"):
                judged.append(
                    Judged(
                        note["at"],
                        named,
                        finding.kind,
                        "unlabelled",
                        finding.state,
                        finding.words,
                        False,
                    )
                )
    return judged


def precision(judged: list[Judged], state: str) -> tuple[int, int]:
    claimed = [one for one in judged if one.found == state]
    return sum(one.is_right for one in claimed), len(claimed)


def recall(judged: list[Judged], state: str) -> tuple[int, int]:
    wanted = [one for one in judged if one.wanted == state]
    return sum(one.is_right for one in wanted), len(wanted)


def main() -> None:
    for name in STORIES:
        with tempfile.TemporaryDirectory() as folder:
            judged = judge(Path(folder), name)
        print(f"{name}: {len(judged)} names")
        for state in ("gone", "moved"):
            right, claimed = precision(judged, state)
            found, wanted = recall(judged, state)
            print(f"  {state}: {right} of {claimed} claims are right; {found} of {wanted} found")
        print(
            "  (wanted, found) of all names:",
            dict(Counter((one.wanted, one.found) for one in judged)),
        )
        for one in judged if "--wrong" in sys.argv else ():
            if not one.is_right and (
                one.found in ("gone", "moved") or one.wanted in ("gone", "moved")
            ):
                print(
                    f"  {one.note}  {one.kind:8} {one.name:40} wanted "
                    f"{one.wanted}, found {one.found}: {one.words}"
                )


if __name__ == "__main__":
    main()
