"""Counts over the catalog: entries by day and agent, chunks by project."""

from __future__ import annotations

from collections.abc import Iterable

from memsearch_engine.index.catalog.database import CatalogDatabase, CatalogPart
from memsearch_engine.index.catalog.schema import CHUNKS_OF_FILES, IS_NOTE

_FEW = 5  # projects


class CatalogStatistics(CatalogPart):
    """Numbers for lists, status and health."""

    def __init__(self, database: CatalogDatabase) -> None:
        super().__init__(database)
        # of which version of the catalog, and number by project: all chunks, their duplicates
        self._chunks: tuple[int, dict[str, int]] = -1, {}
        self._distinct: tuple[int, dict[str, int]] = -1, {}
        self._duplicates: tuple[int, dict[str, int]] = -1, {}
        self._majority = ""  # the project with most of the files of that version, if there is one

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
        """Return the number of distinct chunks of a project, cached until the catalog changes.

        All chunks minus the duplicates take a third of the time of ``DISTINCT``. They are counted
        in all projects at once, unless only a few small projects are asked for.
        """
        version, total = self._database.version(), self._count_chunks(project)
        if self._distinct[0] != version:
            self._distinct = version, {}
        known = self._distinct[1]
        if project not in known:
            if project == self._majority or len(known) >= _FEW:
                if self._duplicates[0] != version:
                    self._duplicates = version, self._count_duplicates()
                known[project] = total - self._duplicates[1].get(project, 0)
            else:
                sql = f"SELECT count(DISTINCT c.chunk_id) {CHUNKS_OF_FILES} WHERE f.project=?"
                ((known[project],),) = self._database.query(sql, (project,))
        return known[project]

    def _count_duplicates(self) -> dict[str, int]:
        """Count the chunks that repeat another one of their project, for all projects at once."""
        sql = """
            WITH duplicates AS (SELECT chunk_id FROM chunks GROUP BY chunk_id HAVING count(*) > 1)
            SELECT e.project, count(*) - count(DISTINCT c.chunk_id) FROM duplicates d
              CROSS JOIN chunks c ON c.chunk_id=d.chunk_id JOIN entries e ON e.id=c.entry
              GROUP BY e.project
        """
        return dict(self._database.query(sql))

    def _count_chunks(self, project: str) -> int:
        """Count the chunks of a project, or those of the others if these have fewer files."""
        query, version = self._database.query, self._database.version()
        if self._chunks[0] != version:
            files = self._database.file_counts()
            half = sum(files.values()) / 2
            self._majority = next((name for name, count in files.items() if count > half), "")
            self._chunks = version, {}
        counts, is_most = self._chunks[1], project == self._majority
        if project not in counts:
            sql = f"SELECT count(*) {CHUNKS_OF_FILES} WHERE f.project{'<>' if is_most else '='}?"
            ((count,),) = query(sql, (project,))
            if is_most:
                ((total,),) = query("SELECT count(*) FROM chunks")
                count = total - count
            counts[project] = count
        return counts[project]
