"""Supersession: find, list and correct which note supersedes which, and order hits by it.

``notes`` scores pairs of notes and ``conversations`` pairs of conversations, both with a logistic
model over features of the pair. ``background`` compares all notes of a project while the service
is idle and stores the result in the catalog. ``overrides`` stores the owner's decisions, which
outweigh the models. ``reorder`` moves newer hits before the hits that they supersede. ``revisions``
follows a note to the notes that replace it. ``listing`` and ``contradictions`` list pairs for
people.
"""
