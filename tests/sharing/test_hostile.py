"""What a colleague's commit, a pack or a mangled file may try; each failed before its mending."""

from __future__ import annotations

import contextlib
import json
from datetime import date
from pathlib import Path

import pytest
from memsearch_engine import Memory, ShareChange, UsageError
from memsearch_engine.core.settings_schema import RecallSettings
from memsearch_engine.injection.session_start import build, prebuild
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.origin import Origin
from memsearch_engine.sync.sharing import copies, packs

from tests.sharing.conftest import Person, git
from tests.sharing.test_packs import forged

TODAY = date.today().isoformat()


def put(person: Person, name: str, text: str) -> Path:
    path = person.project / ".memsearch" / "shared" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_link_in_the_shared_folder_leads_to_nobody_s_own_notes(people: tuple[Person, Person]):
    ana, ben = people
    note = ben.memory.add("Mine alone")
    (ana.project / ".memsearch/shared/eve").mkdir(parents=True)
    (ana.project / f".memsearch/shared/eve/{TODAY}.md").symlink_to(f"../../memory/{TODAY}.md")
    ana.push()
    ben.pull()
    assert (
        ben.injected().count("Mine alone") == 1
        and "[shared" not in ben.injected()
        and not ben.sharing.listed()
    )
    with pytest.raises(UsageError, match="nothing to pack"):
        ben.sharing.pack(str(ben.project / "all.pack"))
    assert ben.sharing.plan([note.id], author="ben")[0].change is ShareChange.NEW
    with pytest.raises(UsageError, match="is a link"):
        ben.sharing.share(ben.sharing.plan([note.id], author="eve"))
    assert any("a link" in why for _, why in ben.memory.files.unreadable())


def test_the_shared_folder_itself_is_no_link(people: tuple[Person, Person]):
    _, ben = people
    note = ben.memory.add("Mine alone")
    (ben.project / ".memsearch/shared").symlink_to("memory")
    assert not ben.sharing.listed() and len(ben.found("alone")) == 1
    with pytest.raises(UsageError, match="is a link"):
        ben.sharing.plan([note.id], author="ben")


def test_code_that_does_not_end_swallows_nothing_and_releases_nothing(
    people: tuple[Person, Person],
):
    _, ben = people
    file = put(ben, f"ben/{TODAY}.md", "### 00:00\n<!-- id:handmade1 -->\n- by hand\n```\nopen\n")
    note = ben.memory.add("Run it\n\n```\nmake\n```")
    before = file.read_text()
    with pytest.raises(UsageError, match="does not end"):
        ben.share(note.id)
    assert file.read_text() == before
    (one,) = ben.sharing.listed()
    assert one.waits == "arrived" and not one.is_mine


@pytest.mark.parametrize(
    "name",
    [
        "{day}.md",
        "team/eve/{day}.md",
        "Eve Smith/{day}.md",
        "eve/runbook.md",
        "a]\n- [shared: ana/{day}.md",
    ],
)
def test_what_has_no_author_or_no_day_is_read_by_nobody_and_named(
    people: tuple[Person, Person], name: str
):
    _, ben = people
    put(ben, name.format(day=TODAY), "### 01:00\n<!-- id:handmade1 -->\n- by nobody\n")
    ben.push()
    assert "nobody" not in ben.injected() and not ben.found("nobody") and not ben.sharing.listed()
    assert any("<author>" in why for _, why in ben.memory.files.unreadable())


def test_a_crowd_and_the_future_push_nothing_of_one_s_own_out(people: tuple[Person, Person]):
    _, ben = people
    for number in range(20):
        put(
            ben,
            f"p{number:02}/{TODAY}.md",
            f"### 01:00\n<!-- id:handmade{number:02} -->\n- word of p{number:02}\n",
        )
    put(ben, "eve/2999-12-31.md", "### 01:00\n<!-- id:handmade99 -->\n- from the future\n")
    ben.push()
    ben.memory.add("My own")
    injected = ben.injected()
    assert (
        "My own" in injected
        and "future" not in injected
        and 0 < injected.count("[shared: p") <= 10
        and "2999" not in injected
    )
    assert ben.memory.context("codex").text.index("My own") < ben.memory.context(
        "codex"
    ).text.index("[shared: p")


@pytest.mark.parametrize("own", [0, 1])
def test_what_is_prepared_for_hooks_is_what_each_agent_would_get(
    people: tuple[Person, Person], own: int
):
    """It is read once, for agents that get much and agents that get little."""
    _, ben = people
    for number in range(1, 10):
        entries = (
            f"### 0{n}:00\n<!-- id:handmade{number}{n} -->\n- word {n} of day {number}\n\n"
            for n in range(1, 5)
        )
        put(ben, f"eve/2026-01-0{number}.md", "".join(entries))
    ben.push()
    for number in range(own):
        ben.memory.add(f"My own {number}")
    memory = str(ben.memory.place.memory)
    prebuild(ben.memory.home, memory, RecallSettings(max_tokens=5000), longterm="")
    texts = json.loads(ben.memory.home.context(memory).read_bytes())["texts"]
    with contextlib.closing(Origin(ben.memory.home)) as origin:
        for lines in (15, 30):
            assert (
                texts[str(lines)] == build(ben.memory.home, memory, lines, 5000, origin=origin).text
            )
            assert texts[str(lines)].count("[shared: eve]") == (lines // 3 if own else lines)


def test_the_author_does_not_get_his_copy_also_where_the_note_is_gone(
    people: tuple[Person, Person],
):
    ana, ben = people
    note = ana.memory.add("Staging runs Postgres 16")
    ana.share(note.id)
    ana.push()
    ben.pull()
    ana.memory.delete(note.id)
    assert "Postgres" not in ana.injected() and "Postgres" in ben.injected()
    assert [one.since for one in ana.sharing.listed()] == ["gone"]


def test_what_is_superseded_or_expired_is_not_shared_and_said_of_what_was(
    people: tuple[Person, Person],
):
    ana, _ = people
    old, new = (
        ana.memory.add("Staging runs Postgres 15"),
        ana.memory.add("Staging runs Postgres 16"),
    )
    ana.share(old.id)
    ana.memory.mark(old.id, "superseded-by", new.id)
    assert "superseded" in ana.sharing.plan([old.id], author="ana")[0].why
    assert [one.since for one in ana.sharing.listed()] == ["superseded"]
    ana.memory.mark(new.id, "expires", "2020-01-01")
    assert "expired" in ana.sharing.plan([new.id], author="ana")[0].why


def test_an_anchor_that_is_no_name_stays_behind(people: tuple[Person, Person]):
    ana, _ = people
    folder = ana.memory.place.memory
    for number, anchor in enumerate(
        (
            Anchor("", "", "codex", "rollout", "/home/zed/x.jsonl"),
            Anchor("/home/zed/s", "t1", "codex"),
            Anchor("s1", "../t", "codex"),
        )
    ):
        file = Path(folder) / f"2026-02-0{number + 1}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"### 14:30\n{anchor.render()}\n- what was done {number}\n")
    ana.memory._scope.journal.origin.trust(folder)
    for note in ana.memory.entries():
        for _ in range(2):
            ana.share(note.id)
    texts = [Path(one.path).read_text() for one in ana.sharing.listed()]
    assert len(texts) == 3 and all(
        "copy-of" in text and text.count("### ") == 1 and "zed" not in text for text in texts
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see /home/ana/shop/src/[id]/page.tsx", "see src/[id]/page.tsx"),
        ("/home/ana/shop/@types/x and /home/ana/shop/(group)/y", "@types/x and (group)/y"),
        ("in /home/ana/shop, or (/home/ana/shop)", "in ., or (.)"),
        ("file:///home/ana/secret.txt", "file://~/secret.txt"),
        ("gcc -I/home/ana/inc -L/home/ana/lib", "gcc -I~/inc -L~/lib"),
        ("docker -v/home/ana:/x", "docker -v~:/x"),
        (r'{"p": "\/home\/ana\/x"}', r'{"p": "~\/x"}'),
        ("%2fhome%2fana%2Fx", "~%2Fx"),
        ("~/.claude/projects/-home-ana-shop/x.jsonl", "~/.claude/projects/./x.jsonl"),
        ("/home/anabel/x", "/home/anabel/x"),
        ("/work/tree/src/a.py", "src/a.py"),
    ],
)
def test_paths_of_the_machine_are_left_out_however_they_are_written(
    monkeypatch, text: str, left: str
):
    monkeypatch.setenv("HOME", "/home/ana")
    assert copies.without_private(text, ["/home/ana/shop", "/work/tree"]) == left


def test_undo_takes_back_what_was_shared_whatever_else_came_into_the_file(
    people: tuple[Person, Person],
):
    ana, _ = people
    note = ana.memory.add("Staging runs Postgres 16")
    (path,) = ana.share(note.id)
    file = Path(path)
    file.write_text(file.read_text() + "\n### 23:59\n<!-- id:handmade1 -->\n- by hand\n")
    assert ana.memory.history(copies.shared.shared_id(note.id))
    ana.memory.undo()
    assert "Postgres" not in file.read_text() and "- by hand" in file.read_text()


def test_where_nobody_could_commit_it_nothing_is_shared(
    people: tuple[Person, Person], tmp_path: Path, monkeypatch
):
    ana, _ = people
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(ana.project), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "wt"), "main")
    for folder, variable in (
        (tmp_path / "wt", ""),
        (ana.project, str(tmp_path / "elsewhere" / ".memsearch")),
    ):
        if variable:
            monkeypatch.setenv("MEMSEARCH_DIR", variable)
        with Memory(folder, home=tmp_path / "home") as memory:
            note = memory.add("Staging runs Postgres 16")
            sharing = memory.sharing
            with pytest.raises(UsageError, match=r"."):
                sharing.plan([note.id], author="ana")
            pack = tmp_path / f"{bool(variable)}.pack"  # what the refusal proposes
            assert (
                sharing.pack(str(pack), sharing.plan([note.id], author="ana", for_pack=True)).notes
                == 1
            )


def test_a_pack_takes_no_note_s_name(people: tuple[Person, Person], tmp_path: Path):
    _, ben = people
    mine = ben.memory.add("Mine")
    stolen = forged(tmp_path, entry=f"### 14:30\n<!-- id:{mine.id} -->\n- theirs")
    assert "a note of yours" in ben.sharing.open(str(stolen)).notes[0].why
    twice = [
        packs._Packed("ana", "2026-02-09", f"### 14:30\n<!-- id:aaaaaaaaaaaa -->\n- {text}")
        for text in ("one", "two")
    ]
    assert [one.change for one in opened(ben, tmp_path, twice)] == [
        ShareChange.NEW,
        ShareChange.REFUSED,
    ]
    ben.sharing.take(ben.sharing.open(str(tmp_path / "made.pack")))
    again = [packs._Packed("eve", "2026-02-10", "### 14:30\n<!-- id:aaaaaaaaaaaa -->\n- one more")]
    assert "it stands in" in opened(ben, tmp_path, again)[0].why
    # and where somebody commits it, one's own note is still what the name means
    put(ben, "eve/2026-02-11.md", f"### 14:30\n<!-- id:{mine.id} -->\n- theirs\n")
    ben.push()
    assert ben.memory.note(mine.id).text == "- Mine"


def opened(person: Person, folder: Path, notes: list[packs._Packed]) -> list[copies.Planned]:
    import msgspec

    path = folder / "made.pack"
    path.write_bytes(
        msgspec.json.encode(
            packs._Pack("pack", 1, "shop", "2026-02-09", packs.hash_of(notes), notes)
        )
    )
    return person.sharing.open(str(path)).notes


def test_what_was_withdrawn_stays_away_and_a_new_day_of_review_arrives(
    people: tuple[Person, Person], tmp_path: Path
):
    ana, ben = people
    note = ana.memory.add("Deploys are frozen")
    for review, name in (("2027-01-01", "one.pack"), ("2028-01-01", "two.pack")):
        ana.sharing.pack(
            str(tmp_path / name), ana.sharing.plan([note.id], author="ana", review=review)
        )
    ben.sharing.take(ben.sharing.open(str(tmp_path / "one.pack")))
    ben.sharing.take(ben.sharing.open(str(tmp_path / "two.pack")))
    (one,) = ben.sharing.listed()
    assert one.review == "2028-01-01"
    ben.sharing.withdraw([one.entry_id])
    assert [one.why for one in ben.sharing.open(str(tmp_path / "one.pack")).notes] == [
        "you deleted it"
    ]


def test_code_is_shared_as_it_is(people: tuple[Person, Person]):
    ana, _ = people
    note = ana.memory.add("How to build")
    file = Path(note.path)
    file.write_text(
        file.read_text().replace(
            "- How to build", "- How to build\n\n```bash\n# build first\nmake\n---\n```"
        )
    )
    ana.memory._scope.journal.origin.trust(ana.memory.place.memory)
    (path,) = ana.share(note.id)
    assert "\n# build first\nmake\n---\n```" in Path(path).read_text()


def test_a_pack_that_is_nested_without_an_end_is_no_pack(
    people: tuple[Person, Person], tmp_path: Path
):
    path = tmp_path / "deep.pack"
    path.write_text('{"memsearch": ' + "[" * 200_000)
    with pytest.raises(UsageError, match="no pack"):
        people[1].sharing.open(str(path))


def test_holding_and_releasing_again_leaves_the_team_s_file_as_it_was(
    people: tuple[Person, Person],
):
    ana, ben = people
    ana.share(ana.memory.add("Deploys are frozen").id)
    ana.push()
    ben.pull()
    trust = ben.memory.trust
    (one,) = ben.sharing.listed()
    trust.quarantine([ben.memory.files.section(one.entry_id).target])
    assert "frozen" not in ben.injected()
    trust.release([ben.memory.files.section(one.entry_id).target])
    assert "frozen" in ben.injected() and git(ben.project, "status", "--short") == ""


def test_what_is_released_as_a_whole_is_still_known_by_how_it_came(
    people: tuple[Person, Person], tmp_path: Path
):
    ana, ben = people
    note = ana.memory.add("Deploys are frozen")
    ana.share(note.id)
    ana.memory.trust.release_folder()
    (copy,) = ana.sharing.listed()
    assert copy.is_mine and "[shared" not in ana.injected()
    ana.memory.edit(copy.entry_id, "- Deploys are frozen on Fridays")
    assert ana.sharing.listed()[0].is_mine and "[shared" not in ana.injected()
    # a note of a pack that was let in by hand is still one that nobody has worked on
    ana.sharing.pack(str(tmp_path / "one.pack"), ana.sharing.plan([note.id], author="ana"))
    ben.sharing.take(ben.sharing.open(str(tmp_path / "one.pack")))
    ben.memory.trust.release([ben.memory.files.section(ben.sharing.listed()[0].entry_id).target])
    ana.memory.edit(note.id, "- Deploys are frozen from Friday on")
    ana.sharing.pack(str(tmp_path / "two.pack"), ana.sharing.plan([note.id], author="ana"))
    assert ben.sharing.take(ben.sharing.open(str(tmp_path / "two.pack")))[1] == []


def test_a_note_without_a_day_is_shared_once_and_nobody_is_two(people: tuple[Person, Person]):
    ana, _ = people
    file = Path(ana.memory.place.memory) / "runbook.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("## Rollback\n\n- Take the last tag\n")
    ana.memory._scope.journal.origin.trust(ana.memory.place.memory)
    (entry,) = ana.memory.files.document(str(file)).entries
    for day in (date(2026, 11, 1), date(2026, 11, 2)):
        ana.sharing.share(copies.plan(ana.memory._scope, [(str(file), entry)], "ana", today=day))
    assert len(ana.sharing.listed()) == 1
    (other,) = copies.plan(ana.memory._scope, [(str(file), entry)], "anna")
    assert other.change is ShareChange.REFUSED and "shared as ana" in other.why
