"""Counts over the catalog: entries by day and agent, chunks by project."""

from __future__ import annotations

from collections.abc import Iterable

from memsearch_engine.index.catalog.database import CatalogDatabase, CatalogPart
from memsearch_engine.index.catalog.schema import IS_NOTE


class CatalogStatistics(CatalogPart):
    """Numbers for lists, status and health."""

    def __init__(self, database: CatalogDatabase) -> None:
        super().__init__(database)
        self._chunks: dict[str, tuple[int, int]] = {}  # project -> version, number

    def counts(self, project: str) -> dict[str, int]:
        """Return the numbers of files, failed files, entries, days and chunks of a project.

        Returns:
            The keys ``files``, ``failed``, ``entries``, ``days``, ``chunks`` and ``distinct``
            (chunks without duplicates). They are fields of ``service.answers.Indexed`` and keys of
            ``stats --json``.
        """
        ((files, failed),) = self._database.query(
            "SELECT count(*), total(state='failed') FROM files WHERE project=?", (project,)
        )
        return {
            "files": files,
            "failed": int(failed),
            **self.sizes(project),
            "distinct": self.distinct_chunks(project),
        }

    def sizes(self, project: str) -> dict[str, int]:
        """Return the numbers of entries, days and chunks of a project."""
        query = self._database.query
        # dated entries are notes, so the index alone counts them: a fifth of the time
        ((entries, days),) = query(
            "SELECT count(*), count(DISTINCT day) FROM entries WHERE project=? AND day>''",
            (project,),
        )
        ((undated,),) = query(
            f"SELECT count(*) FROM entries WHERE project=? AND day='' AND {IS_NOTE}", (project,)
        )
        return {
            "entries": entries + undated,
            "days": days + bool(undated),
            "chunks": self._count_chunks(project),
        }

    def agents(self, projects: Iterable[str]) -> list[tuple[str, int, str]]:
        """Return (agent, number of entries, newest day and time), the most entries first.

        Agent '' means entries that people wrote.
        """
        found: dict[str, tuple[int, str]] = {}
        for project in projects:
            rows = self._database.query(
                "SELECT agent, count(*), max(day || ' ' || time) FROM entries"
                f" WHERE project=? AND {IS_NOTE} GROUP BY agent",
                (project,),
            )
            for agent, count, last in rows:
                before, newest = found.get(agent, (0, ""))
                found[agent] = before + count, max(last, newest)
        return sorted(((agent, *rest) for agent, rest in found.items()), key=lambda row: -row[1])

    def distinct_chunks(self, project: str) -> int:
        """Return the number of distinct chunks of a project, cached until the catalog changes."""
        version = self._database.version()
        cached = self._chunks.get(project)
        if cached is None or cached[0] != version:
            cached = self._chunks[project] = (version, self._count_distinct(project))
        return cached[1]

    def _count_distinct(self, project: str) -> int:
        """Count all chunks and subtract the duplicates: a third of the time of ``DISTINCT``."""
        sql = """
            WITH duplicates AS (SELECT chunk_id FROM chunks GROUP BY chunk_id HAVING count(*) > 1)
            SELECT count(*) - count(DISTINCT c.chunk_id) FROM duplicates d
              CROSS JOIN chunks c ON c.chunk_id=d.chunk_id JOIN entries e ON e.id=c.entry
              WHERE e.project=?
        """
        ((duplicates,),) = self._database.query(sql, (project,))
        return self._count_chunks(project) - int(duplicates)

    def _count_chunks(self, project: str) -> int:
        """Count the chunks of a project, or those of the others if these are fewer files."""
        query = self._database.query
        ((own, files),) = query("SELECT total(project=?), count(*) FROM files", (project,))
        is_small = 2 * own < files
        sql = (
            "SELECT count(*) FROM files f CROSS JOIN entries e ON e.file=f.id"
            " CROSS JOIN chunks c ON c.entry=e.id WHERE f.project"
        )
        ((count,),) = query(f"{sql}{'=' if is_small else '<>'}?", (project,))
        if is_small:
            return int(count)
        ((total,),) = query("SELECT count(*) FROM chunks")
        return int(total) - int(count)
