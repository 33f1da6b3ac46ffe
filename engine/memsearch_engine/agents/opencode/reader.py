"""OpenCode's sessions (``agents/transcripts/message_db.py``), in ``opencode.db``; other channels of
it have other names (1.18 was seen).
"""

from memsearch_engine.agents.opencode import AGENT
from memsearch_engine.agents.transcripts.message_db import MessageDatabases

_databases = MessageDatabases(AGENT.name, "*opencode*.db")
sessions, locate, at = _databases.sessions, _databases.locate, _databases.at
holds, wrote, open_session = _databases.holds, _databases.wrote, _databases.open_session
