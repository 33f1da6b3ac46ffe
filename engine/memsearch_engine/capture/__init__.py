"""Turns finished turns into entries.

``hook`` writes an event into the queue, ``event_queue`` processes it, and ``capture_pipeline``
writes the entry. The hook imports only the standard library and writes no text of the
conversation. The rest runs later in the service.
"""
