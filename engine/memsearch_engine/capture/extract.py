"""Extracts notes from a turn without a model.

The notes contain the request, decisions and changes, the files and commands, and the errors with
their outcome. Text of a transcript is untrusted: every line is escaped, so that it can't forge
headings or comments. Short replies ("yes", "2", "好的") get their question, since they mean nothing
without it. The question is in the answer of the turn before.
"""

from __future__ import annotations

import re

from memsearch_engine.actions import work
from memsearch_engine.agents.transcripts.model import SHELLS, Conversation, ToolCall, Turn
from memsearch_engine.core.safe_text import plain
from memsearch_engine.journal.text import escape_line

_MAX_LINE = 320
_MAX_LINES = 4
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|(?<=[。！？])|\n+")
_LEAD_IN = re.compile(
    r"^(?:sure|okay|ok|great|perfect|done|certainly|absolutely|of course|"
    r"let me|i'll|i will|now i|好的|当然|没问题)\b[^.。!]*[.!。:]\s*",
    re.I,
)
_LIST_SIGN = re.compile(r"^(?:[#>\s]+|[*-]+(?:\s+|$)|\d{1,3}[.)]\s+)+")
#: Sentences that announce work instead of a result.
_INTENT = re.compile(
    r"^(?:let me|let's|i'?ll|i will|i'?m going to|i am going to|"
    r"now (?:let|i)|next,? (?:let|i)|first,? (?:let|i)|running|checking|"
    r"looking|reading|searching|让我|我来|我将|现在我)\b|^(?:让我|我来|我将)",
    re.I,
)
_TELLING = re.compile(
    r"\b(decid|chose|chang|fix|add|remov|creat|updat|renam|replac|"
    r"because|root cause|instead|now |will |must |always|never|"
    r"fail|error|pass|test|deploy|migrat|set |config)|决定|"
    r"修复|改|因为|原因|增加|删除|更新|必须|不要|错误|通过",
    re.I,
)
_ERROR = re.compile(r"^.*\b(?:[A-Z]\w*(?:Error|Exception)|error|FAILED|panic|fatal)\b.*$", re.M)
#: Answers to a greeting or a yes that contain no information.
_COURTESY = re.compile(
    r"^\W*(?:(?:you'?re (?:very )?welcome|no (?:problem|worries)|"
    r"my pleasure|(?:i'?m |i am )?(?:glad|happy) (?:to|i|that|it|you|we)|"
    r"sounds good|standing by|let me know|feel free|just (?:let|ask|"
    r"tell|say)|if (?:you|there)|have a (?:nice|good|great)|enjoy|"
    r"good luck|how can i|thanks? (?:for|you)|nice to|(?:i'?m|i am) (?:ready|here|claude|an? )|"
    r"不客气|不用谢|请随时|有什么|如果|随时|我是).*|"
    r"(?:hi|hello|hey|thanks?|welcome|any ?time|great|good|perfect|"
    r"ok(?:ay)?|sure|yes|no|got it|noted|understood|of course|certainly|"
    r"absolutely|all (?:set|done|right)|done|ready|alright|"
    r"你好|您好|谢谢|好|好的|没问题|可以|明白了?|了解|收到|"
    r"there|again|\W)+)\W*$",
    re.I | re.S,
)
_OPENING = re.compile(
    r"^\W*(?:sure|okay|ok|great|perfect|done|certainly|"
    r"absolutely|of course|got it|understood|noted|yes|no|alright|"
    r"thanks|好的|好|当然|没问题|明白了?|收到|可以)\s*[,，.。!！:：—–-]+\s*",
    re.I,
)
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]{2,}")
_FACT = re.compile(r"\d|`|\w[/.]\w")
#: Tools that change nothing, by a word in their names. Shell commands are checked one by one.
_PLANNING = re.compile(r"todo|update_plan|plan_mode", re.I)
_CHANGING = re.compile(
    r"write|edit|replace|create|delete|remove|update|insert|apply|"
    r"patch|move|rename|send|post|push|run|exec|set|add|kill|and",
    re.I,
)
_LOOKING = re.compile(
    r"(?:^|[_\W])(?:read|view|cat|grep|glob|ls|list|search|find|get|"
    r"fetch|query|show|open|recall|timeline|think|web|status|wait|"
    r"sleep|ask)|question|toolsearch|codebase",
    re.I,
)
#: Tools that ask the person, and their result (Claude Code, OpenCode). Other tools may print it.
_ASKING = ("askuserquestion", "ask_user_question", "question")
_ANSWERED = re.compile(
    r"User has answered your questions: (.+?)(?:\. You can now continue with the user's|\Z)", re.S
)


def why_trivial(turn: Turn) -> str:
    """Return why a turn contains nothing to remember; ``""`` if it contains something.

    It has no request, or neither tool calls nor an answer. If the request is a greeting, a yes or a
    no: no tool changed anything or asked the person, and the answer contains no information.
    """
    if not turn.user.strip():
        return "no request"
    if is_assent(turn.user):
        acted = any(changes(tool) or _answer(tool) for tool in turn.tools)
        tells = acted or (turn.status != "failed" and _tells(turn.assistant))
        return "" if tells else "only a courtesy"
    return "" if turn.assistant.strip() or turn.tools else "no answer"


def is_trivial(turn: Turn) -> bool:
    """Whether a turn contains nothing to remember."""
    return bool(why_trivial(turn))


def changes(tool: ToolCall) -> bool:
    """Whether a tool call may have changed anything. An unknown tool may have."""
    if work.files(tool.name, tool.input):
        return True
    if work.runs(tool.name, tool.input):
        command = work.command(tool.name, tool.input)
        return command is None or not command.is_looking
    if tool.name.lower() in SHELLS or _PLANNING.search(tool.name):
        return False
    return bool(_CHANGING.search(tool.name)) or not _LOOKING.search(tool.name)


def _tells(answer: str) -> bool:
    """Whether an answer contains more than courtesies, announcements and questions."""
    for sentence in _SENTENCE.split(plain(answer)):
        bare = _OPENING.sub("", _one_line(sentence))
        asks = bare.endswith(("?", "？"))
        if asks or _COURTESY.match(bare) or _INTENT.match(bare):
            continue
        if _FACT.search(bare) or len(_TERM.findall(bare)) > 2:
            return True
    return False


def extract(turn: Turn) -> str:
    """Return Markdown bullets for *turn*."""
    outcome = _outcome(turn) if turn.status != "failed" else []
    if turn.status == "failed":
        outcome = [f"The turn failed: {_clip(_one_line(turn.assistant))}"]
    elif turn.status == "interrupted":
        outcome.insert(0, "The turn was interrupted before it was done")
    lists = {
        "Files changed: ": ", ".join(f"`{name}`" for name in _files(turn)),
        "Commands: ": ", ".join(f"`{command}`" for command in _commands(turn)),
        "Errors met: ": "; ".join(f"`{error}`{ending}" for error, ending in _errors(turn)),
    }
    lines = [
        f"User asked: {_ends(_unquoted(_one_line(turn.user)))}",
        *([f"In reply to: {_clip(_one_line(turn.in_reply_to))}"] if turn.in_reply_to else []),
        *outcome,
        *_decided(turn),
        *(what + names for what, names in lists.items() if names),
    ]
    return "\n".join(f"- {escape_line(line)}" for line in lines)


def _outcome(turn: Turn) -> list[str]:
    """Return the sentences of the answer with results or decisions, or its first and last."""
    text = re.sub(r"```.*?(?:```|\Z)", " ", plain(turn.assistant), flags=re.S)
    # after a yes or a no, the first sentence alone may have the result ("Okay, I left it as it
    # is.")
    bare = _OPENING.sub("", text) if is_assent(turn.user) else _LEAD_IN.sub("", text)
    if not bare.strip() and not _COURTESY.match(text):  # "I will not."
        bare = text
    sentences = [_LIST_SIGN.sub("", _one_line(s)) for s in _SENTENCE.split(bare)]
    sentences = [s for s in sentences if len(s) > 3 or _FACT.search(s)]
    sentences = list(dict.fromkeys(s for s in sentences if not s.startswith(("<", "|"))))
    sentences = [s for s in sentences if not _INTENT.match(s)] or sentences[-1:]
    if not sentences:
        return []
    if len(sentences) <= _MAX_LINES:
        return [_clip(s) for s in sentences]
    # the last sentences have the result; earlier ones count if they report a change
    telling = [s for s in sentences[::-1] if _TELLING.search(s)]
    chosen = list(
        dict.fromkeys([sentences[-1], *telling[: _MAX_LINES - 2], sentences[0], *telling])
    )[:_MAX_LINES]
    chosen.sort(key=sentences.index)
    return [_clip(s) for s in chosen]


def _decided(turn: Turn) -> list[str]:
    """Return what the person answered to questions of tools, and which tool calls they refused."""
    found = []
    for tool in turn.tools:
        reason = work.refusal(tool)
        if answered := _answer(tool):
            found.append(f"The user answered: {_clip(_one_line(answered))}")
        elif reason is not None:
            call = tool.input if tool.name.lower() in SHELLS else ""
            files = [work.within(path, turn.cwd) for path in work.files(tool.name, tool.input)]
            what = ", ".join(files) or call or tool.name
            why = f": {_clip(_one_line(reason))}" if reason else ""
            found.append(f"The user refused `{_code(what)}`{why}")
    return list(dict.fromkeys(found))[:_MAX_LINES]


def _answer(tool: ToolCall) -> str:
    answered = _ANSWERED.match(tool.output) if tool.name.lower() in _ASKING else None
    return answered[1] if answered else ""


def _files(turn: Turn) -> list[str]:
    ran = [tool for tool in turn.tools if not tool.failed or tool.name.lower() in SHELLS]
    found = [path for tool in ran for path in work.files(tool.name, tool.input)]
    return [_code(work.within(path, turn.cwd)) for path in dict.fromkeys(found)][:8]


def _commands(turn: Turn) -> list[str]:
    shell = [t.input for t in turn.tools if t.name.lower() in SHELLS and work.refusal(t) is None]
    return [_code(command) for command in dict.fromkeys(shell)][:5]


def _errors(turn: Turn) -> list[tuple[str, str]]:
    """Return (error, outcome). If the same command passed later, the outcome is that."""
    found: dict[str, str] = {}
    for number, tool in enumerate(turn.tools):
        match = _ERROR.search(plain(tool.output)[:20_000])
        if match and (tool.failed or "rror" in match[0]):
            later = [other for other in turn.tools[number + 1 :] if other.input == tool.input]
            ending = (
                ""
                if not later
                else " (still there at the end)"
                if later[-1].failed
                else " (mended: it passed later)"
            )
            found[_code(match[0].strip())] = ending
    return list(found.items())[:3]


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _unquoted(text: str) -> str:
    """Remove the quotes that `opencode run` stores around an argument."""
    if len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1].replace('\\"', ""):
        return text[1:-1].replace('\\"', '"')
    return text


def _clip(text: str, limit: int = _MAX_LINE) -> str:
    """Cut *text* at the end of a word, and add an ellipsis."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip(",;: ") + " …"


def _ends(text: str) -> str:
    """Return the beginning and the end of a request: a question may follow a long paste."""
    if len(text) <= 2 * _MAX_LINE:
        return _clip(text)
    tail = text[-_MAX_LINE // 2 :]
    return f"{_clip(text, _MAX_LINE // 2)} {tail[tail.find(' ') + 1 :]}"


def _code(text: str) -> str:
    return _clip(_one_line(text).replace("`", "'"), 120)


_ASSENT = re.compile(
    r"\W*(?:(?:hi|hello|hey|thanks?|thank you|thx|please|ok(?:ay)?|"
    r"k|y|n|yes|yeah|yep|yup|no|nope|nah|sure|right|correct|exactly|"
    r"do it|do so|do that|go|go ahead|go on|go for it|continue|proceed|"
    r"carry on|lgtm|sounds good|(?:very )?good|great|perfect|fine|"
    r"cool|nice|agreed?|approved?|confirm(?:ed)?|deny|denied|"
    r"stop|don'?t|never ?mind|ja|nein|oui|non|si|sí|da|да|нет|"
    r"はい|いいえ|うん|네|예|아니요|"
    r"你好|谢谢|多谢|好|好的|好吧|好啊|行|可以|是|是的|对|对的|嗯|"
    r"没问题|同意|确认|继续|不|不行|不用|不要|不是|否|没有)(?:\W+|$))+|"
    r"\s*[👍👎👌🙏✅❌🆗]\W*",
    re.I,
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_ITEM = re.compile(r"\s*(?:[-*•]|\(?\w{1,2}[.):])\s")
_QUESTION = re.compile(r"[?？]")
_WORDS, _CHARS = 4, 40  # the longest reply that is not in a list
_LOOKED_AT = 2000  # characters at the end of an answer that are searched
# a shorter question (in characters), as "Shall I do that?", needs the sentence before it
_SHORT = 48
_MAX_ITEMS = 9
_MAX_UNANSWERED = 8  # turns without an answer between a question and a reply


def is_assent(text: str) -> bool:
    """Whether a prompt is only a greeting, a yes or a no."""
    return len(text) <= _CHARS and bool(_ASSENT.fullmatch(text.strip()))


def is_short(text: str) -> bool:
    """Whether a prompt may be a reply that means nothing alone."""
    text = text.strip()
    return is_assent(text) or (
        0 < len(text) <= _CHARS and len(text.split()) <= _WORDS and text[0] not in "/!"
    )


def question(answer: str, *, any_end: bool = False) -> str:
    """Return the question at the end of an agent's answer, with the choices that it offers.

    Args:
        any_end: without a question, return the last sentence: a yes may also follow "Ready to
            deploy.".

    Returns:
        The question; ``""`` if there is none.
    """
    text = _FENCED.sub(" ", plain(answer))[-_LOOKED_AT:]
    lines = [line for line in text.splitlines() if line.strip()]
    last = max((number for number, line in enumerate(lines) if _QUESTION.search(line)), default=-1)
    trailing = lines[last + 1 :]
    if (
        last < 0
        or len(trailing) > _MAX_ITEMS
        or len([line for line in trailing if not _ITEM.match(line)]) > 1
    ):
        return _end(lines) if any_end else ""
    first = last
    while first > 0 and last - first < _MAX_ITEMS and _ITEM.match(lines[first - 1]):
        first -= 1
    sentences = _SENTENCE_END.split(lines[last].strip())
    asked = max(number for number, sentence in enumerate(sentences) if _QUESTION.search(sentence))
    begin = asked
    while begin > 0 and sum(map(len, sentences[begin : asked + 1])) < _SHORT:
        begin -= 1
    parts = [
        *lines[first:last],
        *sentences[begin : asked + 1],
        *(line for line in trailing if _ITEM.match(line)),
    ]
    if first == last > 0 and begin == 0 and len(sentences[asked]) < _SHORT:
        parts.insert(0, _end(lines[:last]))
    return " ".join(" ".join(parts).split())


def _end(lines: list[str]) -> str:
    return _SENTENCE_END.split(lines[-1].strip())[-1] if lines else ""


def in_context(conversation: Conversation, place: int) -> list[Turn]:
    """Return the turn at *place* of a session, or nothing if there is none.

    A short reply gets its question.

    Raises:
        OSError: the session can't be read.
    """
    found = conversation.turns(place, place + 1)
    for turn in found:
        first = max(0, place - _MAX_UNANSWERED) if is_short(turn.user) else place
        # a command of the person, or an interrupted prompt, may stand between
        before = (conversation.turns(n, n + 1) for n in range(place - 1, first - 1, -1))
        earlier = next((one for some in before for one in some if one.assistant), None)
        if earlier and (asked := question(earlier.assistant, any_end=is_assent(turn.user))):
            turn.in_reply_to = asked
            # the quoted text may be outside content
            turn.outside = turn.outside or earlier.outside
    return found
