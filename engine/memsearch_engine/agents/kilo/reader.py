"""Kilo CLI's sessions: its database is OpenCode's in shape (``agents/transcripts/message_db.py``),
in ``kilo.db`` (7.7.7 was seen).

The words of a custom command stand in place of its name, which is kept beside them; a refusal is
deleted with the next prompt.
"""

from memsearch_engine.agents.kilo import AGENT
from memsearch_engine.agents.transcripts.message_db import MessageDatabases

_databases = MessageDatabases(AGENT.name, "*kilo*.db")
sessions, locate, at = _databases.sessions, _databases.locate, _databases.at
holds, wrote, open_session = _databases.holds, _databases.wrote, _databases.open_session
