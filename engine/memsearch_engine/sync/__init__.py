"""Syncs the notes of several machines through a git repository of the owner.

``layout`` describes the repository, and ``clone`` moves commits. ``snapshot`` reads the versions of
the files, ``file_merge`` and ``journal.merge`` merge them, and ``losses`` stops large deletions.
``meeting`` decides which projects take part, ``run`` does a round, and ``state`` stores what a
crash must not lose. The clone is in the home. The owner's own repositories are never touched.
"""
