"""What agents did: the files that they touched, the commands that they ran and how those ended.

``work`` reads it out of a tool call, ``index`` keeps it, ``answers`` says how something is done,
what mended an error and who touched a file. It knows turns and no agents; what of it is told
unasked, and to whom, is ``recall``'s.
"""
