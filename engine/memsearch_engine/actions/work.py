"""Extract from a tool call the files that it changed, the command that it ran and the errors that it
printed. It works on text and reads no files.
"""

from __future__ import annotations

import os
import re
import shlex

import msgspec

from memsearch_engine.agents.transcripts.model import SHELLS
from memsearch_engine.core.safe_text import plain

MAX_COMMAND = 400  # characters
MAX_LINE = 240
_MAX_COMPLAINTS = 3
_MAX_LINE = 600  # characters of a line that are looked at: some patterns look ahead at each
_LOOKED_THROUGH = 40_000  # characters of an output, half of them at its end

_EDITS = (
    "edit",
    "write",
    "write_file",
    "replace",
    "multiedit",
    "notebookedit",
    "apply_patch",
    "patch",
    "str_replace_editor",
    "create_file",
    "create",
)
_PATH_KEYS = ("file_path", "filePath", "notebook_path", "path")
#: The patch language of Codex' and OpenCode's apply_patch.
_PATCHED = re.compile(
    r"^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M
)

#: Programs whose first word says what they do, and hardly anything does without it.
_SPEAKING = frozenset(
    "adb ansible apt apt-get aws az brew bun bundle cargo composer conda deno docker docker-compose dotnet expo fastlane firebase flutter "
    "gcloud gh git glab go gradle gradlew ./gradlew helm heroku idf.py just kubectl make mix mvn nerdctl nix npm nx pip pip3 pnpm podman "
    "poetry rails rake rustup sbt supabase swift systemctl terraform tofu uv vault vercel west wrangler xcodebuild yarn alembic dvc ninja "
    "bazel pants pre-commit twine hatch tox nox rake brew snap dnf yum pacman jj svn hg pulumi cdk serverless skaffold argocd flux kustomize "
    "manage.py artisan".split()
)
#: What only runs another command.
_WRAPPERS = {
    "sudo": 0,
    "time": 0,
    "nohup": 0,
    "env": 0,
    "timeout": 1,
    "nice": 0,
    "xvfb-run": 0,
    "command": 0,
    "exec": 0,
}
_RUNNERS = {
    ("uv", "run"),
    ("poetry", "run"),
    ("pnpm", "exec"),
    ("npm", "exec"),
    ("bundle", "exec"),
    ("pipenv", "run"),
    ("yarn", "exec"),
}
_LONE_RUNNERS = {"npx", "bunx", "uvx"}
_SHELL_NAMES = {"bash", "sh", "zsh"}
#: Programs that change nothing, as long as they write to no file.
_LOOKING = frozenset(
    "ls cat head tail less more grep rg ag find fd pwd echo printf which type whoami date wc tree stat file du df env export set cd "
    "pushd popd sleep true false test [ sed awk sort uniq cut jq nl tee history clear man diff cmp xxd od id hostname uname ps".split()
)
_LOOKING_HEADS = frozenset(
    [
        "git status",
        "git diff",
        "git log",
        "git show",
        "git branch",
        "git blame",
        "git rev-parse",
        "git ls-files",
        "git grep",
        "git remote",
        "git fetch",
        "docker ps",
        "docker logs",
        "kubectl get",
        "kubectl describe",
        "kubectl logs",
        "pip show",
        "pip list",
        "npm ls",
        "npm view",
    ]
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_WORD = re.compile(r"[A-Za-z][\w:.-]*\Z")
_QUIETER = re.compile(
    r"(?:\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-\S+|\s+\d+)*|\|\s*cat))+\s*\Z"
)
_INTO = re.compile(r"\A\s*cd\s+(\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*&&\s*")
_STREAMS = re.compile(r"\d*>&\d|&>>?")
_WRITES = re.compile(
    r"(?<![\d>&])>>?(?!\s*/dev/null)|\|\s*tee\b|\b(?:sed|perl|ruby)\s+(?:-\w+\s+)*-\w*i"
)

_COMPLAINT = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\berror\b|\bfatal\b|\bpanic(?:ked)?\b|\bFAILED\b|\bfailed\b|\bfailure\b|cannot|can't|could not|"
    r"unable to|not found|no such|denied|refused|undefined|unresolved|unknown|invalid|missing|expected|mismatch|timed? ?out|"
    r"out of memory|overflow|conflict|already exists|already in use|unsupported|not permitted",
    re.I,
)
#: An exception's own line says more than any other.
_NAMED = re.compile(
    r"^\s*(?:E\s+)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Panic|Interrupt|Exit)\b\s*(?::|$)|\b(?:error|fatal)(?:\[\w+\])?:",
    re.I,
)
#: What every failure of its kind says, without the signs around it.
_HOLLOW = re.compile(
    r"(?:e\s+)?(?:assert .*|assertionerror:?.{0,60})|traceback \(most recent call last|exit code:? \d+|command failed.*exit.*|"
    r"\d+ (?:failed|errors?|passed).*|(?:npm|pnpm|yarn) (?:err!|error) (?:code|errno|path|a complete log).*|make.*error \d+|"
    r"error: process completed.*|.*elifecycle.*|during handling of.*|the above exception.*|failed tests?:?|build failed.*|"
    r"short test summary.*|error: test failed.*|error: aborting due to.*|error: could not compile.*|some tests failed.*|"
    r"compilation terminated.*",
    re.I,
)
_AROUND = re.compile(r"^\W+|\W+$")
_CHANGING = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "@"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), "@"),
    (
        re.compile(r"(?:[A-Za-z]:)?(?:[\w.~@+-]*[\\/])+(?=[\w.~@+-])"),
        "",
    ),  # folders: /home/dev/proj/app/x.py -> x.py
    (
        re.compile(
            r"(?<=\.\w{2}):\d+(?::\d+)?|(?<=\.\w{1}):\d+(?::\d+)?|(?<=\.\w{3}):\d+(?::\d+)?"
        ),
        "",
    ),
    (re.compile(r"\bline \d+\b", re.I), "line"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{8,}\b", re.I), "#"),
    (re.compile(r"\b(?:pid|process|thread|tid)[ =:]*\d+\b", re.I), "#"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds|m|min)\b"), "#"),
)
_TERM = re.compile(r"[^\W\d_]{3,}|\d{2,}")


class Command(msgspec.Struct, frozen=True):
    """A command in the form in which runs of it are compared.

    Attributes:
        text: without options that only reduce its output.
        head: the program with its subcommand, such as ``alembic upgrade``.
        is_masked: whether the exit status is that of another program, such as the last of a pipe.
        is_looking: whether it changes nothing, so that it fixes no error.
    """

    text: str
    head: str
    is_masked: bool = False
    is_looking: bool = False


def files(tool: str, given: str) -> list[str]:
    """The paths that a call writes to, as it names them.

    Args:
        given: the call's input: JSON, or the text of a patch or a command
            (``agents.transcripts.model.input_text``).
    """
    if tool.lower() in SHELLS:
        return _patched(given) if "apply_patch" in given else []
    if tool.lower() not in _EDITS:
        return []
    try:
        table = msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _patched(given)
    if isinstance(table, str):
        return _patched(table)
    if not isinstance(table, dict):
        return []
    named = next(
        (table[key] for key in _PATH_KEYS if isinstance(table.get(key), str) and table[key]), ""
    )
    texts = [value for value in table.values() if isinstance(value, str) and "*** " in value]
    return (
        [named] if named else list(dict.fromkeys(path for text in texts for path in _patched(text)))
    )


def _patched(text: str) -> list[str]:
    return list(dict.fromkeys(first or second for first, second in _PATCHED.findall(text)))


def within(path: str, *roots: str) -> str:
    """*path*, normalised, relative to the first of *roots* that contains it; else as it is."""
    path = os.path.normpath(path) if path else ""
    inside = (
        path.removeprefix(f"{root.rstrip('/')}/")
        for root in roots
        if root and path.startswith(f"{root.rstrip('/')}/")
    )
    return next(inside, path)


def runs(tool: str, given: str) -> bool:
    """Whether a call runs anything."""
    return tool.lower() in SHELLS and "apply_patch" not in given[:200] and bool(given.strip())


def command(tool: str, given: str, *roots: str) -> Command | None:
    """The command that a call ran; None where there is none that could be run again."""
    return of_line(given, *roots) if runs(tool, given) else None


def of_line(line: str, *roots: str) -> Command | None:
    """The command of a command line; None for an empty line, for scripts and for very long lines,
    which nobody runs again.

    Args:
        roots: folders in which it is run anyway; ``cd`` into another folder is part of the command.
    """
    lines = [
        part
        for part in plain(line).replace("\\\n", " ").split("\n")
        if part.strip() and not part.lstrip().startswith("#")
    ]
    if len(lines) != 1 or len(lines[0]) > 10 * MAX_COMMAND:
        return None
    whole = " ".join(lines[0].split())
    bare = _INTO.sub("", whole)
    into = _INTO.match(whole)
    text = (
        bare
        if into and into[1].strip("'\"").rstrip("/") in [root.rstrip("/") for root in roots]
        else whole
    )
    text = _QUIETER.sub("", text)
    if len(text) > MAX_COMMAND:
        return None
    parts, operators = _parts(_STREAMS.sub(" ", bare))
    heads = [head for part in parts if (head := _head(part))]
    telling = [head for head in heads if not _looks(head)]
    if not heads:
        return None
    is_masked = any(operator not in ("&&", "(", ")") for operator in operators)
    return Command(
        text,
        (telling or heads)[-1],
        is_masked,
        not telling and not _WRITES.search(_STREAMS.sub(" ", whole)),
    )


def _looks(head: str) -> bool:
    return head in _LOOKING_HEADS or head.partition(" ")[0] in _LOOKING


def _parts(text: str) -> tuple[list[list[str]], list[str]]:
    """The simple commands of a line, each as its words, and what stands between them."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    operators: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set(";&|()"):
                operators.append(word)
                parts.append([])
            else:
                parts[-1].append(word)
    except ValueError:  # an open quote: what there is of it
        parts[-1] = parts[-1] or text.split()
    if operators and not parts[-1] and operators[-1] == ";":  # `make;` ends as make does
        operators.pop()
    return parts, operators


def _head(words: list[str]) -> str:
    while words:
        name = os.path.basename(words[0])
        if _ASSIGNED.match(words[0]):
            words = words[1:]
        elif name in _WRAPPERS:
            words = [word for word in words[1:] if not word.startswith("-")][_WRAPPERS[name] :]
        elif tuple(words[:2]) in _RUNNERS:
            words = _after_options(words[2:])
        elif name in _LONE_RUNNERS:
            words = _after_options(words[1:])
        elif name in _SHELL_NAMES and len(words) > 2 and words[1] in ("-c", "-lc"):
            inner = of_line(words[2])
            return inner.head if inner else ""
        else:
            break
    if not words:
        return ""
    name, rest = os.path.basename(words[0]), words[1:]
    if re.fullmatch(r"python[\d.]*", name):
        is_module = rest[:1] == ["-m"]
        script = next((word for word in rest if not word.startswith("-")), "")
        if not script or not is_module and os.path.basename(script) not in _SPEAKING:
            return f"python {script}".strip()
        name, rest = os.path.basename(script), rest[rest.index(script) + 1 :]
    if name in _SPEAKING:
        said = next((word for word in rest if _WORD.match(word)), "")
        if name in ("npm", "pnpm", "yarn", "bun") and said == "run":
            script = next(
                (word for word in rest[rest.index("run") + 1 :] if not word.startswith("-")), ""
            )
            return f"{name} run {script}".strip()
        return f"{name} {said}".strip()
    return name


def _after_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[1:]
    return words


def complaints(output: str) -> list[str]:
    """The lines of an output that say what went wrong: at most three, the last first. Where some
    lines name an error, only those.
    """
    if len(output) > _LOOKED_THROUGH:
        output = f"{output[: _LOOKED_THROUGH // 2]}\n{output[-_LOOKED_THROUGH // 2 :]}"
    found: dict[str, tuple[bool, int, str]] = {}
    for number, line in enumerate(plain(output).splitlines()):
        line = " ".join(line[:_MAX_LINE].split())
        if _COMPLAINT.search(line) and not _is_hollow(line) and is_telling(sign := signature(line)):
            found[sign] = (bool(_NAMED.search(line)), number, line[:MAX_LINE])
    telling = [said for said in found.values() if said[0]] or list(found.values())
    return [line for _, _, line in sorted(telling, reverse=True)[:_MAX_COMPLAINTS]]


def _is_hollow(line: str) -> bool:
    is_rule = line[:1] in ("=", "-") and line[-1:] in ("=", "-")  # === 1 failed ===
    return is_rule or bool(_HOLLOW.fullmatch(_AROUND.sub("", line)))


def is_clean(output: str) -> bool:
    """Whether no line of an output looks like an error."""
    return not _COMPLAINT.search(output)


def signature(line: str) -> str:
    """The part of an error line that is the same for all errors of its kind: without folders, places
    in files, times, addresses and durations.
    """
    line = line[:_MAX_LINE]
    for pattern, instead in _CHANGING:
        line = pattern.sub(instead, line)
    return " ".join(re.sub(r"^(?:E\s+|\[\w+\]\s*)", "", line.strip()).lower().split())[:MAX_LINE]


def is_telling(sign: str) -> bool:
    """Whether a signature identifies an error: it has at least three different words."""
    return len(set(_TERM.findall(sign))) >= 3
