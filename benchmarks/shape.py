"""The shape of the code: `python benchmarks/shape.py [FOLDER …]`.

Prints one column for each folder of Python sources (by default this project's product), counted by
``ast``: statements, files, rooms, circles of imports, the largest class, file and function, names
of classes that are used twice, long lines, and public docstrings.
"""

from __future__ import annotations

import argparse
import ast
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = [ROOT / "engine" / "memsearch_engine", ROOT / "memsearch_tui"]
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_WIDTH = 100


def measure(folders: list[Path]) -> dict[str, str]:
    """Measure all Python files below *folders*. Returns label -> value."""
    trees: dict[str, ast.Module] = {}
    lines: dict[str, list[str]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts))
            text = path.read_text(encoding="utf-8")
            trees[name.removesuffix(".__init__")] = ast.parse(text)
            lines[name.removesuffix(".__init__")] = text.splitlines()
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    functions = [(name, node) for name, node in nodes if isinstance(node, _FUNCTION)]
    sizes = [node.end_lineno - node.lineno + 1 for _, node in functions if node.end_lineno]
    classes = [(name, node) for name, node in nodes if isinstance(node, ast.ClassDef)]
    methods = {
        f"{name}.{node.name}": sum(isinstance(one, _FUNCTION) for one in node.body)
        for name, node in classes
    }
    # an agent's package may repeat `Reader` and `Installer`
    named = Counter(node.name for name, node in classes if ".agents." not in name)
    public, documented = _docstrings(trees)
    largest_class = max(methods, key=lambda name: methods[name])
    largest_file = max(lines, key=lambda name: len(lines[name]))
    return {
        "statements": f"{sum(isinstance(node, ast.stmt) for _, node in nodes):,}",
        "files": str(len(trees)),
        "rooms of the engine": str(len(_rooms(trees))),
        "circles of files": str(len(_circles(_imports(trees)))),
        "largest class": f"{methods[largest_class]} methods ({largest_class})",
        "classes over 35 methods": str(sum(count > 35 for count in methods.values())),
        "largest file": f"{len(lines[largest_file])} lines ({largest_file})",
        "files over 600 lines": str(sum(len(text) > 600 for text in lines.values())),
        "function: median, 90th percentile, over 50 lines": (
            f"{statistics.median(sizes):.0f}, {statistics.quantiles(sizes, n=10)[8]:.0f}, "
            f"{sum(size > 50 for size in sizes)}"
        ),
        "class names used twice": ", ".join(k for k, n in named.items() if n > 1) or "none",
        f"lines over {_WIDTH}": str(
            sum(len(line) > _WIDTH for text in lines.values() for line in text)
        ),
        "public docstrings": f"{documented} of {public} ({documented / max(public, 1):.0%})",
    }


def _rooms(trees: dict[str, ast.Module]) -> set[str]:
    """Packages right below the engine."""
    parts = [name.split(".") for name in trees]
    return {one[1] for one in parts if one[0] == "memsearch_engine" and len(one) > 2}


def _docstrings(trees: dict[str, ast.Module]) -> tuple[int, int]:
    """(public modules, classes and functions, those of them with a docstring)."""
    public = documented = 0
    for tree in trees.values():
        for node in _public(tree):
            public += 1
            documented += ast.get_docstring(node) is not None
    return public, documented


def _public(node: ast.AST) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    if isinstance(node, ast.Module):
        yield node
    for one in getattr(node, "body", []):
        if isinstance(one, (ast.ClassDef, *_FUNCTION)) and not one.name.startswith("_"):
            yield one  # type: ignore[misc]
            if isinstance(one, ast.ClassDef):
                yield from _public(one)


def _imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Module -> modules of the same sources that it imports at its top level."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found[name].add(whole if whole in trees else node.module)
            elif isinstance(node, ast.Import):
                found[name].update(alias.name for alias in node.names)
    return {name: {one for one in of if one in trees and one != name} for name, of in found.items()}


def _circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in imports.get(name, ()):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            circle = []
            while True:
                circle.append(stack.pop())
                if circle[-1] == name:
                    break
            if len(circle) > 1:
                found.append(circle)

    for name in imports:
        if name not in index:
            visit(name)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="other sources, one column each")
    columns = [("this project", measure(PRODUCT))]
    columns += [(folder.name, measure([folder])) for folder in parser.parse_args().folders]
    print("| | " + " | ".join(name for name, _ in columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for label in columns[0][1]:
        print(f"| {label} | " + " | ".join(values[label] for _, values in columns) + " |")


if __name__ == "__main__":
    main()
