"""From a finished turn to an entry: ``hook`` writes an event into the queue, ``event_queue`` processes
it, ``capture_pipeline`` writes the entry.

The hook imports the standard library only and writes no word of the conversation; everything else
happens later, once, in the service or in whatever command runs next.
"""
