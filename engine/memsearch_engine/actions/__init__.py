"""The actions of agents: changed files, and commands with their results.

``work`` extracts actions from a tool call and ``index`` stores them. ``answers`` finds how
something is run, what fixed an error and who changed a file. This package works on turns and does
not depend on an agent's format. The ``injection`` package decides what is injected into sessions.
"""
