"""A home in which a voice's chats were imported and indexed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture import backfill
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex

from tests.evaluation.compared import compare_all
from tests.evaluation.recall import chats


@contextlib.contextmanager
def world(
    folder: Path,
    voice: chats.Voice,
    turns: list[chats.Said],
    *,
    whole: bool = True,
    model: str = "",
) -> Iterator[tuple[Home, Project, Catalog, VectorIndex]]:
    """A home in which the chats of a voice were imported and indexed.

    Args:
        whole: every turn must have become a note.
        model: ``embedding.model``; empty for the default one.
    """
    root = folder / voice.name
    settings = Settings()
    settings.embedding.model = model
    home = Home(root / "home").ensure()
    place = locate(root / "project", home)
    project = Project(
        f"id-{voice.name}", voice.name, f"ms_{voice.name}_0", place.root, place.memory
    )
    if not Path(place.memory).is_dir():
        Path(place.root).mkdir(parents=True, exist_ok=True)
        folders = chats.write(root / "agents", Path(place.root), turns)
        pipeline = CapturePipeline(home)
        choice = backfill.ImportSelection(chats.AGENTS)
        plan = backfill.plan(home, pipeline, folders, choice)
        done = backfill.run(pipeline, plan, choice)
        pipeline.close()
        assert not done.failed and done.written == (len(turns) if whole else done.written), (
            done,
            len(turns),
        )
    catalog = Catalog(home.cache_db, writable=True)
    space = VectorIndex(home, settings.milvus, load_embedder(home, settings.embedding))
    scan(
        catalog,
        project.id,
        [project.memory],
        settings,
        memory=project.memory,
        prompts=Archive(home).prompts,
    )
    space.embed(space.missing(catalog, project.id))
    space.reconcile(catalog, project.id, project.collection)
    compare_all(catalog, space, project)
    try:
        yield home, project, catalog, space
    finally:
        space.close()
        catalog.close()
