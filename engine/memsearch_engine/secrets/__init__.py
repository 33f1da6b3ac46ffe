"""Finds secrets in text and replaces them before anything is written.

``scan.redact`` replaces each secret by ``[REDACTED:rule:fingerprint]``. Equal secrets get equal
fingerprints. The rules are those of betterleaks (if it has a wheel for the platform) and our own
for what it misses. The package is imported only where text is scanned.
"""
