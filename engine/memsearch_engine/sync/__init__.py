"""Sync: notes of several machines meet in a git repository of the owner, through our own clone in
the home.

``layout`` describes the repository, ``clone`` moves commits, ``lines`` and ``journal.merge`` merge
files, ``meeting`` decides who takes part, ``run`` does a round, ``state`` stores what a crash must
not lose. The owner's own repositories are never touched.
"""
