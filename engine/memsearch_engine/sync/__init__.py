"""Syncs the notes of several machines through a git repository of the owner.

``layout`` describes the repository, ``clone`` moves commits, ``lines`` and ``journal.merge`` merge
files, ``meeting`` decides who takes part, ``run`` does a round, ``state`` stores what a crash must
not lose. The clone is in the home. The owner's own repositories are never touched.
"""
