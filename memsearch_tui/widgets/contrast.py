"""The contrast of text and background: the contrast ratio of WCAG 2.1."""

from __future__ import annotations

from rich.style import Style
from textual.color import Color

#: The minimum ratio for normal text (level AA).
LEAST = 4.5
_STEPS = 10


def _luminance(color: Color) -> float:
    def linear(channel: int) -> float:
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def ratio(one: Color, other: Color) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def legible(style: Style) -> Style:
    """Return *style* with its text moved towards white or black until the contrast is ``LEAST``.

    A terminal's own colours are not changed, because their appearance is unknown.
    """
    if style.color is None or style.bgcolor is None:
        return style
    if style.color.triplet is None or style.bgcolor.triplet is None:
        return style
    text, ground = Color(*style.color.triplet), Color(*style.bgcolor.triplet)
    if ratio(text, ground) >= LEAST:
        return style
    white, black = Color(255, 255, 255), Color(0, 0, 0)
    end = white if ratio(white, ground) >= ratio(black, ground) else black
    for step in range(1, _STEPS + 1):
        moved = text.blend(end, step / _STEPS, alpha=1.0)
        if ratio(moved, ground) >= LEAST:
            break
    return style + Style(color=moved.rich_color)
