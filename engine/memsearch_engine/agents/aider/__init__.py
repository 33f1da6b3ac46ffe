"""Aider (tested with 0.86.2). Its chat histories in known projects are read."""
