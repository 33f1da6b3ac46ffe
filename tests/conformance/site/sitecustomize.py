"""Python imports this when it starts: every process of a test knows one agent more, and one less
where a test says so.
"""

import os
import sys
from importlib.abc import MetaPathFinder

from memsearch_engine.core import agent_registry

agent_registry.PACKAGES["pocket"] = "pocket"


class _Gone(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == package or name.startswith(package + "."):
            raise ModuleNotFoundError(f"{name} was removed", name=name)


if removed := os.environ.get("TEST_WITHOUT_AGENT"):
    package = agent_registry.PACKAGES.pop(removed)
    sys.meta_path.insert(0, _Gone())
