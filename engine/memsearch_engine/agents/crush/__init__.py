"""Crush.

Its sessions in known projects are read (from its source of August 2026; not tested with the
program).
"""
