"""OpenCode's sessions (``agents/transcripts/message_db.py``), in ``opencode.db``; other channels of
it have other names (1.18 was seen).
"""

import re

from memsearch_engine.agents.opencode import AGENT
from memsearch_engine.agents.transcripts.message_db import MessageReader


class Reader(MessageReader):
    agent = AGENT.name
    pattern = "*opencode*.db"
    own_names = re.compile(r".*opencode.*\.db", re.S)
