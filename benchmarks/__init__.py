"""Figures that anyone can measure again, each beside a peer or a limit in the same run. See the
docstring of each script.
"""
