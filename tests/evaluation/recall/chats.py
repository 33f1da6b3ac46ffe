"""The voices' chats, written as the four agents write theirs: decisions inside long sessions of
ordinary turns.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.core.home import AgentFolders
from memsearch_engine.journal.parse import turn_id

HERE = Path(__file__).parent
#: Voices on which nothing was chosen: they are asked for the final table only.
HELD_OUT = ("games", "infra")
_NAMESPACE = uuid.UUID("0e2bb4a2-7c0e-4d3c-93b5-5b2b2f6f5a11")
_YEAR = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_SESSION = 10  # turns of a chat
AGENTS = ("claude-code", "codex", "opencode", "openclaw")


class Voice(NamedTuple):
    """What one developer's chats are made of, and what is asked of them later."""

    name: str
    cases: list[dict]
    none: list[dict]
    noise: list[dict]


class Said(NamedTuple):
    """A turn: when, in which chat, and its words."""

    agent: str
    session: str
    turn: str
    at: datetime
    asked: str
    answered: str

    @property
    def entry(self) -> str:
        """The id of the note that is made of it."""
        return turn_id(self.agent, self.session, self.turn)


def voices(names: tuple[str, ...] = ()) -> list[Voice]:
    """The voices of these names, or all but the held out ones."""
    found = []
    for file in sorted(HERE.glob("*.jsonl")):
        if file.stem in names or (not names and file.stem not in HELD_OUT):
            lines = [
                json.loads(line)
                for line in file.read_text(encoding="utf-8").splitlines()
                if line.strip()
            ]
            kinds = {
                kind: [line for line in lines if line["kind"] == kind]
                for kind in ("case", "none", "noise")
            }
            (words,) = (line for line in lines if line["kind"] == "words")
            found.append(
                Voice(
                    file.stem,
                    kinds["case"],
                    kinds["none"],
                    [{**n, "words": words} for n in kinds["noise"]],
                )
            )
    return found


def injected(voice: Voice, noise: int, seed: int = 3) -> tuple[list[Said], dict[str, list[Said]]]:
    """All turns of a voice in their order, and by case its decision followed by what amended it."""
    chance = random.Random(f"{voice.name}/{seed}")
    words: list[tuple[float, str, str, str]] = []  # when in the year, asked, answered, case
    for case in voice.cases:
        when = chance.uniform(0.02, 0.6)
        words.append((when, case["asked"], case["answered"], case["id"]))
        if case["amended"]:
            later = chance.uniform(when + 0.08, 0.98)
            words.append((later, case["amended"]["asked"], case["amended"]["answered"], case["id"]))
    for number in range(noise):
        said = voice.noise[number % len(voice.noise)]
        words.append((chance.random(), *_filled(said, chance), ""))
    words.sort()
    turns: list[Said] = []
    cases: dict[str, list[Said]] = {}
    agents = itertools.cycle(AGENTS)
    for start in range(0, len(words), _SESSION):
        agent = next(agents)
        session = str(uuid.uuid5(_NAMESPACE, f"{voice.name}/{start}"))
        first = _YEAR + timedelta(days=300 * words[start][0])
        for place, (_, asked, answered, case_id) in enumerate(words[start : start + _SESSION]):
            turn = str(uuid.uuid5(_NAMESPACE, f"{session}/{place}"))
            said = Said(agent, session, turn, first + timedelta(minutes=7 * place), asked, answered)
            turns.append(said)
            if case_id:
                cases.setdefault(case_id, []).append(said)
    return turns, cases


def _filled(said: dict, chance: random.Random) -> tuple[str, str]:
    words = said["words"]
    values = {
        "module": chance.choice(words["module"]),
        "name": chance.choice(words["name"]),
        "n": str(chance.randrange(2, 90)),
        "ticket": f"{words['ticket']}-{chance.randrange(100, 999)}",
        "version": f"{chance.randrange(1, 5)}.{chance.randrange(20)}",
    }
    texts = [said["asked"], said["answered"]]
    for name, value in values.items():
        texts = [text.replace("{" + name + "}", value) for text in texts]
    return texts[0], texts[1]


def write(root: Path, project: Path, turns: list[Said]) -> AgentFolders:
    """Write the chats of *project* below *root* in their agents' formats. Return the folders."""
    folders = {agent: root / agent for agent in AGENTS}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    for (agent, session), chat in itertools.groupby(
        turns, key=lambda said: (said.agent, said.session)
    ):
        _WRITERS[agent](folders[agent], project, session, list(chat))
    return AgentFolders({agent: [folder] for agent, folder in folders.items()})


def _lines(file: Path, lines: Iterator[dict]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _stamp(when: datetime, seconds: int = 0) -> str:
    return (when + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def _claude(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        parent = None
        for said in chat:
            common = {
                "cwd": str(project),
                "sessionId": session,
                "version": "2.1.330",
                "isSidechain": False,
            }
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            yield {
                **common,
                "type": "user",
                "uuid": said.turn,
                "parentUuid": parent,
                "timestamp": _stamp(said.at),
                "promptId": said.turn,
                "promptSource": "typed",
                "message": {"role": "user", "content": said.asked},
            }
            message = {"role": "assistant", "id": f"msg_{said.turn[:8]}", "stop_reason": "end_turn"}
            yield {
                **common,
                "type": "assistant",
                "uuid": reply,
                "parentUuid": said.turn,
                "timestamp": _stamp(said.at, 90),
                "message": {**message, "content": [{"type": "text", "text": said.answered}]},
            }
            parent = reply

    _lines(folder / str(project).replace("/", "-") / f"{session}.jsonl", lines())


def _codex(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        def line(kind: str, when: str, **payload: object) -> dict:
            return {"timestamp": when, "type": kind, "payload": payload}

        yield line(
            "session_meta", _stamp(chat[0].at), id=session, cwd=str(project), cli_version="0.169.0"
        )
        for said in chat:
            begun, done = _stamp(said.at), _stamp(said.at, 90)
            yield line("event_msg", begun, type="task_started", turn_id=said.turn)
            yield line("event_msg", begun, type="user_message", message=said.asked)
            yield line("event_msg", done, type="agent_message", message=said.answered)
            yield line(
                "event_msg",
                done,
                type="task_complete",
                turn_id=said.turn,
                last_agent_message=said.answered,
            )

    day = chat[0].at
    _lines(
        folder
        / day.strftime("%Y/%m/%d")
        / f"rollout-{day.strftime('%Y-%m-%dT%H-%M-%S')}-{session}.jsonl",
        lines(),
    )


def _openclaw(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        yield {
            "type": "session",
            "version": 4,
            "id": session,
            "timestamp": _stamp(chat[0].at),
            "cwd": str(project),
        }
        for said in chat:
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            message = {"role": "user", "content": said.asked}
            yield {
                "type": "message",
                "id": said.turn,
                "timestamp": _stamp(said.at),
                "message": message,
            }
            answer = {
                "role": "assistant",
                "stopReason": "stop",
                "content": [{"type": "text", "text": said.answered}],
            }
            yield {
                "type": "message",
                "id": reply,
                "parentId": said.turn,
                "timestamp": _stamp(said.at, 90),
                "message": answer,
            }

    _lines(folder / "main" / "sessions" / f"{session}.jsonl", lines())


def _opencode(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    _message_db(folder / "opencode.db", project, session, chat)


def _kilo(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    _message_db(folder / "kilo.db", project, session, chat)


def _message_db(file: Path, project: Path, session: str, chat: list[Said]) -> None:
    db = sqlite3.connect(file)
    db.executescript(
        "CREATE TABLE IF NOT EXISTS session(id "
        "PRIMARY KEY, parent_id, directory, version, time_created, time_updated);"
        "CREATE TABLE IF NOT EXISTS message(id PRIMARY KEY, session_id, time_created, data);"
        "CREATE TABLE IF NOT EXISTS part(id PRIMARY KEY, message_id, data);"
    )
    with db:
        first, last = (int(said.at.timestamp() * 1000) for said in (chat[0], chat[-1]))
        db.execute(
            "INSERT INTO session VALUES (?,NULL,?,?,?,?)",
            (session, str(project), "1.18.33", first, last),
        )
        for said in chat:
            begun = int(said.at.timestamp() * 1000)
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            user = {"role": "user", "time": {"created": begun}}
            answer = {
                "role": "assistant",
                "parentID": said.turn,
                "finish": "stop",
                "path": {"cwd": str(project)},
                "time": {"created": begun + 1000, "completed": begun + 90_000},
            }
            for name, when, data, text in (
                (said.turn, begun, user, said.asked),
                (reply, begun + 1000, answer, said.answered),
            ):
                db.execute(
                    "INSERT INTO message VALUES (?,?,?,?)", (name, session, when, json.dumps(data))
                )
                db.execute(
                    "INSERT INTO part VALUES (?,?,?)",
                    (f"{name}-0", name, json.dumps({"type": "text", "text": text})),
                )
    db.close()


def _qwen(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        parent = None
        for said in chat:
            common = {
                "sessionId": session,
                "cwd": str(project),
                "version": "0.24.4",
                "gitBranch": "main",
            }
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            yield {
                **common,
                "uuid": said.turn,
                "parentUuid": parent,
                "timestamp": _stamp(said.at),
                "type": "user",
                "provenance": "real_user",
                "message": {"role": "user", "parts": [{"text": said.asked}]},
            }
            yield {
                **common,
                "uuid": reply,
                "parentUuid": said.turn,
                "timestamp": _stamp(said.at, 90),
                "type": "assistant",
                "provenance": "assistant_output",
                "usageMetadata": {"totalTokenCount": 120},
                "message": {"role": "model", "parts": [{"text": said.answered}]},
            }
            parent = reply

    _lines(
        folder / re.sub(r"[^A-Za-z0-9]", "-", str(project)) / "chats" / f"{session}.jsonl", lines()
    )


def _gemini(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        yield {
            "sessionId": session,
            "projectHash": "0" * 64,
            "startTime": _stamp(chat[0].at),
            "kind": "main",
        }
        for said in chat:
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            yield {
                "id": said.turn,
                "timestamp": _stamp(said.at),
                "type": "user",
                "content": [{"text": said.asked}],
            }
            yield {
                "id": reply,
                "timestamp": _stamp(said.at, 90),
                "type": "gemini",
                "content": said.answered,
                "model": "mock",
            }

    own = folder / project.name.lower()
    _lines(own / "chats" / f"session-{chat[0].at:%Y-%m-%dT%H-%M}-{session[:8]}.jsonl", lines())
    (own / ".project_root").write_text(str(project), encoding="utf-8")


def _pi(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        yield {
            "type": "session",
            "version": 3,
            "id": session,
            "timestamp": _stamp(chat[0].at),
            "cwd": str(project),
        }
        parent = None
        for said in chat:
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            for name, at, message in (
                (
                    said.turn,
                    _stamp(said.at),
                    {"role": "user", "content": [{"type": "text", "text": said.asked}]},
                ),
                (
                    reply,
                    _stamp(said.at, 90),
                    {
                        "role": "assistant",
                        "content": [{"type": "text", "text": said.answered}],
                        "stopReason": "stop",
                    },
                ),
            ):
                yield {
                    "type": "message",
                    "id": name,
                    "parentId": parent,
                    "timestamp": at,
                    "message": message,
                }
                parent = name

    own = folder / "sessions" / f"--{str(project).strip('/').replace('/', '-')}--"
    _lines(own / f"{chat[0].at:%Y-%m-%dT%H-%M-%S}-000Z_{session}.jsonl", lines())


def _copilot(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        context = {"cwd": str(project), "gitRoot": str(project), "branch": "main"}
        start = {
            "sessionId": session,
            "version": 1,
            "copilotVersion": "1.0.102",
            "context": context,
        }
        yield {
            "type": "session.start",
            "data": start,
            "id": session,
            "timestamp": _stamp(chat[0].at),
            "parentId": None,
        }
        parent = session
        for said in chat:
            reply = str(uuid.uuid5(_NAMESPACE, f"{said.turn}/reply"))
            asked = {"content": said.asked, "messageId": said.turn, "delivery": "idle"}
            answered = {
                "content": said.answered,
                "messageId": reply,
                "originatingMessageId": said.turn,
                "toolRequests": [],
            }
            for kind, data, name, at in (
                ("user.message", asked, str(uuid.uuid5(_NAMESPACE, said.turn)), _stamp(said.at)),
                (
                    "assistant.message",
                    answered,
                    str(uuid.uuid5(_NAMESPACE, reply)),
                    _stamp(said.at, 90),
                ),
            ):
                yield {"type": kind, "data": data, "id": name, "timestamp": at, "parentId": parent}
                parent = name

    _lines(folder / session / "events.jsonl", lines())


def _cline(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    messages: list[dict] = []
    for said in chat:
        at = int(said.at.timestamp() * 1000)
        typed = f'<user_input mode="act">{said.asked}</user_input>'
        messages.append(
            {
                "id": said.turn,
                "role": "user",
                "content": [{"type": "text", "text": typed}],
                "ts": at,
            }
        )
        answer = [{"type": "text", "text": said.answered}]
        messages.append(
            {
                "id": f"msg_{len(messages)}",
                "role": "assistant",
                "content": answer,
                "ts": at + 90_000,
            }
        )
    own = folder / session
    own.mkdir(parents=True)
    (own / f"{session}.json").write_text(
        json.dumps({"session_id": session, "cwd": str(project)}), encoding="utf-8"
    )
    document = {
        "version": 1,
        "sessionId": session,
        "origin": {"mode": "user"},
        "messages": messages,
    }
    (own / f"{session}.messages.json").write_text(json.dumps(document, indent=2), encoding="utf-8")


def _kimi(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    def lines() -> Iterator[dict]:
        yield {
            "type": "metadata",
            "protocol_version": "1.5",
            "created_at": int(chat[0].at.timestamp() * 1000),
        }
        for number, said in enumerate(chat):
            at = int(said.at.timestamp() * 1000)
            asked = [{"type": "text", "text": said.asked}]
            yield {
                "type": "turn.prompt",
                "input": asked,
                "origin": {"kind": "user"},
                "promptId": said.turn,
                "turnId": number,
                "time": at,
            }
            part = {
                "type": "content.part",
                "turnId": str(number),
                "part": {"type": "text", "text": said.answered},
            }
            yield {"type": "context.append_loop_event", "event": part, "time": at + 80_000}
            yield {
                "type": "turn.ended",
                "turnId": number,
                "reason": "completed",
                "time": at + 90_000,
            }

    own = folder / f"wd_{project.name}_{'0' * 12}" / session
    _lines(own / "agents" / "main" / "wire.jsonl", lines())
    (own / "state.json").write_text(
        json.dumps({"id": session, "cwd": str(project)}), encoding="utf-8"
    )


def _vibe(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    entries: list[dict] = []
    for said in chat:
        at = int(said.at.timestamp() * 1000)
        asked = {
            "type": "message",
            "role": "user",
            "id": said.turn,
            "source": "turn_start",
            "createdAt": at,
        }
        entries.append({**asked, "content": [{"type": "text", "text": said.asked}]})
        answer = {
            "type": "message",
            "role": "assistant",
            "id": f"a-{said.turn}",
            "inputEntryId": said.turn,
            "createdAt": at + 90_000,
        }
        entries.append({**answer, "content": [{"type": "text", "text": said.answered}]})
    own = folder / "unified" / session
    generation = own / "generations" / "0000000000000001"
    generation.mkdir(parents=True)
    (own / "chunks").mkdir()
    for file, value in {
        own / "CURRENT": {"generation": generation.name, "session_id": session},
        own / "meta.json": {
            "session_id": session,
            "environment": {"working_directory": str(project)},
        },
        generation / "manifest.json": {"projection_state": {"chunks": ["a" * 64]}},
        generation / "projection-state.json": {"snapshot": {"latestTurn": {"status": "completed"}}},
        own / "chunks" / f"{'a' * 64}.json": entries,
    }.items():
        file.write_text(json.dumps(value), encoding="utf-8")


def _cursor(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    db = sqlite3.connect(folder / "state.vscdb")
    db.execute(
        "CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
    )
    bubbles: list[dict] = []
    for said in chat:
        asked = {"type": 1, "bubbleId": said.turn, "text": said.asked, "createdAt": _stamp(said.at)}
        answer = {
            "type": 2,
            "bubbleId": f"a-{said.turn}",
            "text": said.answered,
            "createdAt": _stamp(said.at, 90),
        }
        bubbles += [asked, answer]
    head = {
        "_v": 17,
        "composerId": session,
        "createdAt": int(chat[0].at.timestamp() * 1000),
        "status": "completed",
        "fullConversationHeadersOnly": [
            {"bubbleId": one["bubbleId"], "type": one["type"]} for one in bubbles
        ],
        "workspaceIdentifier": {"id": "0" * 32, "uri": {"fsPath": str(project)}},
    }
    with db:
        db.execute(
            "INSERT INTO cursorDiskKV VALUES (?, ?)", (f"composerData:{session}", json.dumps(head))
        )
        for one in bubbles:
            key = f"bubbleId:{session}:{one['bubbleId']}"
            db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(one)))
    db.close()


def _aider(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    began = chat[0].at.astimezone()
    text = f"\n# aider chat started at {began:%Y-%m-%d %H:%M:%S}\n\n> Aider v0.86.2  \n"
    for said in chat:
        asked = "".join(f"#### {line}  \n" for line in said.asked.split("\n"))
        text += f"\n{asked}\n{said.answered}\n\n> Tokens: 2.5k sent, 35 received.  \n"
    with open(folder / ".aider.chat.history.md", "a", encoding="utf-8") as file:
        file.write(text)


def _crush(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    db = sqlite3.connect(folder / "crush.db")
    db.executescript(
        "CREATE TABLE IF NOT EXISTS sessions(id "
        "PRIMARY KEY, parent_session_id, created_at, updated_at);"
        "CREATE TABLE IF NOT EXISTS messages(id "
        "PRIMARY KEY, session_id, role, parts, created_at, finished_at);"
    )
    with db:
        first, last = (int(said.at.timestamp()) for said in (chat[0], chat[-1]))
        db.execute("INSERT INTO sessions VALUES (?, NULL, ?, ?)", (session, first, last))
        for said in chat:
            at = int(said.at.timestamp())
            for name, role, text, reason in (
                (said.turn, "user", said.asked, "stop"),
                (f"a-{said.turn}", "assistant", said.answered, "end_turn"),
            ):
                parts = [
                    {"type": "text", "data": {"text": text}},
                    {"type": "finish", "data": {"reason": reason}},
                ]
                row = (name, session, role, json.dumps(parts), at, at + 90)
                db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", row)
    db.close()


def _goose(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    db = sqlite3.connect(folder / "sessions.db")
    db.executescript(
        "CREATE TABLE IF NOT EXISTS sessions(id "
        "PRIMARY KEY, working_dir, session_type, created_at, updated_at, extension_data);"
        "CREATE TABLE IF NOT EXISTS messages(id INTEGER "
        "PRIMARY KEY, message_id, session_id, role, content_json, created_timestamp,"
        " metadata_json);"
    )
    with db:
        first, last = (f"{said.at:%Y-%m-%d %H:%M:%S}" for said in (chat[0], chat[-1]))
        db.execute(
            "INSERT INTO sessions VALUES (?, ?, 'user', ?, ?, '{}')",
            (session, str(project), first, last),
        )
        for said in chat:
            at = int(said.at.timestamp())
            for name, role, text, when in (
                (said.turn, "user", said.asked, at),
                (f"a-{said.turn}", "assistant", said.answered, at + 1),
            ):
                row = (
                    name,
                    session,
                    role,
                    json.dumps([{"type": "text", "text": text}]),
                    when,
                    "{}",
                )
                db.execute("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?)", row)
    db.close()


def _zed(folder: Path, project: Path, session: str, chat: list[Said]) -> None:
    messages: list[dict] = []
    for said in chat:
        messages.append({"User": {"id": said.turn, "content": [{"Text": said.asked}]}})
        messages.append({"Agent": {"content": [{"Text": said.answered}], "tool_results": {}}})
    db = sqlite3.connect(folder / "threads.db")
    db.execute(
        "CREATE TABLE IF NOT EXISTS threads(id "
        "PRIMARY KEY, summary, updated_at, data_type, data, parent_id, folder_paths,"
        " folder_paths_order, created_at)"
    )
    with db:
        at = _stamp(chat[0].at)
        document = json.dumps({"version": "0.3.0", "messages": messages})
        row = (session, "", at, "json", document.encode(), None, str(project), "0", at)
        db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.close()


_WRITERS: dict[str, Callable[[Path, Path, str, list[Said]], None]] = {
    "claude-code": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "openclaw": _openclaw,
    "qwen": _qwen,
    "gemini": _gemini,
    "pi": _pi,
    "copilot": _copilot,
    "kilo": _kilo,
    "cline": _cline,
    "kimi": _kimi,
    "vibe": _vibe,
    "cursor": _cursor,
    "aider": _aider,
    "crush": _crush,
    "goose": _goose,
    "zed": _zed,
}
