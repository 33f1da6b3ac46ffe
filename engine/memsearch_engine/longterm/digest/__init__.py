"""Texts made of many notes: asked for by a person, written where notes are, each line with the
notes that it comes from. These rooms know the verbs (``memory``) and models; they know no screen
and no agent.
"""
