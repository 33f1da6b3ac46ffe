"""Long-term memory: what is true, kept from what happened.

Phase 1 (``extract``) reads each session once it is quiet and notes what is worth keeping. Phase 2
(``consolidate``) weighs those notes, under one lock, into two short documents; ``review`` lets the
owner decide what of that takes effect; ``recall`` tells it to new sessions. What is used stays,
what is not is forgotten.

It knows nothing of screens, and nothing leaves the machine unless ``longterm.enabled`` and a model
are set.
"""
