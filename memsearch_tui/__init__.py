"""What a person sees: the headless commands (``cli``) and the terminal app (``app``, ``screens``,
``widgets``).

Everything goes through ``memsearch_engine.Memory``; nothing here opens an index or a model.
"""
