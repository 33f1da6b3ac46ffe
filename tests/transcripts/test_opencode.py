"""OpenCode's commands that fail."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

from memsearch_engine.agents.opencode.reader import Reader as Opencode

opencode = Opencode()

SAMPLES = Path(__file__).parent.parent / "samples"


def test_opencode_s_command_that_ended_badly_has_failed_although_it_is_completed(tmp_path):
    path = tmp_path / "opencode.db"
    shutil.copy(SAMPLES / "opencode" / "opencode.db", path)
    query = (
        "SELECT id, session_id, data FROM part WHERE json_extract(data, "
        "'$.tool')='bash' AND json_extract(data, '$.state.status')='completed'"
    )
    with contextlib.closing(sqlite3.connect(path)) as db:
        name, session, data = db.execute(query).fetchone()

        def failed(exit_code: int) -> bool:
            part = json.loads(data)
            part["state"]["metadata"]["exit"] = exit_code
            db.execute("UPDATE part SET data=? WHERE id=?", (json.dumps(part), name))
            db.commit()
            turns = opencode.open_session(opencode.at(path, session)).turns()
            command = part["state"]["input"]["command"]
            return next(
                tool.failed for turn in turns for tool in turn.tools if tool.input == command
            )

        assert (failed(0), failed(2)) == (False, True)
