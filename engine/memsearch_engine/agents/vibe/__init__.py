"""Mistral Vibe (tested with 2.16 and 3.0.2). Its sessions are read."""
