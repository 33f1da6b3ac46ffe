"""A believable year of memories: three projects, four agents, for ``memsearch demo``, screenshots
and the evaluation.

``stories.jsonl`` holds hand-written turns (what was asked, what was done, what came out),
``fillers.json`` the parts of routine days between them, ``chatter.json`` what is said in a long
session without a note coming from it. ``build`` writes them as an agent's capture would have: day
files with anchors, and the transcripts that the anchors lead to.
"""

from memsearch_tui.demo.history import Demo, Story, build, stories

__all__ = ["Demo", "Story", "build", "stories"]
