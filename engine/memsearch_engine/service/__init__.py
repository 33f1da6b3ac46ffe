"""The resident process: one per home folder, owner of the index, the model and the background work.

``protocol`` is what goes over the socket, ``engine`` does the work, ``server`` listens, ``lifecycle`` starts and stops.
It exits when idle, when its home vanishes, and may be killed at any moment with nothing lost.
"""
