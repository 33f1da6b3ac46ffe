"""The resident process: one per home folder, owner of the index, the model and the background work.

``protocol`` is what goes over the socket, ``indexing`` reads, embeds and watches, ``engine``
answers, ``server`` listens. ``connection`` and ``launch`` are its clients' side. It exits when
idle, when its home vanishes, and may be killed at any moment with nothing lost.
"""
