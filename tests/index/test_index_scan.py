"""Embedding nothing twice, forgetting nothing that is there, keeping projects apart."""

from __future__ import annotations

import errno
import os
import shutil

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.scan import scan

from tests.conftest import until

# -- as a user sees it


@pytest.mark.slow
def test_moves_and_renames_embed_nothing_a_line_embeds_one(box):
    box.fill()
    box.index()
    path = box.memory / "2026-02-09.md"
    text = path.read_text()

    path.write_text("\n\n\n" + text)
    assert embedded_by(box) == 0
    lines = box.ok("search", "Redis TTL", "-j", "-k", "1").json[0]
    assert (
        "Redis" in (path.read_text().splitlines())[lines["end_line"] - 1]
    )  # line numbers moved along

    renamed = path.rename(box.memory / "2026-03-01.md")
    assert embedded_by(box) == 0
    assert box.ok("search", "Redis TTL", "-j", "-k", "1").json[0]["day"] == "2026-03-01"

    renamed.write_text(renamed.read_text().replace("900 seconds", "60 seconds"))
    assert embedded_by(box) == 1
    renamed.write_text(renamed.read_text() + "\n### 18:00\n- one more line\n")
    assert embedded_by(box) == 1
    assert box.index("--force")["embedded"] == 0
    box.ok("reset", "--yes")
    assert embedded_by(box) == 0
    assert box.ok("health", "--json").json["projects"][0]["vectors"] == 6


def embedded_by(box) -> int:
    """Vectors made since the last call, whether by the watch or by the command."""
    import sqlite3

    box.index()
    (database,) = box.home.index.glob("*/vectors.db")
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        now = db.execute("SELECT count(*) FROM vectors").fetchone()[0]
    made = now - getattr(box, "vectors", 5)
    box.vectors = now
    return made


@pytest.mark.slow
def test_a_deleted_file_disappears(box):
    box.fill()
    box.index()
    (box.memory / "2026-02-09.md").unlink()
    state = box.index()
    assert state["entries"] == 2 and state["chunks"] == 2
    answer = box.run("search", "redis cache ttl", "--json")
    assert all(hit["day"] == "2026-02-10" for hit in answer.json["hits"])
    assert box.ok("health", "--json").json["projects"][0]["vectors"] == 2


def test_an_empty_corpus(box):
    box.memory.mkdir(parents=True)
    state = box.index()
    assert state["files"] == state["chunks"] == 0 and state["reason"] == ""
    assert box.run("search", "anything", "--json").code == 1
    box.write("2026-01-01", "")
    box.write("2026-01-02", "\n\n  \n")
    box.write("2026-01-03", "# 2026-01-03\n\n## Session 10:00\n")
    state = box.index()
    assert state["files"] == 3 and state["entries"] == 0 and state["failed"] == []
    assert box.run("search", "anything", "-j").json == []


@pytest.mark.slow
def test_two_folders_of_one_name_share_nothing(box):
    one, two = box.other_project("a", "api"), box.other_project("b", "api")
    box.write(
        "2026-01-01", "### 10:00\n- alpha secret of the first\n", one / ".memsearch" / "memory"
    )
    box.write(
        "2026-01-01", "### 10:00\n- beta secret of the second\n", two / ".memsearch" / "memory"
    )
    collections = set()
    for folder, mine in ((one, "alpha"), (two, "beta")):
        box.index(cwd=folder)
        for mode in ("hybrid", "dense", "bm25", "lexical"):
            hits = box.run("search", "secret", "-j", "--mode", mode, cwd=folder).json
            assert [mine in hit["content"] for hit in hits] == [True], (mode, hits)
            assert hits[0]["source"].startswith(str(folder))
        collections.add(box.ok("project", "--json", cwd=folder).json["collection"])
    assert len(collections) == 2
    assert {
        h["source"].split("/")[-5] for h in box.ok("search", "secret", "--all", "-j", cwd=one).json
    } == {"a", "b"}


@pytest.mark.slow
def test_the_same_note_in_two_projects_is_each_projects_own(box):
    """The same words on the same day give the same chunk id; a hit must still be of the project
    that was asked.
    """
    one, two = box.other_project("one"), box.other_project("two")
    for folder in (one, two):
        box.write(
            "2026-01-01", "### 10:00\n- upgraded to Python 3.13\n", folder / ".memsearch" / "memory"
        )
        box.index(cwd=folder)
    for folder in (one, two):
        for mode in ("hybrid", "dense", "bm25", "lexical"):
            hits = box.ok("search", "python upgrade", "-j", "--mode", mode, cwd=folder).json
            assert [hit["source"].startswith(str(folder)) for hit in hits] == [True], (
                folder.name,
                mode,
                hits,
            )
        hit = hits[0]
        assert (
            box.ok("expand", hit["chunk_hash"], "--json", cwd=folder).json["source"]
            == hit["source"]
        )
    everywhere = box.ok("search", "python upgrade", "--all", "-j", cwd=one).json
    assert {hit["source"] for hit in everywhere} == {
        str(f / ".memsearch/memory/2026-01-01.md") for f in (one, two)
    }


@pytest.mark.slow
def test_editing_a_hit_changes_this_projects_file(box):
    """The catalog knows both files; an id that both have means the one here."""
    one, two = box.other_project("one"), box.other_project("two")
    for folder in (one, two):
        box.write(
            "2026-01-01", "### 10:00\n- upgraded to Python 3.13\n", folder / ".memsearch" / "memory"
        )
        box.index(cwd=folder)
    for folder in (one, two):
        name = box.ok("entries", "--json", cwd=folder).json["entries"][0]["entry_id"]
        edited = box.ok(
            "edit", name, "--text", f"- changed in {folder.name}", "--json", cwd=folder
        ).json
        assert edited["source"].startswith(str(folder)), edited
        assert (
            f"changed in {folder.name}" in (folder / ".memsearch/memory/2026-01-01.md").read_text()
        )


@pytest.mark.slow
def test_a_folder_that_two_projects_index_belongs_to_both(box):
    docs = box.root / "docs"
    box.write("guide.md", "# Guide\n- the deploy train leaves on Tuesdays\n", docs)
    one, two = box.other_project("one"), box.other_project("two")
    for folder in (one, two):
        assert box.index(str(docs), cwd=folder)["files"] == 1
    for folder in (one, two):
        assert box.index(cwd=folder)["entries"] == 1, folder.name
        assert box.run("search", "deploy train", "-j", cwd=folder).json, folder.name


def test_the_same_turn_in_two_files_is_complete_all_the_same(box):
    """A copied day (a sync conflict, a clone) must not leave the index "being made" for ever."""
    box.fill()
    shutil.copy(box.memory / "2026-02-09.md", box.memory / "2026-02-09 (conflicted copy).md")
    box.index()
    found = box.ok("search", "redis ttl", "--json")
    assert found.json["mode"] == "hybrid" and found.json["reason"] == "", found
    assert len({hit["entry_id"] for hit in found.json["hits"]}) == len(found.json["hits"])


@pytest.mark.slow
def test_session_filter_takes_a_beginning_in_every_mode(box):
    box.fill()
    box.index()
    for mode in ("lexical", "bm25", "dense", "hybrid"):
        hits = box.run("search", "redis session:abc", "-j", "--mode", mode).json
        assert hits and all(hit["session"] == "abc123" for hit in hits), mode


def test_expand_knows_chunks_of_another_size(box):
    """`chunking.max_chars` is a setting; the ids that search gives must be found by expand."""
    box.home.ensure()
    box.home.config.write_text("[chunking]\nmax_chars = 300\n")
    body = "\n\n".join(
        f"- paragraph {n} about subsystem{n} " + "with many more words " * 8 for n in range(12)
    )
    box.write("2026-01-01", f"### 10:00\n{body}\n")
    box.index()
    hit = box.ok("search", "subsystem9", "-j").json[0]
    assert len(hit["content"]) <= 300
    assert box.ok("expand", hit["chunk_hash"], "--json").json["entry_id"] == hit["entry_id"]


@pytest.mark.slow
def test_an_edit_is_searchable_soon(box):
    box.fill()
    box.index()
    box.ok("add", "Kafka consumers were doubled")
    until(
        lambda: (
            box.run("search", "Kafka consumers", "-j", "-k", "1").json[0]["content"].count("Kafka")
        ),
        5,
    )


def test_paths_that_are_not_ascii(box):
    folder = box.other_project("проект", "日本語 プロジェクト")
    box.write("2026-01-01", "### 10:00\n- 部署完成 deployed\n", folder / ".memsearch" / "memory")
    box.write("заметки é.md", "# Заметки\n- ключи ротируются\n", folder / ".memsearch" / "memory")
    assert box.index(cwd=folder)["entries"] == 2
    hit = box.ok("search", "deployed", "-j", cwd=folder).json[0]
    assert hit["source"] == str(folder / ".memsearch/memory/2026-01-01.md")
    assert box.ok("search", "ключи", "-j", cwd=folder).json
    project = box.ok("project", "--json", cwd=folder).json
    assert project["collection"].isascii() and project["name"] == "日本語 プロジェクト"


def test_extra_paths_are_kept_and_ignore_files_obeyed(box):
    box.fill()
    docs = box.project / "docs"
    box.write("guide.md", "# Guide\n- the deploy train leaves on Tuesdays\n", docs)
    box.write("secret.md", "# Secret\n- the deploy password\n", docs)
    (docs / ".gitignore").write_text("secret.md\n")
    assert box.index("docs")["files"] == 3
    assert box.index()["files"] == 3
    hits = box.ok("search", "deploy", "-j").json
    assert any("train" in h["content"] for h in hits) and not any(
        "password" in h["content"] for h in hits
    )


# -- scan by itself


@pytest.fixture
def catalog(tmp_path):
    catalog = Catalog(tmp_path / "cache.db", writable=True)
    yield catalog
    catalog.close()


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    for path in ("2026-01-01.md", "deep/2026-01-02.md", "deep/er/2026-01-03.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"### 10:00\n- in {path}\n")
    return folder


def run(catalog, notes, **kwargs):
    return scan(catalog, "p", [str(notes)], Settings(), memory=str(notes), **kwargs)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.EMFILE])
@pytest.mark.parametrize("where", ["", "deep", "deep/er"])
def test_an_unreadable_folder_is_not_taken_for_deleted(catalog, notes, monkeypatch, number, where):
    assert run(catalog, notes).changed == 3
    real, bad = os.scandir, str(notes / where)

    def scandir(path="."):
        if str(path) == bad:
            raise OSError(number, os.strerror(number), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = run(catalog, notes)
    assert found.removed == 0 and (bad, os.strerror(number)) in found.failed
    assert len(catalog.files.known("p")) == 3


def test_a_folder_that_fails_halfway_through_its_listing(catalog, notes, monkeypatch):
    run(catalog, notes)
    real = os.scandir

    class Torn:
        def __init__(self, path):
            self.inner = real(path)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.inner.close()

        def __iter__(self):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "scandir", Torn)
    assert run(catalog, notes).removed == 0 and len(catalog.files.known("p")) == 3


def test_a_file_that_cannot_be_read_keeps_what_was_known(catalog, notes, monkeypatch):
    from memsearch_engine.core import safe_files

    run(catalog, notes)
    bad = str(notes / "2026-01-01.md")
    (notes / "2026-01-01.md").write_text("### 10:00\n- newer text\n")
    real = safe_files.open_in

    def refuse(folder, name, *args, **kwargs):
        if name == "2026-01-01.md":
            raise PermissionError(13, "Permission denied", bad)
        return real(folder, name, *args, **kwargs)

    monkeypatch.setattr(safe_files, "open_in", refuse)
    found = run(catalog, notes)
    assert found.failed == [(bad, "Permission denied")] and found.removed == 0
    assert (
        catalog.statistics.counts("p")["entries"] == 3
        and catalog.statistics.counts("p")["failed"] == 1
    )
    monkeypatch.undo()
    assert run(catalog, notes).failed == [] and catalog.statistics.counts("p")["failed"] == 0


def test_a_root_that_is_not_mounted_is_not_taken_for_deleted(catalog, tmp_path):
    disk = tmp_path / "mnt" / "disk" / "notes"
    disk.mkdir(parents=True)
    (disk / "2026-01-01.md").write_text("### 10:00\n- x\n")
    run(catalog, disk)
    shutil.move(tmp_path / "mnt", tmp_path / "away")
    assert run(catalog, disk).removed == 0 and len(catalog.files.known("p")) == 1
    shutil.move(tmp_path / "away", tmp_path / "mnt")
    shutil.rmtree(disk)
    assert run(catalog, disk).removed == 1


def test_odd_things_in_a_folder(catalog, notes):
    (notes / "folder.md").mkdir()
    (notes / "folder.md" / "2026-01-09.md").write_text("### 10:00\n- inside\n")
    (notes / "broken.md").symlink_to(notes / "nowhere.md")
    (notes / "loop-a.md").symlink_to("loop-b.md")
    (notes / "loop-b.md").symlink_to("loop-a.md")
    (notes / "round").symlink_to(notes)
    (notes / "latin1.md").write_bytes("# Caf\xe9\n- na\xefve\n".encode("latin-1"))
    (notes / "nul.md").write_bytes(b"# x\n\x00\x01\x02\xff\xfe\n")
    os.mkfifo(notes / "pipe.md")
    found = run(catalog, notes)
    reasons = {os.path.basename(path): reason for path, reason in found.failed}
    assert reasons.keys() == {"broken.md", "loop-a.md", "loop-b.md", "pipe.md"}
    assert reasons["broken.md"] == "broken link" and found.changed == 6
    assert run(catalog, notes).changed == 0


def test_a_file_name_that_is_not_utf8_does_not_stop_the_others(catalog, notes):
    with open(os.fsencode(notes) + b"/2026-01-00-caf\xe9.md", "wb") as file:
        file.write(b"# cafe\n- x\n")
    found = run(catalog, notes)
    assert found.changed >= 3 and catalog.statistics.counts("p")["entries"] >= 3


def test_a_catalog_of_another_layout_is_set_aside_and_said(tmp_path):
    import sqlite3

    path = Home(tmp_path / "h").ensure().cache_db
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    catalog, said = Catalog.open_or_rebuild(path)
    assert "layout" in said and catalog.statistics.counts("p")["files"] == 0
    catalog.close()
    assert list(path.parent.glob("cache.db.broken-*"))


@pytest.mark.slow
def test_a_root_that_passes_over_what_another_holds_does_not_lose_it(box):
    """`index .` beside the memory folder in it, which is hidden: each pass took the notes out, or
    brought them back.
    """
    box.write("2026-02-09", "### 10:00\n- giraffes eat leaves\n")
    (box.project / "README.md").write_text("# Readme\n\nzebras\n")
    (box.project / ".gitignore").write_text("docs/\n")
    (box.project / "docs").mkdir()
    (box.project / "docs" / "guide.md").write_text("# Guide\n\nokapis\n")
    box.ok("index", ".")
    box.ok("index", "docs/guide.md")
    for _ in range(3):
        state = box.index()
        assert (state["removed"], state["files"]) == (0, 3)
        for word in ("giraffes", "zebras", "okapis"):
            assert box.ok("search", word, "-j", "-k", "1").json[0]["content"], word
    (box.memory / "2026-02-09.md").unlink()
    assert box.index()["files"] == 2  # removed by this pass, or already by the service's watcher
    assert all("giraffes" not in hit["content"] for hit in box.ok("search", "giraffes", "-j").json)
