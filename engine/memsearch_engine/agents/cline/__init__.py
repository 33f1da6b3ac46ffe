"""Cline CLI (tested with 3.0.65). Its sessions are read."""
