"""Memory for any agent that speaks the Model Context Protocol (``memsearch mcp``).

A thin face: ``answers`` makes of what ``Memory`` gives what a model may be handed, capped, dated
and fenced; ``server`` offers it as tools, resources and prompts by the official SDK (the ``mcp``
extra; nothing else imports it); ``serve`` runs that over stdio or HTTP.
It holds no model and no index: the resident service does.
"""
