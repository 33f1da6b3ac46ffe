"""The resident process: one per home folder. It owns the index, the model and the background work.

``protocol`` defines the messages, ``indexing`` reads, embeds and watches, ``engine`` answers
requests, and ``server`` listens. ``connection`` and ``launch`` are the client side. The process
exits when it is idle or when its home is deleted. It can be killed at any moment without loss.
"""
