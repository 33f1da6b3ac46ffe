"""The engine: one memory for every coding agent, kept in markdown.

    from memsearch_engine import Memory

    with Memory() as memory:
        note = memory.add("Staging runs Postgres 16")
        for hit in memory.search("which postgres on staging", limit=5):
            print(hit.day, hit.text)

The names in ``__all__`` are public: they keep their meaning from version to version. Everything
deeper may change with any version.
"""

from __future__ import annotations

__version__ = "0.4.0"

__all__ = [
    "Absence",
    "Act",
    "Agent",
    "agent_named",
    "agent_names",
    "agents_live",
    "all_agents",
    "Anchor",
    "Answer",
    "answer_view",
    "Asked",
    "Capture",
    "Case",
    "Change",
    "Compact",
    "Configuration",
    "Conflict",
    "Conflicts",
    "Contested",
    "Context",
    "Contradiction",
    "count_entries",
    "Coverage",
    "DayFile",
    "Decision",
    "Digest",
    "Document",
    "Entry",
    "estimate_tokens",
    "Evidence",
    "Excerpt",
    "expand_running",
    "Fact",
    "Failure",
    "fenced",
    "Files",
    "files_named",
    "FILTER_KEYS",
    "Fix",
    "FLAGS",
    "Ground",
    "GroundFinding",
    "GroundStanding",
    "Health",
    "Held",
    "Here",
    "Hit",
    "hit_view",
    "Home",
    "hook",
    "Hunk",
    "Import",
    "ImportPlan",
    "ImportReport",
    "Inbox",
    "IndexResult",
    "install_command",
    "Injections",
    "KINDS",
    "Learned",
    "LongTerm",
    "LONGTERM_KINDS",
    "LongTermStatus",
    "Match",
    "McpClients",
    "Memory",
    "MemsearchError",
    "Mendable",
    "Missed",
    "Models",
    "native_path",
    "native_titles",
    "NativeMemories",
    "NativeMemory",
    "NativeSection",
    "Note",
    "note_view",
    "NotFound",
    "Outcome",
    "outcomes_in",
    "Pages",
    "PageState",
    "parse_date",
    "parse_query",
    "PastActions",
    "Patch",
    "plain",
    "PlannedShare",
    "Plugins",
    "Project",
    "Proposal",
    "Provider",
    "Receipt",
    "redact",
    "Repair",
    "REVIEW_GROUPS",
    "ReviewQueue",
    "Revision",
    "Row",
    "search_running",
    "Searcher",
    "SearchRequest",
    "Secrets",
    "Section",
    "Service",
    "SessionHits",
    "SessionMemory",
    "Settings",
    "SettingsError",
    "Share",
    "ShareChange",
    "shared_author",
    "SharedNote",
    "Sharing",
    "shown",
    "shown_line",
    "SkillCandidate",
    "Skills",
    "SkillTask",
    "Spent",
    "Stale",
    "Standing",
    "State",
    "Status",
    "STOP_WORDS",
    "Summarize",
    "Supersession",
    "Supersessions",
    "Sync",
    "SyncAnswer",
    "SyncRound",
    "SyncState",
    "Target",
    "Task",
    "Telling",
    "Then",
    "ToolCall",
    "Transcripts",
    "transcript_running",
    "Trash",
    "Trust",
    "Turn",
    "Unreachable",
    "Update",
    "UpdateKind",
    "UsageError",
    "Waits",
    "Way",
    "__version__",
]

#: Name -> module, and the name there where it is another one. Each is imported when it is first
#: asked for: a hook and ``--help`` need none of them.
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
    "Capture": "service.api",
    "Case": "review.item",
    "Change": "journal.history",
    "Compact": "longterm.digest.api",
    "Configuration": "service.configuration",
    "Conflict": "core.errors",
    "Conflicts": "review.conflicts",
    "Contested": "review.conflicts",
    "Context": "injection.session_start",
    "Contradiction": "search.supersession.contradictions",
    "count_entries": "journal.files",
    "Coverage": "capture.coverage",
    "DayFile": "journal.files",
    "Decision": "review.item",
    "Digest": "longterm.digest.compact",
    "Document": "journal.model",
    "Entry": "journal.model",
    "estimate_tokens": "core.llm.tokens:estimate",
    "Evidence": "capture.retention",
    "Excerpt": "agents.transcripts.locate",
    "expand_running": "service.quick:expand",
    "Fact": "longterm.facts",
    "Failure": "index.rows",
    "fenced": "injection.session_start",
    "Files": "search.files",
    "files_named": "injection.notes:changed_files",
    "FILTER_KEYS": "search.request",
    "Fix": "actions.answers",
    "FLAGS": "search.request:IS",
    "Ground": "review.staleness",
    "GroundFinding": "staleness.finding:Finding",
    "GroundStanding": "staleness.finding:Standing",
    "Health": "service.answers",
    "Held": "review.trust",
    "Here": "capture.discover",
    "Hit": "search.hits",
    "hit_view": "search.views",
    "Home": "core.home",
    "hook": "capture.hook:main",
    "Hunk": "longterm.changes",
    "Import": "capture.importing",
    "ImportPlan": "capture.backfill:Plan",
    "ImportReport": "capture.backfill",
    "Inbox": "service.answers",
    "IndexResult": "index.rows",
    "install_command": "core.installation",
    "Injections": "injection.api",
    "KINDS": "search.request",
    "Learned": "longterm.learned",
    "LongTerm": "longterm.api",
    "LONGTERM_KINDS": "index.rows",
    "LongTermStatus": "longterm.pipeline",
    "Match": "longterm.forgetting",
    "McpClients": "capture.plugins",
    "Memory": "memory",
    "MemsearchError": "core.errors",
    "Mendable": "review.repair:Finding",
    "Missed": "capture.ledger",
    "Models": "service.models",
    "native_path": "agents.agent_files:short",
    "native_titles": "agents.agent_files:titles",
    "NativeMemories": "review.agent_files",
    "NativeMemory": "agents.agent_files",
    "NativeSection": "agents.agent_files",
    "Note": "journal.note",
    "note_view": "search.views",
    "NotFound": "core.errors",
    "Outcome": "capture.ledger",
    "outcomes_in": "injection.notes:outcome_lines",
    "Pages": "longterm.pages_api",
    "PageState": "longterm.pages",
    "parse_date": "search.request",
    "parse_query": "search.request:parse",
    "PastActions": "service.past_actions",
    "Patch": "agents.patches",
    "plain": "core.safe_text",
    "PlannedShare": "sync.sharing.copies:Planned",
    "Plugins": "capture.plugins",
    "Project": "core.projects",
    "Proposal": "longterm.review",
    "Provider": "core.settings",
    "Receipt": "injection.injection_log",
    "redact": "secrets.scan",
    "Repair": "review.repair",
    "REVIEW_GROUPS": "review.queue:GROUPS",
    "ReviewQueue": "review.queue",
    "Revision": "search.supersession.revisions",
    "Row": "index.rows",
    "search_running": "service.quick:search",
    "transcript_running": "service.quick:transcript",
    "Searcher": "service.search_client",
    "SearchRequest": "search.request",
    "Secrets": "review.secrets",
    "Section": "search.sections",
    "Service": "service.api",
    "SessionHits": "search.sessions",
    "SessionMemory": "longterm.store",
    "Settings": "core.settings",
    "SettingsError": "core.errors",
    "Share": "capture.coverage",
    "ShareChange": "sync.sharing.copies",
    "shared_author": "core.project_location:author_of",
    "SharedNote": "sync.sharing.copies",
    "Sharing": "sync.sharing.api",
    "shown": "core.safe_text",
    "shown_line": "core.safe_text",
    "SkillCandidate": "longterm.skills:Candidate",
    "Skills": "longterm.skills_api",
    "SkillTask": "core.settings",
    "Spent": "core.llm.spend",
    "Stale": "index.catalog",
    "Standing": "service.answers",
    "State": "service.answers",
    "Status": "service.answers",
    "STOP_WORDS": "index.analyze",
    "Summarize": "core.settings",
    "Supersession": "search.supersession.listing",
    "Supersessions": "injection.supersessions",
    "Sync": "sync.api",
    "SyncAnswer": "sync.run",
    "SyncRound": "sync.state:Round",
    "SyncState": "sync.meeting",
    "Target": "journal.write",
    "Task": "core.settings",
    "Telling": "injection.prompt",
    "Then": "search.as_of",
    "ToolCall": "agents.transcripts.model",
    "Transcripts": "capture.transcripts",
    "Trash": "longterm.forgetting",
    "Trust": "review.trust",
    "Turn": "agents.transcripts.model",
    "Unreachable": "core.errors",
    "Update": "service.changes",
    "UpdateKind": "service.changes",
    "UsageError": "core.errors",
    "Waits": "journal.model",
    "Way": "actions.answers",
}

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
    from memsearch_engine.capture.importing import Import
    from memsearch_engine.capture.ledger import Missed, Outcome
    from memsearch_engine.capture.plugins import McpClients, Plugins
    from memsearch_engine.capture.retention import Evidence
    from memsearch_engine.capture.transcripts import Transcripts
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
    from memsearch_engine.core.installation import install_command
    from memsearch_engine.core.llm.spend import Spent
    from memsearch_engine.core.llm.tokens import estimate as estimate_tokens
    from memsearch_engine.core.project_location import author_of as shared_author
    from memsearch_engine.core.projects import Project
    from memsearch_engine.core.safe_text import plain, shown, shown_line
    from memsearch_engine.core.settings import Provider, Settings, SkillTask, Summarize, Task
    from memsearch_engine.index.analyze import STOP_WORDS
    from memsearch_engine.index.catalog import Stale
    from memsearch_engine.index.rows import LONGTERM_KINDS, Failure, IndexResult, Row
    from memsearch_engine.injection.api import Injections
    from memsearch_engine.injection.injection_log import Receipt
    from memsearch_engine.injection.notes import changed_files as files_named
    from memsearch_engine.injection.notes import outcome_lines as outcomes_in
    from memsearch_engine.injection.prompt import Telling
    from memsearch_engine.injection.session_start import Context, fenced
    from memsearch_engine.injection.supersessions import Supersessions
    from memsearch_engine.journal.files import DayFile, count_entries
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.model import Anchor, Document, Entry, Waits
    from memsearch_engine.journal.note import Note
    from memsearch_engine.journal.write import Target
    from memsearch_engine.longterm.api import LongTerm
    from memsearch_engine.longterm.changes import Hunk
    from memsearch_engine.longterm.digest.api import Compact
    from memsearch_engine.longterm.digest.compact import Asked, Digest
    from memsearch_engine.longterm.facts import Fact
    from memsearch_engine.longterm.forgetting import Match, Trash
    from memsearch_engine.longterm.learned import Learned
    from memsearch_engine.longterm.pages import PageState
    from memsearch_engine.longterm.pages_api import Pages
    from memsearch_engine.longterm.pipeline import LongTermStatus
    from memsearch_engine.longterm.review import Proposal
    from memsearch_engine.longterm.skills import Candidate as SkillCandidate
    from memsearch_engine.longterm.skills_api import Skills
    from memsearch_engine.longterm.store import SessionMemory
    from memsearch_engine.memory import Memory
    from memsearch_engine.review.agent_files import NativeMemories
    from memsearch_engine.review.conflicts import Conflicts, Contested
    from memsearch_engine.review.item import Case, Decision
    from memsearch_engine.review.queue import GROUPS as REVIEW_GROUPS
    from memsearch_engine.review.queue import ReviewQueue
    from memsearch_engine.review.repair import Finding as Mendable
    from memsearch_engine.review.repair import Repair
    from memsearch_engine.review.secrets import Secrets
    from memsearch_engine.review.staleness import Ground
    from memsearch_engine.review.trust import Held, Trust
    from memsearch_engine.search.as_of import Then
    from memsearch_engine.search.explain import Absence
    from memsearch_engine.search.files import Files
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
    from memsearch_engine.service.api import Capture, Service
    from memsearch_engine.service.changes import Update, UpdateKind
    from memsearch_engine.service.configuration import Configuration
    from memsearch_engine.service.models import Models
    from memsearch_engine.service.past_actions import PastActions
    from memsearch_engine.service.quick import expand as expand_running
    from memsearch_engine.service.quick import search as search_running
    from memsearch_engine.service.quick import transcript as transcript_running
    from memsearch_engine.service.search_client import Searcher
    from memsearch_engine.staleness.finding import Finding as GroundFinding
    from memsearch_engine.staleness.finding import Standing as GroundStanding
    from memsearch_engine.sync.api import Sync
    from memsearch_engine.sync.meeting import SyncState
    from memsearch_engine.sync.run import SyncAnswer
    from memsearch_engine.sync.sharing.api import Sharing
    from memsearch_engine.sync.sharing.copies import Planned as PlannedShare
    from memsearch_engine.sync.sharing.copies import ShareChange, SharedNote
    from memsearch_engine.sync.state import Round as SyncRound


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
