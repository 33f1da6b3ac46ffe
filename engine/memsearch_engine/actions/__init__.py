"""What agents did: the files that they changed, the commands that they ran and how those ended.

``work`` extracts it from a tool call, ``index`` stores it, and ``answers`` says how something is
run, what fixed an error and who changed a file. This room knows turns and no agents. What is
injected into sessions, and when, is decided by ``injection``.
"""
