"""The review queue and the decisions in it.

It contains quarantined notes, proposals, conflicts, repairs, stale notes and secrets.

Every change is shown before it is made. All changes except a scrub can be undone.
"""
