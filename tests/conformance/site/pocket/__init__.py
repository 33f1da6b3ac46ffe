"""An agent that nobody has: one folder, and its line in ``sitecustomize``."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="pocket",
    title="Pocket",
    tag="po",
    program="pocket",
    resume=("pocket", "go-on", "{session}"),
    home_variable="POCKET_HOME",
    home=".pocket",
    sessions="chats",
    writes=".chat",
    context_lines=7,
)
