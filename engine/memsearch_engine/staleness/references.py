"""Finds names in a note: files, symbols, settings, commands, commits, branches.

This only reads text; ``check`` finds out whether they ever existed. A false candidate does no harm,
since nothing is claimed about names that the history never had. Names in a sentence that itself
reports a removal or move are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsearch_engine.staleness.finding import Reference

_MOST = 40  # names of one note
_MAX_TEXT = 20_000  # characters
_CODE = re.compile(r"`([^`\n]{2,200})`")
_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.S)
_SENTENCE = re.compile(r"\n|(?<=[.;!?])\s+")
#: Words of a sentence that itself reports a removal, a move or a change.
_TELLS = re.compile(
    r"\b(?:remov\w+|delet\w+|drop(?:s|ped|ping)?|gone|renam\w+|mov(?:e|ed|"
    r"es|ing)|replac\w+|retir\w+|no longer|used to|instead of|rather than"
    r"|previously|formerly|former|obsolete|deprecat\w+|split|merg\w+ into|"
    r"folded into|inlin\w+|extract\w+|g[eo]t rid|kill(?:ed|s)?|becomes?|became"
    r"|from now on|clean(?:ed|s)? up|goes from|revert\w*|supersed\w*|git (?:rm|mv)|"
    r"rm|mv|entfern\w+|gelöscht|umbenannt|verschoben|ersetzt|elimin\w+"
    r"|supprim\w+|renomm\w+|déplac\w+)\b|删除|移除|重命名|移动|替换",
    re.IGNORECASE,
)
_SUFFIX = (
    "py|pyi|ipynb|js|jsx|mjs|cjs|ts|tsx|vue|svelte|go|rs|java|kt|kts|scala|"
    "clj|c|h|cc|cpp|cxx|hpp|hh|m|mm|swift|cs|fs|rb|php|pl|lua|r|jl|ex|exs|erl"
    "|hs|ml|dart|zig|nim|sh|bash|zsh|fish|ps1|bat|sql|graphql|gql|proto|"
    "thrift|toml|yaml|yml|json|jsonc|json5|ini|cfg|conf|env|xml|html|css|scss"
    "|sass|less|md|mdx|rst|txt|adoc|tf|hcl|nix|gradle|cmake|mk|lock|csv|tsv|j2|tmpl|tcss"
)
# a part of a path; all repetitions are bounded, because notes may contain any text
_PART = r"[\w@+.-]{1,120}"
_BEFORE, _AFTER = r"(?<![\w/.@:~\\=?&%${}+-])", r"(?![\w/\\=-]|\.\w)"
_PATH = re.compile(
    rf"{_BEFORE}(?P<path>(?:\.{{0,2}}/)?(?:{_PART}/)"
    rf"{{0,40}}(?:[\w@+-][\w@+.-]{{0,120}}\.(?:{_SUFFIX})"
    r"|(?:Makefile|Dockerfile|Justfile|justfile)(?:\.\w+)?)|"
    rf"(?:{_PART}/){{1,40}}\.[A-Za-z][\w-]+){_AFTER}"
    rf"|{_BEFORE}(?P<folder>(?:\.{{0,2}}/)?(?:{_PART}/){{1,40}})(?![\w*.\\=])",
)
_HALF = re.compile(r"/[^\s/`.]+ $")  # the beginning of a path with a space; the rest follows
_URL = re.compile(r"\b\w+://\S+")
_NAME = r"[A-Za-z_$][\w$]*"
_QUALIFIED = re.compile(rf"(?:{_NAME}(?:\.|::|#|->))*({_NAME})(\(.{{0,60}}\))?")
_IN_PROSE = re.compile(
    r"(?<![\w/.@:$-])([a-z_][a-z0-9]*_[a-z0-9_]+|[A-Z][A-Z0-9]*_[A-Z0-9_]+|"
    r"[A-Za-z][a-z0-9]+(?:[A-Z]+[a-z0-9]+)+)(?:\(\))?(?![\w/-]|\.\w)"
)
_UPPER = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_ASSIGNED = re.compile(r"([A-Za-z_][\w.-]{2,60})\s*(?:=|:(?!:))\s*\S.*")
_COMMAND = re.compile(
    r"(?:make|just)(?:\s+-\S+)*\s+[\w.:/-]+|(?:npm|yarn|pnpm|"
    r"bun)\s+(?:run\s+|test\b)[\w.:/-]*|python3?\s+-m\s+[\w.]+.*"
    r"|(?:pytest|python3?|node|deno|bun|ruby|(?:uv|poetry)\s+run)\s+\S+.*|"
    r"(?:bash|sh|zsh)\s+\S+\.sh.*|\./\S+.*"
)
_COMMIT = re.compile(r"(?<![\w/.#-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}(?![\w/-])")
_COMMIT_WORDS = re.compile(
    r"\b(?:commit|sha|rev|revision|cherry|bisect|revert|fixup|merge)", re.IGNORECASE
)
_BRANCH = re.compile(
    r"\bbranch\s+`([\w./+-]{2,80})`|`([\w./+-]{2,80})`\s+branch\b|"
    r"\bbranch\s+([\w.+-]+/[\w./+-]{1,80})",
    re.IGNORECASE,
)


def find(text: str) -> list[Reference]:
    """References in a text, each once, in order; of a very long text only its beginning."""
    found: dict[Reference, None] = {}
    for sentence in _SENTENCE.split(_COMMENT.sub(" ", text[:_MAX_TEXT])):
        if _TELLS.search(_without_names(sentence)):
            continue
        for reference in _in(sentence):
            found.setdefault(reference)
            if len(found) == _MOST:
                return list(found)
    return list(found)


def replaced(text: str, name: str, to: str) -> str:
    """Replace a path in *text* where ``find`` finds it, but not in addresses or longer paths."""
    named = re.compile(rf"{_BEFORE}(?:\./)?{re.escape(name)}{'' if name.endswith('/') else _AFTER}")

    def put(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - 200) : match.start()]
        return match[0] if _HALF.search(before) or re.search(r"\b\w+://\S*$", before) else to

    return named.sub(put, text)


def _without_names(sentence: str) -> str:
    """*sentence* without paths and code: ``move_to`` reports no move; ``git mv a b`` does."""
    return _PATH.sub(" ", _CODE.sub(lambda span: span[1] if " " in span[1] else " ", sentence))


def _in(sentence: str) -> Iterator[Reference]:
    named_commits = bool(_COMMIT_WORDS.search(sentence))
    for match in _BRANCH.finditer(sentence):
        yield Reference("branch", next(filter(None, match.groups())))
    for span in _CODE.finditer(sentence):
        yield from _in_code(span[1].strip(), named_commits)
    prose = _URL.sub(" ", _CODE.sub(" ", sentence))
    # Node.js and Vue.js are no files
    yield from (p for p in _paths(prose) if "/" in p.name or not p.name.endswith(".js"))
    for match in _IN_PROSE.finditer(prose):
        yield Reference("setting" if _UPPER.fullmatch(match[1]) else "symbol", match[1])
    if named_commits:
        yield from (Reference("commit", match[0]) for match in _COMMIT.finditer(prose))


def _in_code(code: str, named_commits: bool) -> Iterator[Reference]:
    if _URL.search(code):
        return
    if _COMMAND.fullmatch(code):
        yield Reference("command", " ".join(code.split()))
        return
    if _COMMIT.fullmatch(code) and (named_commits or len(code) in (7, 8, 40)):
        yield Reference("commit", code)
        return
    # no part of a name with a space counts, such as "my runner.py" or "src/my runner.py"
    paths = [path for path in _paths(code) if " " not in code or "/" in path.name]
    if paths:
        yield from paths
        return
    if match := _ASSIGNED.fullmatch(code):
        name = match[1].rpartition(".")[2]
        if _is_specific(name):
            yield Reference("setting", name)
        return
    if (match := _QUALIFIED.fullmatch(code)) and _is_specific(match[1]):
        yield Reference("setting" if _UPPER.fullmatch(match[1]) else "symbol", match[1])


def _is_specific(name: str) -> bool:
    """Whether a word can only be a name: it has an underscore or an inner capital."""
    return len(name) >= 4 and ("_" in name.strip("_") or bool(re.search(r"[a-z0-9][A-Z]", name)))


def _paths(text: str) -> Iterator[Reference]:
    for match in _PATH.finditer(text):
        path = match["path"] or match["folder"]
        if _HALF.search(text[max(0, match.start() - 200) : match.start()]):
            continue
        if match["folder"] and path.count("/") < 2 and not path.startswith("./"):
            path = path if len(path) > 3 else ""  # "a/" in prose is no folder
        path = path.removeprefix("./")
        if path and ".." not in path.split("/") and not path.startswith("//"):
            yield Reference("file", path)
