"""What a person decides and looks after, room by room: the verbs beside those of ``Memory``, each
class around one.

A face (the commands, the app, ``memsearch mcp``, a program of yours) has these and ``Memory`` and
nothing deeper. They decide nothing
themselves: they hand a room the home, the settings and the projects that the ``Memory`` is about.
No screen here, and no room knows them.
"""
