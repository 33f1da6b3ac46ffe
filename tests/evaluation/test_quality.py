"""What README says of the default fusion, held: never worse than the better of its parts, by more
than one query a kind.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.evaluation import confidence
from tests.evaluation.run import answers, ask


@pytest.mark.slow
def test_the_default_is_at_least_as_good_as_the_better_of_its_parts(tmp_path_factory):
    ways = (("hybrid", "weighted"), ("dense", "weighted"), ("bm25", "weighted"))
    folder = tmp_path_factory.getbasetemp() / "evaluation"
    queries, ranks = ask(folder, routine=800, ways=ways)
    kinds = {query["kind"] for query in queries if query["want"]}
    assert sum(len(query["want"]) > 0 for query in queries) >= 150 and len(kinds) >= 9
    for depth in (
        1,
        5,
        10,
    ):  # a kind is judged by the first five: what fits a screen, and what an agent reads

        def right(way: str, kind: str, depth: int = depth) -> int:
            pairs = zip(queries, ranks[way])
            return sum(
                0 < rank <= depth
                for query, rank in pairs
                if query["want"] and kind in (query["kind"], "all")
            )

        for kind in kinds if depth == 5 else ():
            best = max(right("dense", kind), right("bm25", kind))
            assert right("hybrid/weighted", kind) >= best - 1, (kind, depth)
        assert right("hybrid/weighted", "all") > max(right("dense", "all"), right("bm25", "all"))


@pytest.mark.slow
def test_hits_are_right_as_often_as_they_are_said_to_be(tmp_path_factory):
    """The shipped weights on a year of another size than they were fitted on."""
    injected = answers(tmp_path_factory.getbasetemp() / "evaluation", 800)
    values, right, _ = confidence.table(injected)
    rated = np.array([hit.confidence for _, _, answer in injected for hit in answer.hits])
    assert len(values) == len(rated) and confidence.area(rated, right) > 0.93
    for low, high in ((0.0, 0.05), (0.05, 0.3), (0.3, 0.7), (0.7, 1.01)):
        inside = (rated >= low) & (rated < high)
        assert abs(rated[inside].mean() - right[inside].mean()) < (0.02 if high < 0.1 else 0.12), (
            low,
            high,
        )
