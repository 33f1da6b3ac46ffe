"""Turn text into search terms, in the same way for notes, queries and all stores.

The terms are made here, because servers and the catalog split texts in different ways: English
Snowball stems (Porter2) without stop words, identifiers and paths both whole and in parts, and text
without blanks between words (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) as bigrams. Each
term has only word characters, so every tokenizer
splits terms that are separated by blanks in the same way.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

from Stemmer import Stemmer

#: Function words, and question words, since queries are often questions.
STOP_WORDS = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being between "
        "both but by can could did do does doing done down for from further get got had has have "
        "having he her here him his how i if in into is it its itself just like made make me more "
        "most my no nor not now of off on once only or other our out over own same she should so "
        "some such than that the their them then there these they this those through to too under "
        "until up us use used using very was we were what when where which while who whom why will "
        "with would you your"
    ).split()
)
#: Chinese function words, dropped as bigrams or single characters.
_CJK_STOP = frozenset(
    (
        "的 了 是 在 我 有 和 就 不 都 也 吗 呢 吧 我们 "
        "什么 怎么 如何 这个 那个 为什 哪个 是什 怎样"
    ).split()
)

_CJK = "\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_IS_CJK = re.compile(rf"[{_CJK}]")
#: Scripts without blanks between words: CJK, and Thai, Lao, Burmese and Khmer.
_UNSPACED = _CJK + "\u0e01-\u0e4f\u0e81-\u0eff\u1000-\u109f\u1780-\u17ff"
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
#: The lookahead excludes characters of these ranges that are not letters: a term is ``\w+``.
_TOKEN = re.compile(
    rf"(?:(?=\w)[{_UNSPACED}])+|[^\W{_UNSPACED}]+(?:[-./:@#\\]+[^\W{_UNSPACED}]+)*", re.U
)
_WORD = re.compile(rf"[^\W{_UNSPACED}]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
_MAX_TERM = 80
#: Tokens with cached terms. More would save little, because the stemmer is written in C.
_CACHED = 2048


class _Stemmer(threading.local):
    """Snowball's English stemmer, one per thread, because its C code is not thread-safe."""

    def __init__(self) -> None:
        self._english = Stemmer("english", maxCacheSize=0)
        self.stem = self._english.stemWord


_STEMMER = _Stemmer()


def stem(word: str) -> str:
    """Return the English stem of a lower-case word; words with other letters are unchanged."""
    return _STEMMER.stem(word) if word.isascii() else word


#: Letters that Unicode does not decompose -> their spelling in ASCII. Invisible characters inside a
#: word are removed.
_LETTER = str.maketrans(
    {
        "ı": "i",
        "ß": "ss",
        "ẞ": "SS",
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
    }
    | dict.fromkeys("\u00ad\u0640\u200c\u200d\u200e\u200f\u2060\ufeff", "")
)
_SPELLED = re.compile(rf"[^\x00-\x7f{_CJK}]+")


def plain(text: str) -> str:
    """Return text in a normal form: composed, without accents and vowel signs.

    ``für`` and ``fur`` become the same word. Capitals and CJK characters are unchanged.
    """
    if text.isascii():
        return text
    # composed first: a combining mark belongs to the letter before it, which may be ASCII
    return _SPELLED.sub(_spelled, unicodedata.normalize("NFKC", text))


def _spelled(match: re.Match[str]) -> str:
    parts = unicodedata.normalize("NFKD", match[0].translate(_LETTER))
    return "".join(char for char in parts if not unicodedata.category(char).startswith("M"))


def encode(term: str) -> str:
    """Return a term with other characters replaced, so that it has only word characters."""
    return re.sub(r"\W+", "_", term)[:_MAX_TERM]


def is_cjk(char: str) -> bool:
    """Return whether a character is Chinese, Japanese or Korean."""
    return not char.isascii() and _IS_CJK.match(char) is not None


def is_unspaced(char: str) -> bool:
    """Return whether a character is of a script without blanks between words."""
    return not char.isascii() and _IS_UNSPACED.match(char) is not None


def script(text: str) -> str:
    """Return ``cjk`` if more than 15 % of a text's letters are CJK characters, else ''."""
    letters = [char for char in text if char.isalpha()]
    return "cjk" if sum(map(is_cjk, letters)) > 0.15 * len(letters) else ""


def terms(text: str) -> list[str]:
    """Return all terms of *text* in order, with repeats."""
    found: list[str] = []
    for token in _TOKEN.findall(plain(text)):
        found.extend(_bigrams(token) if is_unspaced(token[0]) else _token_terms(token))
    return found


@lru_cache(maxsize=_CACHED)
def _token_terms(token: str) -> tuple[str, ...]:
    words = _WORD.findall(token)
    found: list[str] = []
    if len(words) > 1:
        found.append(encode(token.lower()))
    for word in words:
        parts = _PARTS.findall(word)
        lower = word.lower()
        if len(parts) > 1 or "_" in word:
            found.append(encode(lower.strip("_") or lower))
            found.extend(stem(part.lower()) for part in parts if part.lower() not in STOP_WORDS)
        elif lower not in STOP_WORDS:
            found.append(stem(lower))
    return tuple(dict.fromkeys(term for term in found if term))


def _bigrams(run: str) -> list[str]:
    """Return overlapping pairs and the last character, so that a prefix finds any character."""
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] + [run[-1]]
    return [pair for pair in pairs if pair not in _CJK_STOP]


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a query; its stop words if it has no other words."""
    found = list(dict.fromkeys(terms(text)))
    if len(found) > 1:  # a single such character is needed only if it is the whole query
        found = [term for term in found if not (len(term) == 1 and is_unspaced(term))] or found
    return found or [encode(word.lower()) for word in _WORD.findall(plain(text))]


def words(text: str) -> str:
    """Return the distinct words of a text, separated by blanks, for searches by prefix.

    They are normalised and in lower case, but not stemmed.
    """
    return " ".join(dict.fromkeys(word.lower() for word in _WORD.findall(plain(text))))


#: Frequent words of other languages in Latin script that English notes don't have.
_OTHER_WORDS = frozenset(
    "der die das und nicht mit für ist wurde wird auf von dem den "
    "eine einen le les des est une dans pour avec sur pas qui el "
    "los las una por con para del que não uma com são dos il che "
    "di per della sono het een van niet voor zijn och att inte "
    "det som på nie się jest".split()
)
_LETTERS = re.compile(r"[^\W\d_]+")


def is_english(text: str) -> bool:
    """Return whether a note is in English, judged by its script and its frequent words.

    Short notes and code count as English.
    """
    words = [word.lower() for word in _LETTERS.findall(text)]
    letters = sum(map(len, words))
    if not letters:
        return True
    foreign = sum(char > "\u024f" for word in words for char in word)
    if foreign * 5 > letters:
        return False
    others = sum(word in _OTHER_WORDS for word in words)
    return others < 2 or others <= sum(word in STOP_WORDS for word in words)
