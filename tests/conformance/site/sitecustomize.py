"""Python imports this when it starts: every process of a test knows one agent more, and one less
where a test says so.
"""

import os
import sys
from importlib.abc import MetaPathFinder

import memsearch_engine.agents
from memsearch_engine.core import agent_registry
from pocket import AGENT

memsearch_engine.agents.__path__.append(os.path.dirname(__file__))
agent_registry.AGENTS[AGENT.name] = AGENT


class _Gone(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == package or name.startswith(package + "."):
            raise ModuleNotFoundError(f"{name} was removed", name=name)


if removed := os.environ.get("TEST_WITHOUT_AGENT"):
    del agent_registry.AGENTS[removed]
    package = f"memsearch_engine.agents.{removed.replace('-', '_')}"
    sys.meta_path.insert(0, _Gone())
