"""The user interfaces: the command line (``cli``), the terminal app (``app``, ``screens``,
``widgets``) and the MCP server.

They use ``memsearch_engine`` for everything; no module here opens an index or a model.
"""
