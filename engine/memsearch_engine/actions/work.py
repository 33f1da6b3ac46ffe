"""Extract from a tool call the changed files, the command and the printed errors.

This module works on text and reads no files.
"""

from __future__ import annotations

import os
import re
import shlex

import msgspec

from memsearch_engine.agents.transcripts.model import SHELLS, ToolCall
from memsearch_engine.core.safe_text import plain

MAX_COMMAND = 400  # characters
MAX_LINE = 240
_MAX_COMPLAINTS = 3
_MAX_LINE = 600  # characters searched in a line: some patterns look ahead at each character
_LOOKED_THROUGH = 40_000  # characters searched in an output: half at its beginning, half at its end

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
#: File headers in the patch format of apply_patch (Codex, OpenCode).
_PATCHED = re.compile(
    r"^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M
)

#: Programs with subcommands: the first word after the program names the action.
_SPEAKING = frozenset(
    "adb ansible apt apt-get aws az brew bun bundle cargo composer conda deno docker "
    "docker-compose dotnet expo fastlane firebase flutter "
    "gcloud gh git glab go gradle gradlew ./gradlew helm heroku idf.py just kubectl make mix mvn "
    "nerdctl nix npm nx pip pip3 pnpm podman "
    "poetry rails rake rustup sbt supabase swift systemctl terraform tofu uv vault vercel west "
    "wrangler xcodebuild yarn alembic dvc ninja "
    "bazel pants pre-commit twine hatch tox nox rake brew snap dnf yum pacman jj svn hg pulumi "
    "cdk serverless skaffold argocd flux kustomize "
    "manage.py artisan".split()
)
#: Programs that only run another command -> number of their own arguments before it.
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
#: Programs that change nothing unless their output is redirected to a file.
_LOOKING = frozenset(
    "ls cat head tail less more grep rg ag find fd pwd echo printf which type whoami date wc "
    "tree stat file du df env export set cd "
    "pushd popd sleep true false test [ sed awk sort uniq cut jq nl tee history clear man diff "
    "cmp xxd od id hostname uname ps".split()
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
    r"\b[A-Z]\w*(?:Error|Exception)\b|\berror\b|\bfatal\b|\bpanic(?:ked)?\b|\bFAILED\b"
    r"|\bfailed\b|\bfailure\b|cannot|can't|could not|"
    r"unable to|not found|no such|denied|refused|undefined|unresolved|unknown|invalid|missing"
    r"|expected|mismatch|timed? ?out|"
    r"out of memory|overflow|conflict|already exists|already in use|unsupported|not permitted",
    re.I,
)
#: A line that names an error or exception. It is preferred to other error lines.
_NAMED = re.compile(
    r"^\s*(?:E\s+)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Panic|Interrupt|Exit)\b\s*(?::|$)"
    r"|\b(?:error|fatal)(?:\[\w+\])?:",
    re.I,
)
#: Lines that occur in every failure of a tool and do not identify the error, without the
#: punctuation around them.
_HOLLOW = re.compile(
    r"(?:e\s+)?(?:assert .*|assertionerror:?.{0,60})|traceback \(most recent call last|exit "
    r"code:? \d+|command failed.*exit.*|"
    r"\d+ (?:failed|errors?|passed).*|(?:npm|pnpm|yarn) (?:err!|error) (?:code|errno|path|a "
    r"complete log).*|make.*error \d+|"
    r"error: process completed.*|.*elifecycle.*|during handling of.*|the above exception.*"
    r"|failed tests?:?|build failed.*|"
    r"short test summary.*|error: test failed.*|error: aborting due to.*|error: could not "
    r"compile.*|some tests failed.*|"
    r"compilation terminated.*",
    re.I,
)
#: What clients report in place of a result when the person refused a call, and the person's reason.
_REFUSED = re.compile(
    r"The user doesn't want to (?:proceed with this tool use|take this action right now)\."
    r"(?: The tool use was rejected \([^\n]*\)\.)?(?: STOP what you are doing[^\n]*)?"
    r"(?: To tell you how to proceed, the user said:(?P<said>.*?))?"
    r"(?:\n\nNote: The user's next message.*)?|"
    r"The user rejected permission to use this specific tool call"
    r"(?:\.| with the following feedback:(?P<feedback>.*))|"
    r"(?:exec command|patch) rejected by user|\[Operation Cancelled\] Reason: User denied[^\n]*|"
    r'Tool "[^"\n]*" was not run because the user rejected the approval request\.'
    r"(?: Reason: (?P<reason>.*?))?(?: Try a different approach[^\n]*)?",
    re.S,
)
#: The person answers questions of the agent with questions.
_CLARIFIES = "The user wants to clarify"
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


class ComparedCommand(msgspec.Struct, frozen=True):
    """A command in the form in which runs of it are compared.

    Attributes:
        text: the command without parts that only shorten its output.
        head: the program with its subcommand, such as ``alembic upgrade``.
        is_masked: whether the exit status is that of another program, such as the last of a pipe.
        is_looking: whether it changes nothing and so can't fix an error.
    """

    text: str
    head: str
    is_masked: bool = False
    is_looking: bool = False


def refusal(call: ToolCall) -> str | None:
    """Return the person's reason for refusing a tool call, ``""`` without one; None if it ran."""
    # a tool that ran may print the words of a refusal
    refused = _REFUSED.fullmatch(call.output.strip()) if call.failed else None
    if refused is None:
        return None
    reason = next(filter(None, refused.groups()), "").strip()
    return "" if reason.startswith(_CLARIFIES) else reason


def files(tool: str, given: str) -> list[str]:
    """The paths that a tool call writes to, as written in its input.

    Args:
        tool: name of the tool.
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
    """Normalise *path* and make it relative to the first of *roots* that contains it, if any."""
    path = os.path.normpath(path) if path else ""
    inside = (
        path.removeprefix(f"{root.rstrip('/')}/")
        for root in roots
        if root and path.startswith(f"{root.rstrip('/')}/")
    )
    return next(inside, path)


def runs(tool: str, given: str) -> bool:
    """Whether a tool call runs a command.

    Args:
        tool: name of the tool.
        given: the call's input.
    """
    return tool.lower() in SHELLS and "apply_patch" not in given[:200] and bool(given.strip())


def command(tool: str, given: str, *roots: str) -> ComparedCommand | None:
    """The command that a tool call ran; None if it ran none that could be run again.

    Args:
        tool: name of the tool.
        given: the call's input.
        roots: as for ``of_line``.
    """
    return of_line(given, *roots) if runs(tool, given) else None


def of_line(line: str, *roots: str) -> ComparedCommand | None:
    """Parse a command line.

    Args:
        line: the text given to the shell.
        roots: folders in which the command runs by default; ``cd`` into one of them is removed.

    Returns:
        None for an empty line, a script of several lines and a very long line, which nobody runs
        again.
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
    changing = [
        head
        for head in heads
        if head not in _LOOKING_HEADS and head.partition(" ")[0] not in _LOOKING
    ]
    if not heads:
        return None
    is_masked = any(operator not in ("&&", "(", ")") for operator in operators)
    return ComparedCommand(
        text,
        (changing or heads)[-1],
        is_masked,
        not changing and not _WRITES.search(_STREAMS.sub(" ", whole)),
    )


def _parts(text: str) -> tuple[list[list[str]], list[str]]:
    """The words of each simple command of a line, and the operators between the commands."""
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
    except ValueError:  # an unclosed quote
        parts[-1] = parts[-1] or text.split()
    if operators and not parts[-1] and operators[-1] == ";":  # `make;` has the status of `make`
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
        if not script or (not is_module and os.path.basename(script) not in _SPEAKING):
            return f"python {script}".strip()
        name, rest = os.path.basename(script), rest[rest.index(script) + 1 :]
    if name in _SPEAKING:
        subcommand = next((word for word in rest if _WORD.match(word)), "")
        if name in ("npm", "pnpm", "yarn", "bun") and subcommand == "run":
            script = next(
                (word for word in rest[rest.index("run") + 1 :] if not word.startswith("-")), ""
            )
            return f"{name} run {script}".strip()
        return f"{name} {subcommand}".strip()
    return name


def _after_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[1:]
    return words


def complaints(output: str) -> list[str]:
    """The error lines of an output: at most three, the last one first.

    If some lines name an error or exception, only those are returned.
    """
    if len(output) > _LOOKED_THROUGH:
        output = f"{output[: _LOOKED_THROUGH // 2]}\n{output[-_LOOKED_THROUGH // 2 :]}"
    found: dict[str, tuple[bool, int, str]] = {}
    for number, line in enumerate(plain(output).splitlines()):
        line = " ".join(line[:_MAX_LINE].split())
        if (
            _COMPLAINT.search(line)
            and not _is_hollow(line)
            and is_specific(sign := signature(line))
        ):
            found[sign] = (bool(_NAMED.search(line)), number, line[:MAX_LINE])
    named = [item for item in found.values() if item[0]] or list(found.values())
    return [line for _, _, line in sorted(named, reverse=True)[:_MAX_COMPLAINTS]]


def _is_hollow(line: str) -> bool:
    is_rule = line[:1] in ("=", "-") and line[-1:] in ("=", "-")  # === 1 failed ===
    return is_rule or bool(_HOLLOW.fullmatch(_AROUND.sub("", line)))


def is_clean(output: str) -> bool:
    """Whether no line of an output looks like an error."""
    return not _COMPLAINT.search(output)


def signature(line: str) -> str:
    """The part of an error line that is the same for all errors of its kind, in lower case.

    Folders, line numbers, times, addresses and durations are removed.
    """
    line = line[:_MAX_LINE]
    for pattern, instead in _CHANGING:
        line = pattern.sub(instead, line)
    return " ".join(re.sub(r"^(?:E\s+|\[\w+\]\s*)", "", line.strip()).lower().split())[:MAX_LINE]


def is_specific(sign: str) -> bool:
    """Whether a signature identifies an error: it has at least three different words."""
    return len(set(_TERM.findall(sign))) >= 3
