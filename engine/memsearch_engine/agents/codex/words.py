"""What the person sent to Codex, without the texts that the client puts around it."""

from __future__ import annotations

import re
from typing import Any

from memsearch_engine.agents.transcripts.model import (
    ToolCall,
    attached,
    blocks_text,
    table_of,
    text_of,
)
from memsearch_engine.agents.transcripts.tags import without_blocks

#: The text that an IDE or the desktop app puts before a request (``USER_MESSAGE_BEGIN`` in Codex'
#: own source), and the name of an image after it.
_CONTEXT = re.compile(
    r"\s*(?:# (?:Context from my IDE setup|In app browser|Files (?:mentioned|pasted) by the user|"
    r"Browser comments|Diff comments|Selected text|Review findings):|"
    r"## Referenced chats with Codex:|<in-app-browser-context\b)"
)
_REQUEST = re.compile(r"^## My request(?: for Codex)?:", re.M)
_IMAGE_NAME = re.compile(r"<image name=[^>\n]*>\s*</image>\s*\Z")
#: The text that ``/review`` sends in place of the person's words (``review_prompts.rs`` in Codex'
#: own source). It is recorded twice.
_REVIEW = re.compile(
    r"Review the (?:current code changes \(staged, unstaged, and untracked files\) and|"
    r"code changes (?:introduced by (commit \w+)|against the base branch '([^'\n]+)'))"
    r"[^\n]* findings\."
)
_RAN = re.compile(
    r"<user_shell_command>\n<command>\n(.*?)\n</command>"
    r"(?:\n<result>\nExit code: (-?\d+)\n(?:.*\n){0,3}?Output:\n(.*)\n</result>)?",
    re.S,
)
_GOAL = re.compile(
    r"<(?:goal_context|codex_internal_context source=\"goal\")>.*?"
    r"<((?:untrusted_)?objective)>\n(.*?)\n</\1>",
    re.S,
)


def words(payload: Any) -> str:
    """Return what the person sent.

    Args:
        payload: of an event, which may have it in its item.
    """
    item = table_of(payload, "item") or table_of(payload)
    content = item.get("content")
    if text := text_of(item.get("message")) or blocks_text(content, ("text", "Text")):
        return text
    images = [
        image for name in ("images", "local_images") if isinstance(image := item.get(name), list)
    ]
    return attached(content) or " ".join("[image]" for some in images for _ in some)


def order(item: Any) -> tuple[ToolCall | None, str]:
    """Return (the command that the person ran or None, ``/goal`` and the goal or ``""``).

    Args:
        item: a ``response_item``.
    """
    is_user = isinstance(item, dict) and item.get("role") == "user"
    text = blocks_text(item.get("content"), ("input_text", "text")) if is_user else ""
    if ran := _RAN.match(text):
        return ToolCall("shell", ran[1], ran[3] or "", ran[2] not in ("0", None)), ""
    goal = _GOAL.match(text)
    return None, f"/goal {goal[2]}" if goal else ""


def request(text: str) -> str:
    """Return a prompt without the text that the client put around it or sent in its place.

    If the request is empty, the person's comments are in the text before it.
    """
    if review := _REVIEW.fullmatch(text):
        return f"/review {review[1] or review[2] or ''}".rstrip()
    while image := _IMAGE_NAME.search(text, max(0, len(text) - 1000)):
        text = text[: image.start()].rstrip()
    if _CONTEXT.match(text) and (begin := _REQUEST.search(text)):
        before = without_blocks(text[: begin.start()], "in-app-browser-context")
        return text[begin.end() :].strip() or before.strip()
    return text
