"""The base of every other room: paths, settings, errors, safe files, databases, projects, network.

It knows nothing about notes.
"""
