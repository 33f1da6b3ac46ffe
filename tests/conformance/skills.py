"""Writes the skills that other programs read from this repository: ``python -m
tests.conformance.skills`` after a skill was changed.

Codex and OpenClaw load a plugin from its folder, so their skills are files of it. Everywhere else
the installer makes the skills from those of Claude Code.
"""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.agents.installing import SKILLS, bundled, skill_text

AGENTS = ("claude-code", "codex", "openclaw")


def files() -> dict[Path, str]:
    """The path of each skill in the repository, and the text that it has to have."""
    return {
        bundled() / agent / "skills" / skill / "SKILL.md": skill_text(skill, agent)
        for agent in AGENTS
        for skill in SKILLS
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
