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

__version__ = "0.5.0"

__all__ = [
    "FILTERS",
    "FILTER_KEYS",
    "FLAGS",
    "KINDS",
    "LONGTERM_KINDS",
    "REVIEW_GROUPS",
    "STOP_WORDS",
    "Absence",
    "Agent",
    "AgentAction",
    "AgentFile",
    "AgentFileSection",
    "AgentFiles",
    "Anchor",
    "Answer",
    "Capture",
    "CaptureStatus",
    "Change",
    "CommandRuns",
    "Compact",
    "Configuration",
    "Conflict",
    "Conflicts",
    "Context",
    "Contradiction",
    "Coverage",
    "DayCoverage",
    "DayFile",
    "Decision",
    "Digest",
    "DigestRequest",
    "Document",
    "Entry",
    "Evidence",
    "Excerpt",
    "Fact",
    "Failure",
    "Files",
    "Fix",
    "FoundAgent",
    "Health",
    "Hit",
    "Home",
    "Hunk",
    "Import",
    "ImportPlan",
    "ImportReport",
    "IndexResult",
    "IndexStatus",
    "InjectionRecord",
    "Injections",
    "LongTerm",
    "LongTermStatus",
    "Match",
    "McpClients",
    "Memory",
    "MemsearchError",
    "MissedTurn",
    "Models",
    "NotFound",
    "Note",
    "NoteStaleness",
    "NotesAsOf",
    "PageState",
    "Pages",
    "PastActions",
    "Patch",
    "PlannedShare",
    "Plugins",
    "Project",
    "PromptInjection",
    "Proposal",
    "Provider",
    "QuarantineReason",
    "QuarantinedNote",
    "QueueReport",
    "ReferenceState",
    "Repair",
    "RepairCandidate",
    "ReviewItem",
    "ReviewQueue",
    "Revision",
    "Row",
    "SearchRequest",
    "Searcher",
    "Secrets",
    "Section",
    "Service",
    "ServiceStatus",
    "SessionHits",
    "SessionMemory",
    "SessionMemoryUsage",
    "Settings",
    "SettingsError",
    "ShareChange",
    "SharedNote",
    "Sharing",
    "SkillCandidate",
    "SkillTask",
    "Skills",
    "Spent",
    "Stale",
    "Staleness",
    "Summarize",
    "Supersession",
    "Supersessions",
    "Sync",
    "SyncAnswer",
    "SyncRound",
    "SyncState",
    "Target",
    "Task",
    "TextConflict",
    "ToolCall",
    "Transcripts",
    "Trash",
    "Trust",
    "Turn",
    "TurnOutcome",
    "Unreachable",
    "Update",
    "UpdateKind",
    "UsageError",
    "__version__",
    "agent_file_path",
    "agent_file_titles",
    "agent_named",
    "agent_names",
    "agents_live",
    "all_agents",
    "answer_view",
    "count_entries",
    "date_in_words",
    "estimate_tokens",
    "expand_running",
    "fenced",
    "files_named",
    "hit_view",
    "hook",
    "install_command",
    "is_replaced",
    "note_view",
    "outcomes_in",
    "parse_date",
    "parse_query",
    "plain",
    "reading_once",
    "redact",
    "search_running",
    "shared_author",
    "shown",
    "shown_line",
    "transcript_running",
]

#: Name -> module, and the name there where it is another one. Each is imported when it is first
#: asked for: a hook and ``--help`` need none of them.
_PUBLIC = {
    "Absence": "search.explain",
    "Agent": "core.agent_registry",
    "agent_file_path": "agents.agent_files:short",
    "agent_file_titles": "agents.agent_files:titles",
    "agent_named": "core.agent_registry:agent",
    "agent_names": "core.agent_registry:names",
    "AgentAction": "actions.index",
    "AgentFile": "agents.agent_files",
    "AgentFiles": "review.agent_files",
    "AgentFileSection": "agents.agent_files",
    "agents_live": "core.agent_registry:live",
    "all_agents": "core.agent_registry:everyone",
    "Anchor": "journal.model",
    "Answer": "search.hits",
    "answer_view": "search.views",
    "Capture": "service.api",
    "CaptureStatus": "service.answers",
    "Change": "journal.history",
    "CommandRuns": "actions.answers",
    "Compact": "longterm.digest.compact",
    "Configuration": "service.configuration",
    "Conflict": "core.errors",
    "Conflicts": "review.conflicts",
    "Context": "injection.session_start",
    "Contradiction": "search.supersession.contradictions",
    "count_entries": "journal.files",
    "Coverage": "capture.coverage",
    "DayCoverage": "capture.coverage",
    "DayFile": "journal.files",
    "Decision": "review.item",
    "Digest": "longterm.digest.compact",
    "DigestRequest": "longterm.digest.compact",
    "Document": "journal.model",
    "Entry": "journal.model",
    "estimate_tokens": "core.llm.reply:estimate",
    "Evidence": "capture.retention",
    "Excerpt": "agents.transcripts.locate",
    "expand_running": "service.quick:expand",
    "Fact": "longterm.facts",
    "Failure": "index.rows",
    "fenced": "injection.session_start",
    "Files": "search.files",
    "files_named": "injection.notes:changed_files",
    "FILTERS": "search.request",
    "FILTER_KEYS": "search.request",
    "Fix": "actions.answers",
    "FLAGS": "search.request:IS",
    "FoundAgent": "capture.discover",
    "Health": "service.answers",
    "Hit": "search.hits",
    "hit_view": "search.views",
    "is_replaced": "core.wire",
    "Home": "core.home",
    "hook": "capture.hook:main",
    "Hunk": "longterm.changes",
    "Import": "capture.importing",
    "ImportPlan": "capture.backfill",
    "ImportReport": "capture.backfill",
    "IndexResult": "index.rows",
    "IndexStatus": "service.answers",
    "InjectionRecord": "injection.injection_log",
    "Injections": "injection.api",
    "install_command": "core.installation",
    "KINDS": "search.request",
    "LongTerm": "longterm.api",
    "LONGTERM_KINDS": "index.rows",
    "LongTermStatus": "longterm.pipeline",
    "Match": "longterm.forgetting",
    "McpClients": "capture.plugins",
    "Memory": "memory",
    "MemsearchError": "core.errors",
    "MissedTurn": "capture.ledger",
    "Models": "service.configuration",
    "Note": "journal.note",
    "note_view": "search.views",
    "NotesAsOf": "search.as_of",
    "NoteStaleness": "staleness.finding",
    "NotFound": "core.errors",
    "outcomes_in": "injection.notes:outcome_lines",
    "Pages": "longterm.pages_api",
    "PageState": "longterm.pages",
    "date_in_words": "search.dates",
    "parse_date": "search.dates",
    "parse_query": "search.request:parse",
    "PastActions": "service.past_actions",
    "Patch": "agents.patches",
    "plain": "core.safe_text",
    "PlannedShare": "sync.sharing.copies:Planned",
    "Plugins": "capture.plugins",
    "Project": "core.projects",
    "PromptInjection": "injection.prompt",
    "Proposal": "longterm.review",
    "Provider": "core.settings",
    "QuarantinedNote": "review.trust",
    "QuarantineReason": "journal.model",
    "QueueReport": "service.answers",
    "reading_once": "search.scope",
    "redact": "secrets.scan",
    "ReferenceState": "staleness.finding",
    "Repair": "review.repair",
    "RepairCandidate": "review.repair",
    "REVIEW_GROUPS": "review.queue:GROUPS",
    "ReviewItem": "review.item",
    "ReviewQueue": "review.queue",
    "Revision": "search.supersession.revisions",
    "Row": "index.rows",
    "search_running": "service.quick:search",
    "Searcher": "service.search_client",
    "SearchRequest": "search.request",
    "Secrets": "review.secrets",
    "Section": "search.sections",
    "Service": "service.api",
    "ServiceStatus": "service.answers",
    "SessionHits": "search.hits",
    "SessionMemory": "longterm.store",
    "SessionMemoryUsage": "longterm.store",
    "Settings": "core.settings",
    "SettingsError": "core.errors",
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
    "Staleness": "review.staleness",
    "STOP_WORDS": "index.analyze",
    "Summarize": "core.settings",
    "Supersession": "search.supersession.listing",
    "Supersessions": "injection.api",
    "Sync": "sync.api",
    "SyncAnswer": "sync.run",
    "SyncRound": "sync.state:Round",
    "SyncState": "sync.meeting",
    "Target": "journal.write",
    "Task": "core.settings",
    "TextConflict": "review.conflicts",
    "ToolCall": "agents.transcripts.model",
    "transcript_running": "service.quick:transcript",
    "Transcripts": "capture.transcripts",
    "Trash": "longterm.forgetting",
    "Trust": "review.trust",
    "Turn": "agents.transcripts.model",
    "TurnOutcome": "capture.ledger",
    "Unreachable": "core.errors",
    "Update": "service.changes",
    "UpdateKind": "service.changes",
    "UsageError": "core.errors",
}

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from typing import Any

    from memsearch_engine.actions.answers import CommandRuns, Fix
    from memsearch_engine.actions.index import AgentAction
    from memsearch_engine.agents.agent_files import AgentFile, AgentFileSection
    from memsearch_engine.agents.agent_files import short as agent_file_path
    from memsearch_engine.agents.agent_files import titles as agent_file_titles
    from memsearch_engine.agents.patches import Patch
    from memsearch_engine.agents.transcripts.locate import Excerpt
    from memsearch_engine.agents.transcripts.model import ToolCall, Turn
    from memsearch_engine.capture.backfill import ImportPlan, ImportReport
    from memsearch_engine.capture.coverage import Coverage, DayCoverage
    from memsearch_engine.capture.discover import FoundAgent
    from memsearch_engine.capture.hook import main as hook
    from memsearch_engine.capture.importing import Import
    from memsearch_engine.capture.ledger import MissedTurn, TurnOutcome
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
    from memsearch_engine.core.llm.reply import estimate as estimate_tokens
    from memsearch_engine.core.llm.spend import Spent
    from memsearch_engine.core.project_location import author_of as shared_author
    from memsearch_engine.core.projects import Project
    from memsearch_engine.core.safe_text import plain, shown, shown_line
    from memsearch_engine.core.settings import Provider, Settings, SkillTask, Summarize, Task
    from memsearch_engine.core.wire import is_replaced
    from memsearch_engine.index.analyze import STOP_WORDS
    from memsearch_engine.index.catalog import Stale
    from memsearch_engine.index.rows import LONGTERM_KINDS, Failure, IndexResult, Row
    from memsearch_engine.injection.api import Injections, Supersessions
    from memsearch_engine.injection.injection_log import InjectionRecord
    from memsearch_engine.injection.notes import changed_files as files_named
    from memsearch_engine.injection.notes import outcome_lines as outcomes_in
    from memsearch_engine.injection.prompt import PromptInjection
    from memsearch_engine.injection.session_start import Context, fenced
    from memsearch_engine.journal.files import DayFile, count_entries
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.model import Anchor, Document, Entry, QuarantineReason
    from memsearch_engine.journal.note import Note
    from memsearch_engine.journal.targets import Target
    from memsearch_engine.longterm.api import LongTerm
    from memsearch_engine.longterm.changes import Hunk
    from memsearch_engine.longterm.digest.compact import Compact, Digest, DigestRequest
    from memsearch_engine.longterm.facts import Fact
    from memsearch_engine.longterm.forgetting import Match, Trash
    from memsearch_engine.longterm.pages import PageState
    from memsearch_engine.longterm.pages_api import Pages
    from memsearch_engine.longterm.pipeline import LongTermStatus
    from memsearch_engine.longterm.review import Proposal
    from memsearch_engine.longterm.skills import Candidate as SkillCandidate
    from memsearch_engine.longterm.skills_api import Skills
    from memsearch_engine.longterm.store import SessionMemory, SessionMemoryUsage
    from memsearch_engine.memory import Memory
    from memsearch_engine.review.agent_files import AgentFiles
    from memsearch_engine.review.conflicts import Conflicts, TextConflict
    from memsearch_engine.review.item import Decision, ReviewItem
    from memsearch_engine.review.queue import GROUPS as REVIEW_GROUPS
    from memsearch_engine.review.queue import ReviewQueue
    from memsearch_engine.review.repair import Repair, RepairCandidate
    from memsearch_engine.review.secrets import Secrets
    from memsearch_engine.review.staleness import Staleness
    from memsearch_engine.review.trust import QuarantinedNote, Trust
    from memsearch_engine.search.as_of import NotesAsOf
    from memsearch_engine.search.dates import date_in_words, parse_date
    from memsearch_engine.search.explain import Absence
    from memsearch_engine.search.files import Files
    from memsearch_engine.search.hits import Answer, Hit, SessionHits
    from memsearch_engine.search.request import FILTER_KEYS, FILTERS, KINDS, SearchRequest
    from memsearch_engine.search.request import IS as FLAGS
    from memsearch_engine.search.request import parse as parse_query
    from memsearch_engine.search.scope import reading_once
    from memsearch_engine.search.sections import Section
    from memsearch_engine.search.supersession.contradictions import Contradiction
    from memsearch_engine.search.supersession.listing import Supersession
    from memsearch_engine.search.supersession.revisions import Revision
    from memsearch_engine.search.views import answer_view, hit_view, note_view
    from memsearch_engine.secrets.scan import redact
    from memsearch_engine.service.answers import (
        CaptureStatus,
        Health,
        IndexStatus,
        QueueReport,
        ServiceStatus,
    )
    from memsearch_engine.service.api import Capture, Service
    from memsearch_engine.service.changes import Update, UpdateKind
    from memsearch_engine.service.configuration import Configuration, Models
    from memsearch_engine.service.past_actions import PastActions
    from memsearch_engine.service.quick import expand as expand_running
    from memsearch_engine.service.quick import search as search_running
    from memsearch_engine.service.quick import transcript as transcript_running
    from memsearch_engine.service.search_client import Searcher
    from memsearch_engine.staleness.finding import NoteStaleness, ReferenceState
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
