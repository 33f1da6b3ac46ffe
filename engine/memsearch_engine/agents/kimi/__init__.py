"""Kimi Code (tested with 2.1.0). Its sessions are read."""
