"""Cursor.

Sessions of the editor and of its command line are read (from the documented format; not tested with
the program).
"""
