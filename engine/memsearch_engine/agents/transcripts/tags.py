"""Tagged blocks that clients put around and into a prompt or an output."""

from __future__ import annotations

import re

#: Clients put blocks of their own around and into a prompt. Their tags have a hyphen, an underscore
#: or a colon; the HTML that people type has not.
_TAG = re.compile(
    r"(?P<first>^[ \t]*)?<(?P<ends>/?)(?P<name>[a-z][a-z0-9]*[-_:][a-z0-9_:-]{1,40})(?:\s[^<>]*)?>"
    r"(?P<last>[ \t]*$)?",
    re.M,
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.S)


def split_after_last(text: str, end_tag: str) -> tuple[str, str]:
    """Return *text* up to and with the last *end_tag*, and the rest.

    A pattern from a tag to its end tag takes quadratic time where many tags are not closed. In the
    first part, each tag is closed.
    """
    before, found, rest = text.rpartition(end_tag)
    return before + found, rest


def without_blocks(text: str, tags: str) -> str:
    """Return a prompt without the tagged blocks that its client put before and after it.

    Args:
        tags: regular expression of the tags' names.
    """
    block = re.compile(rf"\s*<({tags})(?:\s[^<>]*)?>(?:(?!</?\1[\s>]).)*+</\1>\s*", re.S)
    last = re.compile(rf"</({tags})>\s*\Z")
    while added := block.match(text):
        text = text[added.end() :]
    while (end := last.search(text, max(0, len(text) - 200))) and (
        begin := text.rfind(f"<{end[1]}")
    ) >= 0:
        text = text[:begin].rstrip()
    return text


def unknown_tag(prompt: str) -> str:
    """Return a kind for ``Conversation.unknown`` if a prompt contains an unknown tagged block.

    The person may not have written such a block. A block begins or ends a line; code has none.
    Returns ``""`` for other prompts.
    """
    begins_line: dict[str, bool] = {}
    for tag in _TAG.finditer(_CODE.sub("", prompt)):
        name, is_first = tag["name"], tag["first"] is not None
        if not tag["ends"]:
            begins_line[name] = begins_line.get(name, False) or is_first
        elif begins_line.get(name, False) or (name in begins_line and tag["last"] is not None):
            return f"(prompt with <{name}>)"
    return ""


def count_unknown_tag(unknown: dict[str, int], prompt: str) -> None:
    """Count the unknown tagged block in *prompt*, if there is one."""
    if tag := unknown_tag(prompt):
        unknown[tag] = unknown.get(tag, 0) + 1
