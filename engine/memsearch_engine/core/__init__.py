"""What every other room stands on: paths, settings, errors, safe files, databases, projects,
network. Knows no notes.
"""
