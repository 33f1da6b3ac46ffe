"""Memory that can be trusted: what came from outside and waits for a word, what is junk or said
twice, and taking a secret out of every place that holds it. Everything here is shown before it is
done, and all but a scrub can be undone.
"""
