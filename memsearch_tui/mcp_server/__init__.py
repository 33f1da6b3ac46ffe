"""Memory for any agent that uses the Model Context Protocol (``memsearch mcp``).

``answers`` turns the results of ``Memory`` into capped, dated and fenced answers. ``server`` offers
them as tools, resources and prompts with the official SDK (the ``mcp`` extra; no other package
imports it). ``memories`` opens the memory of each client's project. ``serve`` runs the server over
stdio or HTTP. The server has no model and no index: it uses the resident service.
"""
