"""A cross-encoder: a model that reads the question and a note together, and says how well they fit.

It is better than comparing two vectors and far slower, so that it is given the best few hits alone
(``search.rerank``). Any ONNX sequence classifier does, from a folder with ``model.onnx`` and
``tokenizer.json`` or by a name that ``models pull`` fetches (Nogueira and Cho 2019, "Passage
Re-ranking with BERT").
"""

from __future__ import annotations

import os

import numpy as np

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.index import models

_MAX_TOKENS = 512


class CrossEncoder:
    """Called by searches of any thread."""

    def __init__(self, home: Home, name: str) -> None:
        """
        Args:
            name: a folder, or one of ``models.RERANKERS``.

        Raises:
            Unreachable: it is not here, or no model of this kind. UsageError: nobody knows that
                name.
        """
        folder = models.reranker(home, name)
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime
        from tokenizers import Tokenizer

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(_MAX_TOKENS, strategy="only_second")
            self._inputs = {item.name for item in self._session.get_inputs()}
            self.name = name
            self.score("a question", ["a note"])
        except Exception as error:
            raise Unreachable(
                f"the cross-encoder in {folder} can't be used: {str(error)[:200]}",
                "`memsearch config set search.rerank ''` does without",
            ) from error

    def score(self, question: str, texts: list[str]) -> list[float]:
        """How well each text answers, 0 to 1: the sigmoid of a single output, the share of the last
        one of several.
        """
        return [self._one(question, text) for text in texts]

    def _one(self, question: str, text: str) -> float:
        pair = self._tokenizer.encode(question, text)
        feed = {
            "input_ids": np.array([pair.ids], np.int64),
            "attention_mask": np.array([pair.attention_mask], np.int64),
            "token_type_ids": np.array([pair.type_ids], np.int64),
        }
        output = self._session.run(
            None, {name: value for name, value in feed.items() if name in self._inputs}
        )[0]
        logits = np.asarray(output, np.float64).reshape(-1)
        if len(logits) == 1:
            return float(1 / (1 + np.exp(-logits[0])))
        shares = np.exp(logits - logits.max())
        return float(shares[-1] / shares.sum())
