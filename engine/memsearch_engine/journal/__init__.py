"""The truth: day files of markdown, read, appended to, edited and undone without losing a byte.

``model`` names the things, ``parse`` finds them in a file's bytes, ``files`` lists days, ``write`` changes files under
a lock, ``history`` keeps what stood before. This room knows nothing of the index, of agents' transcripts or of
screens.
"""

from memsearch_engine.journal.files import DayFile, list_days, read_day
from memsearch_engine.journal.model import Anchor, Document, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.write import Journal, Turnkey

__all__ = ["Anchor", "DayFile", "Document", "Entry", "Journal", "Turnkey", "list_days", "parse", "read_day"]
