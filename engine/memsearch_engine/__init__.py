"""The engine: one memory for every coding agent, kept in markdown.

    from memsearch_engine import Memory

    with Memory() as memory:
        note = memory.add("Staging runs Postgres 16")
        for hit in memory.search("which postgres on staging", limit=5):
            print(hit.day, hit.text)

Rooms, from the ground up: ``home`` (paths), ``settings``, ``projects``, ``secrets``, ``journal``
(the truth), ``transcripts`` (what was said), ``actions`` (what was done), ``index`` (the cache),
``search``, ``capture``, ``recall`` (what sessions are told), ``longterm``, ``service`` (the
resident process) and ``memory`` (the verbs). Nothing here knows a screen. What stands in
``__all__`` and README's page keeps its meaning from version to version; what is deeper,
``Memory``'s own workings among it, may change with any.
"""

from __future__ import annotations

__version__ = "0.4.0"

#: Where each name lives, and as what where it has another name there. They are imported when they
#: are asked for: a hook and ``--help`` need none of them.
_PUBLIC = {
    "Absence": "search.explain",
    "Act": "actions.index",
    "Agent": "core.agent_registry",
    "agent_named": "core.agent_registry:agent",
    "agent_names": "core.agent_registry:names",
    "agents_live": "core.agent_registry:live",
    "all_agents": "core.agent_registry:everyone",
    "Anchor": "journal.model",
    "Answer": "search.hits",
    "answer_view": "search.views",
    "Asked": "longterm.digest.compact",
    "Capture": "verbs.capture",
    "Change": "journal.history",
    "Compact": "verbs.documents",
    "Configuration": "verbs.setup",
    "Conflict": "core.errors",
    "Contested": "review.contested",
    "Context": "injection.session_start",
    "Contradiction": "search.supersession.contradictions",
    "count_entries": "journal.files",
    "Coverage": "capture.coverage",
    "DayFile": "journal.files",
    "Digest": "longterm.digest.compact",
    "Document": "journal.model",
    "Entry": "journal.model",
    "estimate_tokens": "core.llm.tokens:estimate",
    "Evidence": "verbs.archive",
    "Excerpt": "agents.transcripts.locate",
    "expand_running": "service.quick:expand",
    "Fact": "longterm.facts",
    "Failure": "index.rows",
    "fenced": "injection.session_start",
    "files_named": "injection.notes:changed_files",
    "FILTER_KEYS": "search.request",
    "Fix": "actions.answers",
    "FLAGS": "search.request:IS",
    "Ground": "verbs.ground",
    "GroundFinding": "staleness.finding:Finding",
    "GroundStanding": "staleness.finding:Standing",
    "Health": "service.answers",
    "Held": "review.inbox",
    "Here": "capture.discover",
    "Hit": "search.hits",
    "hit_view": "search.views",
    "Home": "core.home",
    "hook": "capture.hook:main",
    "Hunk": "longterm.review",
    "Import": "verbs.archive",
    "ImportPlan": "capture.backfill:Plan",
    "ImportReport": "capture.backfill",
    "Inbox": "service.answers",
    "IndexResult": "index.rows",
    "KINDS": "search.request",
    "Learned": "longterm.learned",
    "LongTerm": "verbs.longterm",
    "LONGTERM_KINDS": "index.rows",
    "LongTermStatus": "longterm.pipeline",
    "Match": "longterm.forgetting",
    "McpClients": "verbs.agents",
    "Memory": "memory",
    "MemsearchError": "core.errors",
    "Mendable": "review.repair:Finding",
    "Missed": "capture.ledger",
    "Models": "verbs.models",
    "native_path": "agents.agent_files:short",
    "native_titles": "agents.agent_files:titles",
    "NativeMemories": "verbs.native",
    "NativeMemory": "agents.agent_files",
    "NativeSection": "agents.agent_files",
    "Note": "journal.note",
    "note_view": "search.views",
    "NotFound": "core.errors",
    "Outcome": "capture.ledger",
    "outcomes_in": "injection.notes:outcome_lines",
    "Pages": "verbs.pages",
    "PageState": "longterm.living",
    "parse_date": "search.request",
    "parse_query": "search.request:parse",
    "Patch": "agents.patches",
    "plain": "core.safe_text",
    "PlannedShare": "sync.sharing.copies:Planned",
    "Plugins": "verbs.agents",
    "Project": "core.projects",
    "Proposal": "longterm.review",
    "Provider": "core.settings",
    "Receipt": "injection.injection_log",
    "redact": "secrets.scan",
    "Repair": "verbs.repair",
    "Revision": "search.supersession.revisions",
    "Row": "index.rows",
    "search_running": "service.quick:search",
    "SearchRequest": "search.request",
    "Secrets": "verbs.secrets",
    "Section": "search.sections",
    "Service": "verbs.setup",
    "SessionHits": "search.sessions",
    "SessionMemory": "longterm.store",
    "Settings": "core.settings",
    "SettingsError": "core.errors",
    "Share": "capture.coverage",
    "ShareChange": "sync.sharing.copies",
    "shared_author": "core.project_location:author_of",
    "SharedNote": "sync.sharing.copies",
    "Sharing": "verbs.sharing",
    "shown": "core.safe_text",
    "shown_line": "core.safe_text",
    "SkillCandidate": "longterm.skills:Candidate",
    "Skills": "verbs.skills",
    "SkillTask": "core.settings",
    "Spent": "core.llm.spend",
    "Stale": "index.catalog",
    "Standing": "service.answers",
    "State": "service.answers",
    "Status": "service.answers",
    "STOP_WORDS": "index.analyze",
    "Summarize": "core.settings",
    "Supersession": "search.supersession.listing",
    "Sync": "verbs.sync",
    "SyncAnswer": "sync.run",
    "SyncRound": "sync.state:Round",
    "SyncState": "sync.meeting",
    "Target": "journal.write",
    "Task": "core.settings",
    "Telling": "injection.prompt",
    "Then": "search.as_of",
    "ToolCall": "agents.transcripts.model",
    "Trash": "longterm.forgetting",
    "Trust": "verbs.trust",
    "Turn": "agents.transcripts.model",
    "Unreachable": "core.errors",
    "Update": "service.changes",
    "UpdateKind": "service.changes",
    "UsageError": "core.errors",
    "Waits": "journal.model",
    "Way": "actions.answers",
}

__all__ = [*_PUBLIC, "__version__"]  # noqa: PLE0604

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from typing import Any

    from memsearch_engine.actions.answers import Fix, Way
    from memsearch_engine.actions.index import Act
    from memsearch_engine.agents.agent_files import NativeMemory, NativeSection
    from memsearch_engine.agents.agent_files import short as native_path
    from memsearch_engine.agents.agent_files import titles as native_titles
    from memsearch_engine.agents.patches import Patch
    from memsearch_engine.agents.transcripts.locate import Excerpt
    from memsearch_engine.agents.transcripts.model import ToolCall, Turn
    from memsearch_engine.capture.backfill import ImportReport
    from memsearch_engine.capture.backfill import Plan as ImportPlan
    from memsearch_engine.capture.coverage import Coverage, Share
    from memsearch_engine.capture.discover import Here
    from memsearch_engine.capture.hook import main as hook
    from memsearch_engine.capture.ledger import Missed, Outcome
    from memsearch_engine.core.agent_registry import Agent
    from memsearch_engine.core.agent_registry import agent as agent_named
    from memsearch_engine.core.agent_registry import everyone as all_agents
    from memsearch_engine.core.agent_registry import live as agents_live
    from memsearch_engine.core.agent_registry import names as agent_names
    from memsearch_engine.core.errors import (
        Conflict,
        MemsearchError,
        NotFound,
        SettingsError,
        Unreachable,
        UsageError,
    )
    from memsearch_engine.core.home import Home
    from memsearch_engine.core.llm.spend import Spent
    from memsearch_engine.core.llm.tokens import estimate as estimate_tokens
    from memsearch_engine.core.project_location import author_of as shared_author
    from memsearch_engine.core.projects import Project
    from memsearch_engine.core.safe_text import plain, shown, shown_line
    from memsearch_engine.core.settings import Provider, Settings, SkillTask, Summarize, Task
    from memsearch_engine.index.analyze import STOP_WORDS
    from memsearch_engine.index.catalog import Stale
    from memsearch_engine.index.rows import LONGTERM_KINDS, Failure, IndexResult, Row
    from memsearch_engine.injection.injection_log import Receipt
    from memsearch_engine.injection.notes import changed_files as files_named
    from memsearch_engine.injection.notes import outcome_lines as outcomes_in
    from memsearch_engine.injection.prompt import Telling
    from memsearch_engine.injection.session_start import Context, fenced
    from memsearch_engine.journal.files import DayFile, count_entries
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.model import Anchor, Document, Entry, Waits
    from memsearch_engine.journal.note import Note
    from memsearch_engine.journal.write import Target
    from memsearch_engine.longterm.digest.compact import Asked, Digest
    from memsearch_engine.longterm.facts import Fact
    from memsearch_engine.longterm.forgetting import Match, Trash
    from memsearch_engine.longterm.learned import Learned
    from memsearch_engine.longterm.pages import PageState
    from memsearch_engine.longterm.pipeline import LongTermStatus
    from memsearch_engine.longterm.review import Hunk, Proposal
    from memsearch_engine.longterm.skills import Candidate as SkillCandidate
    from memsearch_engine.longterm.store import SessionMemory
    from memsearch_engine.memory import Memory
    from memsearch_engine.review.contested import Contested
    from memsearch_engine.review.inbox import Held
    from memsearch_engine.review.repair import Finding as Mendable
    from memsearch_engine.search.as_of import Then
    from memsearch_engine.search.explain import Absence
    from memsearch_engine.search.hits import Answer, Hit
    from memsearch_engine.search.request import FILTER_KEYS, KINDS, SearchRequest, parse_date
    from memsearch_engine.search.request import IS as FLAGS
    from memsearch_engine.search.request import parse as parse_query
    from memsearch_engine.search.sections import Section
    from memsearch_engine.search.sessions import SessionHits
    from memsearch_engine.search.supersession.contradictions import Contradiction
    from memsearch_engine.search.supersession.listing import Supersession
    from memsearch_engine.search.supersession.revisions import Revision
    from memsearch_engine.search.views import answer_view, hit_view, note_view
    from memsearch_engine.secrets.scan import redact
    from memsearch_engine.service.answers import Health, Inbox, Standing, State, Status
    from memsearch_engine.service.changes import Update, UpdateKind
    from memsearch_engine.service.quick import expand as expand_running
    from memsearch_engine.service.quick import search as search_running
    from memsearch_engine.staleness.finding import Finding as GroundFinding
    from memsearch_engine.staleness.finding import Standing as GroundStanding
    from memsearch_engine.sync.meeting import SyncState
    from memsearch_engine.sync.run import SyncAnswer
    from memsearch_engine.sync.sharing.copies import Planned as PlannedShare
    from memsearch_engine.sync.sharing.copies import ShareChange, SharedNote
    from memsearch_engine.sync.state import Round as SyncRound
    from memsearch_engine.verbs.agents import McpClients, Plugins
    from memsearch_engine.verbs.archive import Evidence, Import
    from memsearch_engine.verbs.capture import Capture
    from memsearch_engine.verbs.documents import Compact
    from memsearch_engine.verbs.ground import Ground
    from memsearch_engine.verbs.longterm import LongTerm
    from memsearch_engine.verbs.models import Models
    from memsearch_engine.verbs.native import NativeMemories
    from memsearch_engine.verbs.pages import Pages
    from memsearch_engine.verbs.repair import Repair
    from memsearch_engine.verbs.secrets import Secrets
    from memsearch_engine.verbs.setup import Configuration, Service
    from memsearch_engine.verbs.sharing import Sharing
    from memsearch_engine.verbs.skills import Skills
    from memsearch_engine.verbs.sync import Sync
    from memsearch_engine.verbs.trust import Trust


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, _, own_name = _PUBLIC[name].partition(":")
    module = __import__(f"{__name__}.{room}", fromlist=["*"])  # `importlib` costs 2 ms
    value = getattr(module, own_name or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
