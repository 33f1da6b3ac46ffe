"""Search over real commit messages: ``python -m tests.evaluation.repositories CHECKOUT ...``.

Makes an evaluation set from any git checkout that you bring: the bodies of commits are dated notes,
their subjects are the queries. Each query has one right note, the body of its own commit. Left out
are merges, short bodies, bodies that contain their subject, and near duplicates. The choice is the
same at every run. Prints recall at 1 and 5 and the mean reciprocal rank of the default search, of
its halves (BM25, dense) and, with ``--peer``, of memsearch from PyPI (a folder made by
``benchmarks/peer.sh``), with 95 % intervals of the differences (paired bootstrap).

``--changelog`` takes other queries: the lines of a changelog that name an issue which exactly one
commit closes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.files import read_day
from memsearch_engine.search import hybrid
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Sources

from tests.evaluation.compared import compare_all
from tests.evaluation.intervals import report

WAYS = ("hybrid", "bm25", "dense")
_NOTES, _QUERIES, _SEED = 800, 150, 41
_DEPTH = 50
_LEAST, _MOST = 80, 2_000  # characters of a body
LEAST_WORDS = 4  # of a query
_NEAR = 0.6  # shared terms (Jaccard) from which two bodies are near duplicates
_TRAILER = re.compile(
    r"(?im)^\s*(?:[a-z][a-z-]+-by|cc|git-svn-id|change-id|fixe?[sd]?|close[sd]?|refs?|see|pr|"
    r"reviewed-on|bug|issue|link|cherry picked.*|\(cherry picked.*)\b:?.{0,3}(?:#|http|.*<|.*@).*$"
)
_CLOSES = re.compile(r"(?i)\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\s+(?:#|https?://\S+/)(\d+)")
NUMBER = re.compile(r"\s*\(?#(\d+)\)?\.?\s*$")
_CHANGE = re.compile(r"(?m)^\s*[*-]\s+(?P<text>(?:.+\n?)(?:[ \t]+[^*\s-].*\n?)*)")
_ISSUE = re.compile(r"#(\d+)|\b([0-9a-f]{40})\b")
_REFERENCE = re.compile(r"\s*(?:[(\[]*(?:@[\w-]+|#\d+)[)\]]*|\b[0-9a-f]{40}\b)[:,]?")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Commit(NamedTuple):
    """A commit's day (ISO 8601), subject, body without trailers, and the issues it closes."""

    id: str
    day: str
    subject: str
    body: str
    closes: frozenset[str]


class Asked(NamedTuple):
    """A query and the commit whose body is the right note."""

    text: str
    commit: str


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("checkouts", nargs="+", type=Path, help="git checkouts, bare ones too")
    args.add_argument("--model", default="", help="embedding.model")
    args.add_argument("--notes", type=int, default=_NOTES, help=f"notes of each ({_NOTES})")
    args.add_argument("--queries", type=int, default=_QUERIES, help=f"of each ({_QUERIES})")
    args.add_argument("--changelog", action="store_true", help="changelog lines as queries")
    args.add_argument("--peer", type=Path, help="the folder of benchmarks/peer.sh")
    args.add_argument("--folder", type=Path, help="keep the notes and their index here")
    args.add_argument("--json", type=Path, help="write every rank here")
    options = args.parse_args()
    ranks: dict[str, dict[str, list[int]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for checkout in options.checkouts:
            name = name_of(checkout)
            notes, queries = made(
                checkout, options.notes, options.queries, changelog=options.changelog
            )
            found = ask(folder / name, notes, queries, options.model)
            if options.peer:
                found["memsearch"] = ask_peer(folder / name, options.peer, notes, queries)
            ranks[f"{name} ({len(queries)}/{len(notes)})"] = found
            print(report({name: found}), flush=True)
    if len(ranks) > 1:
        print(report({"together": pooled(ranks)}))
    if options.json:
        options.json.write_text(json.dumps(ranks))


def pooled(ranks: dict[str, dict[str, list[int]]]) -> dict[str, list[int]]:
    """The ranks of several sets as those of one."""
    return {
        way: [rank for found in ranks.values() for rank in found[way]]
        for way in next(iter(ranks.values()))
    }


def name_of(checkout: Path) -> str:
    """A checkout's name: its folder's, without what a bare clone appends."""
    path = checkout.resolve()
    return (path.parent if path.name in ("repo", ".git") else path).name.removesuffix(".git")


def commits(checkout: Path) -> Iterator[Commit]:
    """The commits that are no merges, newest first."""
    log = subprocess.run(
        ["git", "-C", str(checkout), "log", "--no-merges", "--format=%H%x00%cs%x00%s%x00%b%x01"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        errors="replace",
    ).stdout
    for record in log.split("\x01"):
        parts = record.strip("\n").split("\0")
        if len(parts) == 4:
            closes = frozenset(_CLOSES.findall(parts[2] + "\n" + parts[3]))
            yield Commit(parts[0], parts[1], parts[2], _body(parts[3]), closes)


def _body(text: str) -> str:
    """A commit's body without trailers, comments and rules."""
    text = _TRAILER.sub("", text).replace("<!--", "").replace("-->", "")
    text = re.sub(r"(?m)^\s*[-=*_]{3,}\s*$", "", text)
    return re.sub(r"\n\s*\n+", "\n\n", text).strip()[:_MOST]


def made(
    checkout: Path, notes: int, queries: int, *, changelog: bool = False
) -> tuple[list[Commit], list[Asked]]:
    """The notes of a set, oldest first, and its queries.

    Args:
        notes: at most so many, the newest eligible commits.
        queries: at most so many, a random sample with a fixed seed.
    """
    chosen: list[Commit] = []
    terms: list[frozenset[str]] = []
    subjects: set[str] = set()
    for commit in commits(checkout):
        subject = plain(commit.subject)
        own = frozenset(analyze.terms(commit.body))
        if (
            len(commit.body) < _LEAST
            or subject in subjects
            or subject in plain(commit.body)
            or any(jaccard(own, other) >= _NEAR for other in terms)
        ):
            continue
        subjects.add(subject)
        chosen.append(commit)
        terms.append(own)
        if len(chosen) == notes:
            break
    asked = (
        _changes(checkout, chosen)
        if changelog
        else [Asked(NUMBER.sub("", commit.subject), commit.id) for commit in chosen]
    )
    asked = [one for one in asked if len(analyze.terms(one.text)) >= LEAST_WORDS]
    sample = random.Random(_SEED).sample(asked, min(queries, len(asked)))
    return chosen[::-1], sample


def _changes(checkout: Path, chosen: list[Commit]) -> list[Asked]:
    """Changelog lines with an issue that exactly one of the chosen commits closes."""
    closing: dict[str, list[str]] = {}
    for commit in chosen:
        for issue in commit.closes:
            closing.setdefault(issue, []).append(commit.id)
    return list(
        {
            by[0]: Asked(text, by[0])
            for text, named in changes(checkout)
            for issue in named
            if len(by := closing.get(issue, [])) == 1
        }.values()
    )


def changes(checkout: Path) -> Iterator[tuple[str, list[str]]]:
    """The items of all changelogs without references, and the issues or commits that each names."""
    for name in git(checkout, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if re.match(r"(?i)(changelog|changes|history|news)\b", name.rpartition("/")[2]):
            for change in _CHANGE.finditer(git(checkout, "show", f"HEAD:{name}")):
                text = " ".join(change["text"].split())
                if named := [one for found in _ISSUE.findall(text) for one in found if one]:
                    yield _REFERENCE.sub("", _LINK.sub("", text)).strip(" :,;`*("), named


def git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def plain(text: str) -> str:
    return " ".join(analyze.terms(NUMBER.sub("", text)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / max(1, len(one) + len(other) - shared)


def write(folder: Path, notes: list[Commit]) -> dict[tuple[str, str], str]:
    """Write day files of *notes* into *folder*: (day, time) -> the commit's id.

    Every note of a day has a minute of its own, so that day and time name it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    places: dict[tuple[str, str], str] = {}
    days: dict[str, list[str]] = {}
    for commit in notes:
        lines = days.setdefault(commit.day, [f"# {commit.day}\n"])
        minute = len(lines) - 1
        time = f"{8 + minute // 60:02d}:{minute % 60:02d}"
        places[commit.day, time] = commit.id
        paragraphs = (" ".join(part.split()) for part in commit.body.split("\n\n"))
        lines.append(f"### {time}\n" + "\n".join(f"- {text}" for text in paragraphs) + "\n")
    for day, lines in days.items():
        (folder / f"{day}.md").write_text("\n".join(lines), encoding="utf-8")
    return places


@contextlib.contextmanager
def world(
    folder: Path, notes: list[Commit], model: str = ""
) -> Iterator[tuple[Home, Project, Catalog, VectorIndex, dict[tuple[str, str], str]]]:
    """Index *notes* under *folder*, or open what is there. The last value is that of ``write``."""
    settings = Settings()
    settings.embedding.model = model
    home = Home(folder / f"home-{Path(model).name or 'default'}").ensure()
    memory = folder / "project" / ".memsearch" / "memory"
    places = write(memory, notes)
    project = Project("id-set", "set", "ms_set_0", str(memory.parent.parent), str(memory))
    catalog = Catalog(home.cache_db, writable=True)
    space = VectorIndex(home, settings.milvus, load_embedder(home, settings.embedding))
    try:
        scan(catalog, project.id, [project.memory], settings, memory=project.memory)
        space.embed(space.missing(catalog, project.id))
        space.reconcile(catalog, project.id, project.collection)
        compare_all(catalog, space, project)
        yield home, project, catalog, space, places
    finally:
        space.close()
        catalog.close()


def ask(
    folder: Path, notes: list[Commit], queries: list[Asked], model: str = ""
) -> dict[str, list[int]]:
    """Way -> the rank of each query's right note, 0 where it is not among the first 50."""
    ranks: dict[str, list[int]] = {way: [] for way in WAYS}
    with world(folder, notes, model) as (_, project, catalog, space, places):
        for query in queries:
            asked = SearchRequest.of_words(query.text, limit=_DEPTH)
            for way in WAYS:
                answer = hybrid.search(Sources(catalog, space, [project]), asked.with_(mode=way))
                found = [places.get((hit.row.day, hit.row.time)) for hit in answer.hits]
                ranks[way].append(found.index(query.commit) + 1 if query.commit in found else 0)
    return ranks


def ask_peer(folder: Path, venv: Path, notes: list[Commit], queries: list[Asked]) -> list[int]:
    """Ranks of memsearch from PyPI on the same day files and the same queries."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from common import Peer

    memory = folder / "project" / ".memsearch" / "memory"
    places = write(memory, notes)
    entries = {
        str(path.resolve()): [
            (entry.start_line, entry.end_line, places[path.stem, entry.heading])
            for entry in read_day(str(path)).entries
        ]
        for path in memory.glob("*.md")
    }
    peer = Peer(venv, folder / "peer")
    peer.drive(do="index", paths=[str(memory)])
    answered = peer.drive(do="ask", queries=[{"q": query.text} for query in queries], limit=_DEPTH)
    ranks = []
    for hits, query in zip(answered["hits"], queries):
        found = dict.fromkeys(
            commit
            for source, start, end in hits
            for first, last, commit in entries[source]
            if first <= end and start <= last
        )
        ranks.append(list(found).index(query.commit) + 1 if query.commit in found else 0)
    return ranks


if __name__ == "__main__":
    main()
