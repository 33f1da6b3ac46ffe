"""Move newer hits before the hits that they supersede, for searches and for prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations

from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST, UNTRUSTED
from memsearch_engine.search.hits import UNSURE, Hit
from memsearch_engine.search.rank import numbered
from memsearch_engine.search.request import SearchRequest, identifiers
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.supersession import conversations
from memsearch_engine.search.supersession.conversations import CONSIDERED
from memsearch_engine.search.supersession.listing import ENOUGH, NONE, Overrides
from memsearch_engine.search.supersession.notes import links_from
from memsearch_engine.search.supersession.revisions import newest_version

Pair = tuple[str, str]  # ids of the older and the newer entry
#: Least closeness (``hubness.Closeness``) of two notes on the same topic, and least score of the
#: newer note as a share of the older note's score. Key: whether the request asks for the present.
#: Chosen on tests/evaluation.
_SAME_TOPIC = {False: (1.4, 0.8), True: (1.05, 0.6)}
#: Number of the first hits that are compared with the hits above them.
_AMONG = 5
#: Number of a prompt's hits for which newer versions are looked up, and of steps for each of them.
_FOLLOWED, _STEPS = 3, 3


def for_search(sources: Sources, request: SearchRequest, terms: list[str], hits: list[Hit]) -> None:
    """Reorder the hits of a search, in place.

    The hits of a prompt are not changed: ``for_prompt`` reorders them after they are rated. The
    hits of a query that asks for the past are not changed, either.

    Args:
        terms: terms of the query.
        hits: best first.
    """
    if request.is_prompt or request.asks_for_past:
        return
    index = sources.vectors
    assert index is not None
    links = _links(sources.catalog, index, sources.projects, hits[:_AMONG])
    closeness = _closeness(index, sources.projects, hits[:_AMONG])
    _newest_first(request, hits, closeness, identifiers(terms), sources.overrides, links)
    if 2 * len(identifiers(terms)) < len(terms):
        # a query of identifiers asks for all notes that contain them, old or new
        for project in sources.projects:
            later_conversations_first(sources.catalog, index, project, hits, sources.overrides)


def revisions_first(
    sources: Sources, request: SearchRequest, terms: list[str], hits: list[Hit]
) -> None:
    """Follow the first hits of a search to their newest versions, in place.

    The hits have their confidence already; unsure ones are not followed. A newer version that is
    not a hit is added if it meets the request's conditions. The hits of a prompt, and of a query
    that asks for the past, are not changed.

    Args:
        terms: terms of the query.
        hits: best first.
    """
    if request.is_prompt or request.asks_for_past or request.as_of:
        return
    index, names = sources.vectors, identifiers(terms)
    assert index is not None

    def is_wanted(newer: Row, older: Hit) -> bool:
        if request.checks_note_text:
            sources.catalog.add_note_texts([newer])
        has_names = _names(older.row, names) <= _names(newer, names)
        is_valid = "superseded-by" not in newer.marks and newer.marks.get("trust") not in UNTRUSTED
        is_sure = (older.confidence or 0.0) >= UNSURE
        return is_sure and has_names and is_valid and request.admits(newer)

    for project in sources.projects:
        newer_versions_first(sources.catalog, index, project, hits, sources.overrides, is_wanted)


def for_prompt(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    hits: list[Hit],
    overrides: Overrides = NONE,
) -> None:
    """Reorder the rated hits of a prompt, in place, and add newer versions that are not hits."""
    newer_versions_first(catalog, index, project, hits, overrides)
    later_conversations_first(catalog, index, project, hits, overrides)


def newer_versions_first(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    hits: list[Hit],
    overrides: Overrides = NONE,
    is_wanted: Callable[[Row, Hit], bool] = lambda newer, older: True,
) -> None:
    """Insert the newer version of each of the first hits before it, in place.

    The newer version need not be a hit. It takes the score of the older one, and its confidence if
    that is higher. Hits of other projects are not followed.

    Args:
        is_wanted: whether a newer version may be put before a hit.
    """
    for hit in hits[:_FOLLOWED]:
        older = hit
        for _ in range(_STEPS if hit.row.project == project.id else 0):
            row = newest_version(catalog, index, project, older.row, overrides)
            known = next((one for one in hits if row and one.id == row.entry_id), None)
            if row is None or known in (older, hit) or not is_wanted(row, older):
                break
            newer = known or Hit(0, older.score, row, {}, {}, [])
            _put_before(hits, newer, older)
            newer.confidence = max(newer.confidence or 0.0, older.confidence or 0.0)
            if older.id not in newer.supersedes:
                newer.supersedes = [*newer.supersedes, older.id]
                newer.reasons.append(f"newer version of the note of {older.row.day}")
            older = newer
    numbered(hits)


def later_conversations_first(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    hits: list[Hit],
    overrides: Overrides = NONE,
) -> None:
    """Move hits of later conversations before hits of earlier ones on the same topic, in place.

    Hits of other projects are not moved. A moved hit gets the confidence of the earlier hit, times
    the probability of the pair, if that is higher than its own.
    """
    own = [hit for hit in hits[:CONSIDERED] if hit.row.project == project.id]
    found = sorted(
        conversations.pairs(catalog, index, project, own, overrides, conversations.ENOUGH),
        key=lambda pair: (pair.later.day, pair.later.time),
        reverse=True,
    )
    for pair in found:
        earlier, later, probability = pair.earlier, pair.later, pair.probability
        if probability < conversations.ENOUGH or overrides.get((earlier.id, later.id)) is False:
            continue
        _put_before(hits, later, earlier)
        if earlier.confidence is not None:
            confidence = round(probability * earlier.confidence, 3)
            later.confidence = max(later.confidence or 0.0, confidence)
        later.possibly_supersedes = [*later.possibly_supersedes, earlier.id]
        later.reasons.append(
            f"of a later conversation on the topic of {earlier.day} ({probability:.0%} sure)"
        )
    numbered(hits)


def _newest_first(
    request: SearchRequest,
    hits: list[Hit],
    closeness: Mapping[Pair, float],
    names: set[str],
    overrides: Overrides,
    links: Mapping[Pair, float],
) -> None:
    """Move the newest note on a topic before older ones, in place.

    A note is not moved before a note that contains more identifiers of the query.

    Args:
        closeness: (id, id) -> closeness of two hits.
        names: identifiers in the query.
        links: (older id, newer id) -> probability that the newer note supersedes the older one.
    """
    for hit in hits[:_AMONG]:
        for older in hits[: hits.index(hit)]:
            reason = _supersedes(request, hit, older, closeness, names, overrides, links)
            if reason:
                _put_before(hits, hit, older)
                hit.scores["newer"] = round(closeness.get((older.id, hit.id), 0.0), 4)
                hit.supersedes = [*hit.supersedes, older.id]
                hit.reasons.append(f"newer version of the note of {older.row.day} ({reason})")
                break
    numbered(hits)


def _supersedes(
    request: SearchRequest,
    hit: Hit,
    older: Hit,
    closeness: Mapping[Pair, float],
    names: set[str],
    overrides: Overrides,
    links: Mapping[Pair, float],
) -> str:
    """The reason why a hit supersedes a better hit; empty if it does not."""
    decision = overrides.get((older.id, hit.id))
    if decision is not None:
        return "as you said" if decision else ""
    if names and not _names(older.row, names) <= _names(hit.row, names):
        return ""
    if probability := links.get((older.id, hit.id), 0.0):
        return f"{probability:.0%} sure"
    least, share = _SAME_TOPIC[request.asks_for_present]
    close = closeness.get((older.id, hit.id), 0.0)
    one, other = hit.row, older.row
    is_newer = bool(other.day) and (one.day, one.time) > (other.day, other.time)
    is_same = close >= least and hit.score >= share * older.score and one.project == other.project
    is_digest = one.heading.startswith(DIGEST)
    return f"alike {close:.2f}" if is_same and is_newer and not is_digest else ""


def _names(row: Row, names: set[str]) -> set[str]:
    return names & set(analyze.terms(row.embedded))


def _closeness(index: VectorIndex, projects: list[Project], hits: list[Hit]) -> dict[Pair, float]:
    """(id, id) -> closeness, for any two hits of one project, in both directions."""
    found: dict[Pair, float] = {}
    for project in projects:
        own = [hit for hit in hits if hit.row.project == project.id]
        if len(own) < 2:
            continue
        vectors = index.vectors(project.collection, [hit.row.chunk_id for hit in own])
        scale = index.sample(project.collection).closeness
        for one, other in permutations(own, 2):
            ours, theirs = vectors.get(one.row.chunk_id), vectors.get(other.row.chunk_id)
            if ours is not None and theirs is not None:
                corrections = one.scores.get("special", 0.0) + other.scores.get("special", 0.0)
                found[one.id, other.id] = scale.of(float(ours @ theirs), corrections)
    return found


def _links(
    catalog: Catalog, index: VectorIndex, projects: list[Project], hits: list[Hit]
) -> dict[Pair, float]:
    """(older id, newer id) -> probability that the newer note supersedes the older one."""
    return {
        (link.older, link.newer): link.sure
        for project in projects
        if (rows := [hit.row for hit in hits if hit.row.project == project.id])
        for link in links_from(catalog, index, project, rows)
        if link.sure >= ENOUGH
    }


def _put_before(hits: list[Hit], newer: Hit, older: Hit) -> None:
    """Move a hit directly before an older hit, with the older hit's score.

    Nothing changes if it is above the older hit already.
    """
    if newer in hits:
        if hits.index(newer) < hits.index(older):
            return
        hits.remove(newer)
    hits.insert(hits.index(older), newer)
    newer.score = older.score
