"""OpenCode's sessions (``message_db.py``) in ``opencode.db`` (checked with 1.18).

Other release channels have other file names.
"""

import re

from memsearch_engine.agents.transcripts.message_db import MessageReader


class Reader(MessageReader):
    """Reads the sessions of OpenCode."""

    agent = "opencode"
    pattern = "*opencode*.db"
    own_names = re.compile(r".*opencode.*\.db", re.S)
