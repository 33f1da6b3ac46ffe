"""The parts of a text that people copy alone: code blocks, code within a line, links."""

from __future__ import annotations

import msgspec

from memsearch_tui.widgets.render import code_blocks, links, spans_of_code


class Extract(msgspec.Struct, frozen=True):
    """A part of a text. ``kind`` names it for people."""

    kind: str
    text: str

    @property
    def title(self) -> str:
        """The text in one line."""
        lines = self.text.strip().split("\n")
        return lines[0] + (f" … {len(lines)} lines" if len(lines) > 1 else "")


def extracts(text: str) -> list[Extract]:
    """Return the parts of a markdown text, each once: blocks, then links, then code in lines."""
    found = [Extract("block", block) for block in code_blocks(text)]
    found += [Extract("link", address) for address in links(text)]
    found += [Extract("code", code) for code in spans_of_code(text)]
    return list({one.text: one for one in reversed(found) if one.text.strip()}.values())[::-1]
