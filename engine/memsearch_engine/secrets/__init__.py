"""Keeping secrets out of everything that is written.

``scan.redact`` replaces what it finds by ``[REDACTED:rule:fingerprint]``; equal secrets get equal
fingerprints. The rules are betterleaks' (where it has a wheel) and a few of ours for what it
misses. Loaded only where scanning happens.
"""
