"""Goose (tested with 1.52.0 and 1.37.0). Its sessions are read."""
