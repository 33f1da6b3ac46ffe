"""Kilo CLI's sessions: ``kilo.db`` with OpenCode's tables (``message_db.py``).

Checked with 7.7.7.

The text of a custom command replaces its name, which is stored beside it. A refusal is deleted with
the next prompt.
"""

import re

from memsearch_engine.agents.transcripts.message_db import MessageReader


class Reader(MessageReader):
    """Reads the sessions of Kilo CLI."""

    agent = "kilo"
    pattern = "*kilo*.db"
    own_names = re.compile(r".*kilo.*\.db", re.S)
