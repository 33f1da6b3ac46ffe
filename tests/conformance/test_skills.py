"""The skills that we bring have one text for all agents."""

from __future__ import annotations

import pytest
from memsearch_engine.agents.installing import SKILLS, skill_text
from memsearch_engine.core import agent_registry

from tests.conformance.skills import files


def test_skills_in_the_repository_are_those_that_the_installer_makes():
    changed = [str(path) for path, text in files().items() if path.read_text("utf-8") != text]
    assert not changed, f"python -m tests.conformance.skills writes {', '.join(changed)}"


@pytest.mark.parametrize("skill", SKILLS)
def test_agents_differ_in_the_front_matter_of_a_skill_and_never_in_its_text(skill):
    texts = {agent: skill_text(skill, agent) for agent in agent_registry.live()}
    bodies = {text.partition("\n---\n")[2] for text in texts.values()}
    assert len(bodies) == 1 and len(bodies.pop()) > 100
    assert "\nallowed-tools: Bash(memsearch " in texts["claude-code"]
    for agent in set(texts) - {"claude-code"}:
        head = texts[agent].partition("\n---\n")[0].splitlines()
        assert [line.partition(":")[0] for line in head] == ["---", "name", "description"]
