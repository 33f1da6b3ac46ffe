"""The coding agents: a package each (what it is, how its sessions are read, how ours is put into
it, how its model is asked), the
registry that lists them, and what works on all of them: installing and finding them.
"""
