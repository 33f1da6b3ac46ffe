"""The review queue and the decisions in it: quarantined notes, proposals, conflicts, repairs, stale
notes, secrets.

Every change is shown before it is made. All changes except a scrub can be undone.
"""
