"""The supported coding agents, one package each.

A package describes its agent, reads its sessions, installs our hooks and skills, and may ask its
model. The modules beside the packages work on all agents: they install, and they find files.
"""
