"""Memories that agents keep themselves: which parts there are, what of them is read at a start,
what notes contradict, and taking one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.agents import agent_files
from memsearch_engine.agents.agent_files import Cap
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.search.supersession import revisions

from tests.conftest import Box, until

SAMPLES = Path(__file__).parent.parent / "samples" / "native"
RULES = """\
---
description: what holds here
---
# The shop

It sells shoes
in two towns.

Always:
- run `make check` before a push
- ship on Tuesdays
  and never later than noon
  - not at all in December

<!-- nobody reads this -->
## Cache

| name | value |
| ---- | ----- |
| TTL  | 60    |

1. first
2. second

```sh
# no heading
make
```
"""


@pytest.fixture
def auto(box: Box) -> Path:
    """Claude Code's auto memory of the project."""
    slug = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in str(box.project))
    folder = box.user / ".claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True)
    return folder


def listed(box: Box, *more: str) -> dict[str, dict]:
    found = box.run("native", "list", "--json", *more)
    return {os.path.basename(memory["path"]): memory for memory in found.json["memories"]}


def hits(box: Box, query: str) -> list[dict]:
    return box.run("search", query, "--json").json["hits"]


def sections(text: str, home: Home) -> list[tuple[list[str], int, str]]:
    return [(s.trail, s.line, s.text) for s in agent_files._sections("/x.md", text, home)]


def test_a_file_is_its_list_items_and_the_texts_between(tmp_path):
    assert sections(RULES, Home(tmp_path)) == [
        (["The shop"], 6, "It sells shoes\nin two towns."),
        (["The shop", "Always"], 10, "- run `make check` before a push"),
        (
            ["The shop", "Always"],
            11,
            "- ship on Tuesdays\n  and never later than noon\n  - not at all in December",
        ),
        (["The shop", "Cache"], 18, "| name | value |\n| ---- | ----- |\n| TTL  | 60    |"),
        (["The shop", "Cache"], 22, "1. first"),
        (["The shop", "Cache"], 23, "2. second"),
        (["The shop", "Cache"], 25, "```sh\n# no heading\nmake\n```"),
    ]


def test_the_same_words_twice_are_two_sections_and_keep_their_names(tmp_path):
    home = Home(tmp_path)
    first = [s.id for s in agent_files._sections("/x.md", "- one\n- two\n- one\n", home)]
    assert len(set(first)) == 3
    assert [
        s.id for s in agent_files._sections("/x.md", "# new\n- zero\n- one\n- two\n- one\n", home)
    ][1:] == first
    assert not {s.id for s in agent_files._sections("/y.md", "- one\n- two\n- one\n", home)} & set(
        first
    )


@pytest.mark.slow
def test_what_is_not_read_at_a_start_and_what_no_index_names_is_said(box: Box, auto: Path):
    (auto / "MEMORY.md").write_text(
        "# Memory\n- [Building](build.md)\n" + "".join(f"- fact {n}\n" for n in range(220))
    )
    (auto / "build.md").write_text(
        "---\nname: build\ndescription: How it is built\n---\nWith ninja.\n"
    )
    (auto / "rebuild.md").write_text("Nobody comes here.\n")
    found = listed(box)
    unread = [section["line"] for section in found["MEMORY.md"]["sections"] if section["unread_by"]]
    assert unread == list(range(201, 223)) and found["MEMORY.md"]["author"] == "agent"
    assert found["build.md"]["title"].endswith("How it is built")
    assert [found[name]["orphaned"] for name in ("MEMORY.md", "build.md", "rebuild.md")] == [
        False,
        False,
        True,
    ]
    injected = box.ok("native", "list").out
    assert (
        "22 sections from line 201 on: not loaded by Claude Code" in injected
        and "nothing that is loaded links to it" in injected
    )
    (auto / "MEMORY.md").write_text("- " + "é" * 24_990 + "\n- behind 25,000 characters\n")
    assert [bool(s["unread_by"]) for s in listed(box)["MEMORY.md"]["sections"]] == [False, True]


def unread(text: str, cap: Cap) -> list[int]:
    return sorted(agent_files._left_out(text, cap))


def test_caps_are_counted_as_the_agents_count():
    lines = "".join(f"line {n}\n" for n in range(1, 11))
    assert unread(lines, Cap()) == []
    assert unread(lines, Cap(lines=8)) == [9, 10, 11]
    assert unread("# a\n<!-- two\nlines -->\nb\n", Cap(lines=2)) == [3, 4, 5]
    stripped = Cap(lines=2, stripped=True)
    assert unread("---\nx: y\n---\n\n<!-- two\nlines -->\na\nb\nc\n", stripped) == [9]
    assert unread("\n\na\nb <!-- in a line stays -->\n\n", stripped) == []
    assert unread("😀😀\nb\n", Cap(chars=4)) == [
        2,
        3,
    ]  # a surrogate pair each, the line end needs no room
    assert unread("é\nb\n", Cap(max_bytes=2)) == [2, 3] and unread("é\nb\n", Cap(max_bytes=4)) == [
        3
    ]
    assert unread("aaaa\nb\nc\ndddd\ne", Cap(chars=10, tail=0.5)) == [2, 3, 4]  # the middle goes
    assert unread("a\nb\nc", Cap(chars=10, tail=0.5)) == []


@pytest.fixture
def lived_in(box: Box) -> Box:
    """A machine on which every agent has left something (made by hand after what real clients
    write).
    """
    slug = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in str(box.project))
    for source, target in (("home/ana", box.user), ("proj", box.project)):
        for file in (SAMPLES / source).rglob("*"):
            if file.is_file():
                own = target / str(file.relative_to(SAMPLES / source)).replace(
                    "-home-ana-proj", slug
                )
                own.parent.mkdir(parents=True, exist_ok=True)
                own.write_text(file.read_text().replace("/home/ana/proj", str(box.project)))
    return box


def test_what_each_agent_remembers_is_found_with_what_is_wrong_with_it(lived_in: Box):
    found = {}
    for memory in lived_in.ok("native", "list", "--json").json["memories"]:
        for base, sign in ((lived_in.user, "~"), (lived_in.project, ".")):
            if memory["path"].startswith(f"{base}/"):
                found[f"{sign}/{os.path.relpath(memory['path'], base)}"] = memory
    assert not [path for path, memory in found.items() if memory["problem"]]
    assert {os.path.basename(path) for path, memory in found.items() if memory["orphaned"]} == {
        "project_webhook_secret_rotation.md",
        "2026-11-02T07-01-10-zz9A-unlinked_probe.md",
        "old-notes.md",
        "feedback_unlisted.md",
        "architecture.md",
    }
    kept = {path for path, memory in found.items() if memory["author"] == "agent"}
    assert (
        len([path for path in kept if "/memory/" in path and path.startswith("~/.claude/projects")])
        == 4
    )
    for path in (
        "~/.codex/memories_v2/memory_summary.md",
        "~/.gemini/tmp/proj/memory/MEMORY.md",
        "~/.qwen/memories/MEMORY.md",
        "./.qwen/team-memory/MEMORY.md",
        "~/.openclaw/workspace/MEMORY.md",
        "~/.config/goose/memory/development.txt",
        "./.goose/memory/project.txt",
        "./.claude/agent-memory/code-reviewer/MEMORY.md",
        "~/.claude/agent-memory/code-reviewer/MEMORY.md",
    ):
        assert path in kept, path
    left_out = ("imports", ".inbox", "memory-bank", "DREAMS.md")
    assert not [path for path in found if any(word in path for word in left_out)]
    readers = {path: set(memory["agents"]) for path, memory in found.items()}
    assert {"codex", "opencode", "pi", "qwen", "copilot", "kimi", "vibe"} <= readers["./AGENTS.md"]
    assert "claude-code" not in readers["./AGENTS.md"]  # which reads CLAUDE.md here
    assert readers["./CLAUDE.md"] == {"claude-code", "copilot", "crush"} and readers[
        "./.rules"
    ] == {"zed"}
    assert readers["~/.config/opencode/AGENTS.md"] == {"opencode"}
    assert readers["./GEMINI.md"] == {"gemini", "copilot", "crush"}
    (index,) = (
        path
        for path in kept
        if path.startswith("~/.claude/projects") and path.endswith("/MEMORY.md")
    )
    newest = found[index]["sections"][-1]
    assert "freeze" in newest["text"] and newest["unread_by"] == ["claude-code"]
    assert '"title": "auto memory: ' in json.dumps(found)  # what a topic says of itself


@pytest.mark.slow
def test_agents_md_is_claudes_too_where_a_project_has_nothing_of_its_own(box: Box):
    (box.project / "AGENTS.md").write_text("- one\n")
    assert "claude-code" in listed(box)["AGENTS.md"]["agents"]
    (box.project / "CLAUDE.local.md").write_text("- two\n")
    assert "claude-code" not in listed(box)["AGENTS.md"]["agents"]


def test_where_the_users_settings_put_it_claudes_memory_is_read_and_a_projects_settings_do_nothing(
    box: Box, auto: Path, tmp_path: Path
):
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "MEMORY.md").write_text("- moved\n")
    (auto / "MEMORY.md").write_text("- here\n")
    (box.project / ".claude").mkdir()
    (box.project / ".claude" / "settings.json").write_text(
        json.dumps({"autoMemoryDirectory": str(moved)})
    )
    assert [s["text"] for s in listed(box)["MEMORY.md"]["sections"]] == ["- here"]
    (box.user / ".claude" / "settings.json").write_text(
        json.dumps({"autoMemoryDirectory": str(moved)})
    )
    assert [s["text"] for s in listed(box)["MEMORY.md"]["sections"]] == ["- moved"]


@pytest.mark.slow
def test_a_topic_whose_only_line_stands_behind_the_cap_is_read_by_nobody(box: Box, auto: Path):
    (auto / "late.md").write_text("Late.\n")
    (auto / "MEMORY.md").write_text("- x\n" * 200 + "- [late](late.md)\n")
    assert listed(box)["late.md"]["orphaned"]
    (auto / "MEMORY.md").write_text("- x\n" * 199 + "- [late](late.md)\n")
    assert not listed(box)["late.md"]["orphaned"]


@pytest.mark.slow
def test_they_are_found_by_who_asks_for_them_alone(box: Box, auto: Path):
    box.fill()
    (box.project / "CLAUDE.md").write_text("The kiosk in Oslo runs Alpine.\n")
    box.index()
    (hit,) = [hit for hit in hits(box, "kind:native kiosk Alpine") if "Alpine" in hit["content"]]
    assert hit["kind"] == "native" and "CLAUDE.md, line 1" in hit["content"]
    for query in ("kiosk in Oslo Alpine", "kiosk agent:codex", "kiosk -kind:turn"):
        assert not any("Alpine" in hit["content"] for hit in hits(box, query)), query
    assert not any(
        "Alpine" in json.dumps(hit)
        for hit in box.run("search", "kiosk Alpine", "--json", "--mode", "bm25").json["hits"]
    )
    assert "Alpine" in box.ok("expand", hit["entry_id"]).out
    prompt = {
        "session_id": "s",
        "cwd": str(box.project),
        "prompt": "what does the kiosk in Oslo run, is it Alpine?",
    }
    assert (
        "Alpine"
        not in box.ok("hook", "claude-code", "UserPromptSubmit", stdin=json.dumps(prompt)).out
    )
    refused = box.run("delete", hit["entry_id"], "--yes")
    assert (
        refused.code == 2
        and (box.project / "CLAUDE.md").read_text() == "The kiosk in Oslo runs Alpine.\n"
    )


@pytest.mark.slow
def test_what_agents_write_is_found_without_a_word_to_us_and_what_they_delete_is_gone(
    box: Box, auto: Path
):
    box.fill()
    box.index()
    (auto / "MEMORY.md").write_text("- The ledger is replayed nightly\n")
    until(
        lambda: any(
            "replayed nightly" in hit["content"] for hit in hits(box, "kind:native ledger replayed")
        ),
        60,
        "it to be found",
    )
    (auto / "MEMORY.md").unlink()
    until(lambda: not hits(box, "kind:native ledger replayed"), 60, "it to be gone")


@pytest.mark.slow
def test_secrets_in_them_are_neither_shown_nor_searched_nor_taken(box: Box, auto: Path):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (auto / "MEMORY.md").write_text(f"- the deploy token is {key}\n")
    box.fill()
    box.index()
    (section,) = listed(box)["MEMORY.md"]["sections"]
    box.ok("native", "import", section["id"], "--yes")
    assert key not in box.ok("native", "show", section["id"]).out
    texts = [
        path.read_bytes()
        for path in (*box.home.root.rglob("*"), *box.project.rglob("*.md"))
        if path.is_file()
    ]
    assert not any(key.encode() in text for text in texts)


@pytest.mark.slow
def test_a_section_is_taken_once_with_its_source_and_the_taking_can_be_undone(box: Box, auto: Path):
    (box.project / "CLAUDE.md").write_text(RULES)
    box.fill()
    box.index()
    wanted = next(s for s in listed(box)["CLAUDE.md"]["sections"] if "Tuesdays" in s["text"])
    (taken,) = box.ok("native", "import", wanted["id"][:6], "--yes", "--json").json["taken"]
    note = box.ok("expand", taken["id"], "--json").json
    assert note["content"].splitlines()[2:5] == wanted["text"].splitlines()
    assert (
        f"- Taken from: `CLAUDE.md`, line 11, under The shop › Always (native:{wanted['id']})"
        in note["content"]
    )
    until(
        lambda: (
            {s["id"]: s["note"] for s in listed(box)["CLAUDE.md"]["sections"]}[wanted["id"]]
            == taken["id"]
        ),
        30,
        "it to be known",
    )
    again = box.run("native", "import", wanted["id"], "--yes", "--json")
    assert again.code == 1 and again.json["taken"] == []
    would = box.ok("native", "import", "CLAUDE.md", "--dry-run", "--json").json["would_take"]
    injected = box.ok("context", "claude-code").out
    assert "ship on Tuesdays" in injected and "Taken from" not in injected
    assert len(would) == 6 and wanted["id"] not in {section["id"] for section in would}
    assert (box.project / "CLAUDE.md").read_text() == RULES
    box.ok("undo", taken["id"])
    until(
        lambda: not any(s["note"] for s in listed(box)["CLAUDE.md"]["sections"]),
        30,
        "it to be gone",
    )


@pytest.mark.slow
def test_a_note_that_says_otherwise_is_named(box: Box, auto: Path):
    (box.project / "CLAUDE.md").write_text(
        "- The catalog cache TTL is 60 seconds, see cache_settings.py\n"
        "- Tests are run with make check\n"
    )
    box.fill()
    name = box.ok(
        "add",
        "The catalog cache TTL in cache_settings.py is no longer 60 seconds: raised to 900 seconds",
    ).out.strip()
    box.ok(
        "add", "Tests are run with make check, as before, in every branch"
    )  # the same, and no word of change
    for number in range(12):
        box.ok(
            "add",
            f"The helper number {number} of the loader has another name now, "
            "and its callers were changed along",
        )
    box.index()
    found = {s["text"][:14]: s for s in listed(box)["CLAUDE.md"]["sections"]}
    assert (
        found["- The catalog "]["contradicted_by"] == name
        and "no longer" in found["- The catalog "]["contradicted_why"]
    )
    assert not found["- Tests are ru"]["contradicted_by"]
    assert f"may be outdated: see your note {name}" in box.ok("native", "list").out


def test_a_link_out_of_a_project_a_pipe_and_a_file_without_end_harm_nobody(
    box: Box, tmp_path: Path
):
    outside = tmp_path / "passwd"
    outside.write_text("root:x\n")
    (box.project / "CLAUDE.md").symlink_to(outside)
    os.mkfifo(box.project / "CLAUDE.local.md")
    (box.project / ".claude").mkdir()
    (box.project / ".claude" / "CLAUDE.md").write_text("x" * (1 << 21))
    found = box.run("native", "list", "--json", timeout=30).json["memories"]
    assert (
        all(memory["problem"] and not memory["sections"] for memory in found) and len(found) == 1
    )  # the link leads out of the project: it is none of its files
    (box.user / ".claude").mkdir(exist_ok=True)
    (box.user / ".claude" / "CLAUDE.md").symlink_to(outside)  # the user's own dotfiles
    assert "root:x" in json.dumps(listed(box))


@pytest.mark.slow
def test_a_link_that_came_with_a_clone_shows_no_other_projects_memories(box: Box, auto: Path):
    secret = auto.parent.parent / "-other" / "memory"
    secret.mkdir(parents=True)
    (secret / "MEMORY.md").write_text("- another project's: the salary of Bob\n")
    (box.project / ".claude").mkdir()
    (box.project / ".claude" / "agent-memory").symlink_to(
        os.path.relpath(secret.parent.parent, box.project / ".claude")
    )
    (box.project / ".goose").symlink_to(secret.parent)
    box.fill()
    box.index()
    assert "Bob" not in box.run("native", "list", "--json").out and not hits(
        box, "kind:native salary Bob"
    )


@pytest.mark.slow
def test_a_note_that_agrees_or_was_taken_from_it_contradicts_nothing(box: Box, auto: Path):
    (box.project / "CLAUDE.md").write_text(
        "- Logs of the gateway are kept 30 days in Loki, see loki_retention.yml\n"
        "- Use pnpm instead of npm for the storefront, since workspaces_lock.yaml\n"
    )
    box.fill()
    box.ok(
        "add",
        "Logs of the gateway in Loki are now kept 30 days instead of 14, see loki_retention.yml",
    )
    for number in range(12):
        box.ok(
            "add",
            f"The helper number {number} of the loader has another name now, "
            "and its callers were changed along",
        )
    box.index()
    for section in listed(box)["CLAUDE.md"]["sections"]:
        box.ok("native", "import", section["id"], "--yes")
    box.index()
    assert not [
        s["contradicted_by"] for s in listed(box)["CLAUDE.md"]["sections"] if s["contradicted_by"]
    ]


@pytest.mark.parametrize(
    ("text", "note", "otherwise"),
    [
        ("kept 14 days", "raised from 14 to 30 days", True),
        ("kept 30 days", "raised from 14 to 30 days", False),
        ("the TTL is 60 seconds", "the TTL was raised to 900 seconds", True),
        ("the TTL is 900 seconds", "the TTL was raised to 900 seconds", False),
        ("we use npm", "pnpm instead of npm", True),
        ("we use pnpm", "pnpm instead of npm", False),
        ("we use pnpm instead of npm", "pnpm instead of npm since May", False),
        ("### CLAUDE.md, line 60\nkept long", "raised from 60 to 90", False),
        ("deploys go out on Friday", "no longer on Friday", True),
    ],
)
def test_what_says_otherwise(text, note, otherwise):
    assert revisions.contradicts(text, note) == otherwise


@pytest.mark.slow
def test_taking_it_twice_at_once_makes_one_note(box: Box, auto: Path):
    (auto / "MEMORY.md").write_text("- only once\n")
    (section,) = listed(box)["MEMORY.md"]["sections"]
    runs = [box.spawn("native", "import", section["id"], "--yes") for _ in range(4)]
    for run in runs:
        run.wait(60)
    box.run("native", "import", section["id"], "--yes")
    assert (
        sum(
            "only once" in entry["content"] for entry in box.ok("entries", "--json").json["entries"]
        )
        == 1
    )


@pytest.mark.slow
def test_what_was_taken_is_known_by_project(box: Box):
    (box.user / ".claude").mkdir(exist_ok=True)
    (box.user / ".claude" / "CLAUDE.md").write_text("- everywhere the same\n")
    box.fill()
    other = box.other_project("other")
    (section,) = listed(box)["CLAUDE.md"]["sections"]
    box.ok("native", "import", section["id"], "--yes")
    box.index()
    assert listed(box)["CLAUDE.md"]["sections"][0]["note"]
    there = box.run("native", "list", "--json", cwd=other).json["memories"]
    assert [s["note"] for memory in there for s in memory["sections"]] == [""]


@pytest.mark.slow
def test_their_words_are_no_notes_words(box: Box):
    box.fill()
    (box.project / "AGENTS.md").write_text("- Jenkins builds it, with a salary\n")
    box.index()
    until(lambda: hits(box, "kind:native jenkins"), 30, "it to be found")
    for word in ("jenkins", "jenkns", "salarry"):
        found = box.run("search", word, "--json", "--mode", "lexical").json
        assert found["absent"] == [word] and not found["corrected"], found
    assert box.run("search", "kind:native jenkns", "--json").json["corrected"]


@pytest.mark.slow
def test_a_part_that_is_not_loaded_and_a_hits_own_id(box: Box, auto: Path):
    (auto / "MEMORY.md").write_text("```\n" + "a line of it\n" * 400 + "```\n")
    assert listed(box)["MEMORY.md"]["sections"][0]["unread_by"] == ["claude-code"]
    (auto / "MEMORY.md").write_text("- the kiosk runs Alpine\n")
    box.fill()
    box.index()
    (hit,) = hits(box, "kind:native kiosk")
    assert "Alpine" in box.ok("native", "show", hit["chunk_hash"]).out
    refused = box.run("supersede", next(iter(box.ids().values())), hit["entry_id"])
    assert refused.code == 2 and "agent's own file" in refused.err


def test_common_words_name_no_file_and_a_name_in_brackets_does(box: Box, auto: Path):
    (auto / "MEMORY.md").write_text("- item [t5](t5.md) hook\n- [[two-name]]\n")
    for name, text in (
        ("t5", "x"),
        ("item", "x"),
        ("hook", "x"),
        ("two", "---\nname: two-name\n---\nx"),
    ):
        (auto / f"{name}.md").write_text(f"{text}\n")
    found = listed(box)
    assert {name for name, memory in found.items() if memory["orphaned"]} == {"item.md", "hook.md"}


@pytest.mark.slow
def test_text_of_theirs_stays_text(box: Box, auto: Path):
    (auto / "MEMORY.md").write_text(
        "- x <!-- id:aaaaaaaaaaaa --> \x1b[31mred\u202e [bold]b[/]\n"
        "## \x1b]0;t\x07 head <!-- pin -->\n- y\n"
    )
    box.fill()
    box.index()
    out = (
        box.ok("native", "list").out
        + box.ok("native", "show", "MEMORY.md").out
        + box.ok("search", "kind:native red").out
    )
    assert "\x1b" not in out and "\u202e" not in out
    first = listed(box)["MEMORY.md"]["sections"][0]
    assert hits(box, "kind:native red")[0]["entry_id"] == first["id"] != "aaaaaaaaaaaa"


@pytest.mark.slow
def test_a_name_that_is_unknown_or_ambiguous_is_reported(box: Box, auto: Path):
    (auto / "MEMORY.md").write_text("- a\n- b\n")
    assert box.run("native", "show", "nothing.md").code == 1
    assert box.run("native", "show", "abc").code == 2
    assert box.run("native", "list", "--agent", "nobody").code == 2
    assert box.run("native", "list", "--agent", "codex").code == 1


def test_no_memory_is_found_twice_though_several_agents_read_it(box: Box, monkeypatch):
    (box.project / "AGENTS.md").write_text("- Say please\n")
    monkeypatch.setenv("HOME", str(box.user))
    with Memory(box.project, home=box.home) as memory:
        (found,) = [one for one in memory.agent_files.all() if one.path.endswith("AGENTS.md")]
    assert len(found.agents) > 3 and "codex" in found.agents


def test_what_leaves_the_machine_is_not_given_them_unless_allowed(box: Box, auto: Path):
    """A model behind an address gets notes only, since its owner said so for these alone."""
    from memsearch_engine.core.project_registry import Registry
    from memsearch_engine.core.settings import load
    from memsearch_engine.service.sources import ProjectSources

    (auto / "MEMORY.md").write_text("- a\n")
    box.fill()
    for config, is_read in (
        ("", True),
        ('[indexing]\nnative_memories = "off"\n', False),
        (
            '[embedding]\nprovider = "openai"\nbase_url = "https://example.com/v1"\nmodel = "m"\n',
            False,
        ),
        (
            (
                '[indexing]\nnative_memories = "on"\n[embedding]\nprovider = "openai"\n'
                'base_url = "https://example.com/v1"\nmodel = "m"\n'
            ),
            True,
        ),
    ):
        box.home.ensure().config.write_text(config)
        sources = ProjectSources(box.home, lambda: load(box.home))
        registry = Registry(box.home)
        os.environ["HOME"], before = str(box.user), os.environ["HOME"]
        try:
            from memsearch_engine.core.projects import locate

            assert (
                bool(
                    sources.agent_files(
                        registry.at(locate(box.project, box.home)), AgentFolders.from_env({})
                    )
                )
                == is_read
            ), config
        finally:
            os.environ["HOME"] = before
            registry.close()
