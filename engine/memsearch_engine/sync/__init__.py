"""One memory on several machines: notes meet in a git repository that the owner has, through a
clone of ours in the home.

``layout`` says what lies there, ``clone`` moves commits, ``lines`` and ``journal.merge`` put files
together, ``meeting`` says who takes part, ``run`` does a whole round, ``state`` keeps what a crash
must not lose. The owner's own repositories are never touched.
"""
