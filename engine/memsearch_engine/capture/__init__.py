"""From a finished turn to an entry: ``hook`` takes a payload into the inbox, ``worker`` works the
inbox off.

The hook imports the standard library only and writes no word of the conversation; everything else
happens later, once, in the service or in whatever command runs next.
"""
