"""Long-term memory: lasting facts that a model extracts from sessions and the owner reviews.

Phase 1 (``extract``) reads each session after it has become quiet and stores what it taught. Phase
2 (``consolidate``) turns these session memories into two short documents, under one lock.
``review`` lets the owner decide which proposed changes take effect. ``injected`` selects the part
that is injected into new sessions. Memories that nobody uses are forgotten after a time.

The package imports no screen. Nothing leaves the machine unless ``longterm.enabled`` and a model
are set.
"""
