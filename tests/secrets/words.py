"""Makes the list of common words from what is in this repository.

python -m tests.secrets.words

Two sources: the first words of the vocabulary of all-MiniLM-L6-v2, which is sorted by how common
they are (Apache License 2.0, see its NOTICE), and the words around the secrets and in the innocent
lines that are recorded beside this file. ``tests/secrets/test_fit.py`` compares the list.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import memsearch_engine

from tests.secrets import table

PACKAGE = Path(memsearch_engine.__file__).parent
WORDS = PACKAGE / "secrets/words.txt"
VOCABULARY = PACKAGE / "index/data/all-minilm-l6-v2/tokenizer.json"
COMMON = 12_000
_WORD = re.compile(r"[^\W\d_]{4,}")


def vocabulary() -> list[str]:
    """Words of at least four letters, the most common first."""
    tokens = json.loads(VOCABULARY.read_text(encoding="utf-8"))["model"]["vocab"]
    return [word for word in sorted(tokens, key=tokens.__getitem__) if _WORD.fullmatch(word)]


def recorded() -> list[str]:
    """Words of recorded lines, outside of their secrets."""
    texts = table.by_hand()
    for file in sorted(table.HERE.glob("*.jsonl")):
        if file.stem not in table.MEASURED:
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                for secret in row.get("secrets", []):
                    row["text"] = row["text"].replace(secret, " ")
                texts.append(row["text"])
    return _WORD.findall("\n".join(texts).lower())


def words() -> str:
    return "".join(f"{word}\n" for word in sorted({*vocabulary()[:COMMON], *recorded()}))


if __name__ == "__main__":
    WORDS.write_text(words(), encoding="utf-8")
    print(f"{len(words().split())} words")
