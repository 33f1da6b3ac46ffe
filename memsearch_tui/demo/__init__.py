"""A sample year of notes: three projects and four agents, for ``memsearch demo``, screenshots and
the evaluation.

``stories.jsonl`` has hand-written turns (prompt, actions, outcome). ``fillers.json`` has the parts
of routine days between them. ``chatter.json`` has the turns of long sessions that lead to no note.
``build`` writes them as the agents' capture would: day files with anchors, and the transcripts that
the anchors point to.
"""
