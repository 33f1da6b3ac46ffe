"""Kilo CLI (tested with 7.7.7). Its sessions are read."""
