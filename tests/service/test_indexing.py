"""What the index thread knows of projects that it has not read to the end."""

from __future__ import annotations

import contextlib
import threading

from memsearch_engine.home import Home
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.projects import locate
from memsearch_engine.registry import Registry
from memsearch_engine.service.indexing import Indexer, IndexJob


def behind(box, *, read: bool = False, forget: bool = False) -> bool:
    """Whether an indexer that was just opened is behind with the box's project; after having it read, or what is indexed of it dropped."""
    home = Home(box.home.root)
    with contextlib.closing(Registry(home)) as registry:
        project = registry.at(locate(str(box.project), home), register=True)
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        try:
            if read:
                job = IndexJob(project, [])
                indexer.enqueue(job)
                assert job.was_read.wait(60)
            if forget:
                indexer._forget(project)
            return indexer.is_behind([project])
        finally:
            indexer.close()


def test_a_service_killed_while_it_read_the_notes_first_is_known_to_be_behind(box):
    box.fill()
    Catalog(box.home.cache_db, writable=True).close()  # as a kill leaves it: made, and nothing read
    assert behind(box)
    assert not behind(box, read=True)
    assert not behind(box)  # one that was read once serves from the start


def test_a_catalog_from_before_that_was_counted_has_read_what_it_holds(box):
    box.fill()
    assert not behind(box, read=True)
    catalog = Catalog(box.home.cache_db, writable=True)
    with catalog.transaction() as db:
        db.execute("DROP TABLE taken_in")
    catalog.close()
    assert not behind(box)


def test_an_index_that_is_being_built_anew_is_behind(box):
    box.fill()
    assert behind(box, read=True, forget=True)
    assert behind(box)  # also where the service is killed meanwhile
