"""Kilo CLI's sessions: its database is OpenCode's in shape (``agents/transcripts/message_db.py``),
in ``kilo.db`` (7.7.7 was seen).

The words of a custom command stand in place of its name, which is kept beside them; a refusal is
deleted with the next prompt.
"""

import re

from memsearch_engine.agents.kilo import AGENT
from memsearch_engine.agents.transcripts.message_db import MessageReader


class Reader(MessageReader):
    agent = AGENT.name
    pattern = "*kilo*.db"
    own_names = re.compile(r".*kilo.*\.db", re.S)
