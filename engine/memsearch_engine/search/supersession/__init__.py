"""Which note supersedes which: find it, list it, correct it, and order hits by it.

``notes`` compares pairs of notes, ``conversations`` pairs of conversations, both with a logistic
model over features of the pair. ``background`` compares all notes of a project while the service
rests and stores what it finds in the catalog; ``overrides`` holds what the owner said, which
outweighs it. ``reorder`` puts newer hits before those that they supersede; ``revisions`` follows a
note to the notes that replace it; ``listing`` and ``contradictions`` list pairs for people.
"""
