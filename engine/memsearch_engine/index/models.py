"""The available embedding models, and the sources of their files.

Three kinds of model can be named as ``embedding.model``: a model that is part of the installation,
a model that ``memsearch models pull`` converts or fetches, and a folder with ``model.onnx``,
``tokenizer.json`` and, optionally, ``embedding.json`` (see :class:`FolderSettings`). A model is
fetched from a hub only by ``memsearch models pull``.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from memsearch_engine.core import network
from memsearch_engine.core.errors import SettingsError, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.installation import install_command
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import EmbeddingSettings

DEFAULT = "all-minilm-l6-v2"
#: The multilingual model that is used beside an English one if it is on this machine.
SECOND = "multilingual-e5-small"
#: The gain of the second model on tests/evaluation (docs/evaluation.md).
SECOND_BRINGS = (
    "40 of 41 questions on Chinese notes instead of 37, and 31 of 44 across languages instead of 19"
)
#: The file beside a folder's ``model.onnx`` that describes how to use the model.
FOLDER_SETTINGS = "embedding.json"
_DATA = Path(__file__).parent / "data"


class EmbeddingModel(msgspec.Struct, frozen=True):
    """A model and how its vectors are made.

    Attributes:
        source: ``data`` (the weights are in ``data``), ``convert:<hub repository>`` (made once from
            weights in an installed package; without the package fetched from the hub),
            ``hub:<repository>`` or ``folder``.
        dimension: numbers in a vector; 0 if unknown before the model is loaded.
        pooling: how token vectors become one: their ``mean``, or the first one (``cls``).
        output: the graph's output that holds a finished vector, if it has one.
        query_prefix, passage_prefix: text put before queries and notes, as in the training.
        max_tokens: longer texts are cut to this number of tokens.
        sha256: hash of the tested weights; empty if there is none.
        converted_from: hash of the weights that were converted to these. They make equal vectors.
        centered: subtract the mean vector of ordinary texts (``hubness``). For models with vectors
            that all point in a similar direction.
        files: names in the hub's repository.
    """

    name: str
    source: str
    dimension: int
    languages: str
    size_mb: int
    pooling: Literal["mean", "cls"] = "mean"
    output: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 256
    sha256: str = ""
    converted_from: str = ""
    centered: bool = False
    files: tuple[str, str] = ("model.onnx", "tokenizer.json")

    @property
    def is_carried(self) -> bool:
        """Whether the weights are part of the installation."""
        return self.source == "data"


class FolderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of ``embedding.json`` beside a folder's ``model.onnx``.

    The defaults apply if there is no such file. The fields are those of :class:`Model`.
    """

    pooling: Literal["mean", "cls"] = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] = 256
    output: str = ""
    languages: str = ""
    centered: bool = False


KNOWN = {
    model.name: model
    for model in (
        EmbeddingModel(
            "all-minilm-l6-v2",
            "data",
            384,
            "English",
            23,
            sha256="374bc30553921cc426df0dcec0bf46e11871fd39f5d795300f41370edde5155b",
            converted_from="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        EmbeddingModel(
            "e5-small-v2",
            "data",
            384,
            "English",
            34,
            query_prefix="query: ",
            passage_prefix="passage: ",
            max_tokens=512,
            centered=True,
            sha256="d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
        ),
        EmbeddingModel(
            "multilingual-e5-small",
            "convert:intfloat/multilingual-e5-small",
            384,
            "100 languages",
            90,
            query_prefix="query: ",
            passage_prefix="passage: ",
            max_tokens=512,
            centered=True,
            output="embedding",
            files=("onnx/model.onnx", "onnx/tokenizer.json"),
        ),
        EmbeddingModel(
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
    """A model with the paths of its weights and its tokenizer."""

    model: EmbeddingModel
    onnx: Path
    tokenizer: Path


def find(home: Home, name: str) -> ModelFiles:
    """Find the files of a model.

    Args:
        name: a known name, a folder, or empty for the default model.

    Raises:
        Unreachable: the files are not on this machine.
        UsageError: the name is neither known nor a folder.
        SettingsError: the folder's ``embedding.json`` can't be read.
    """
    name = name or DEFAULT
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _in_folder(folder)
    model = KNOWN.get(name)
    if model is None:
        raise UsageError(
            f"unknown embedding model {name!r}",
            f"one of {', '.join(KNOWN)}, or a folder with model.onnx and tokenizer.json",
        )
    if model.is_carried:  # all such models have one vocabulary
        onnx = _DATA / model.name / "model.onnx"
        return _checked(ModelFiles(model, onnx, _DATA / DEFAULT / "tokenizer.json"))
    folder = home.models / model.name
    return _checked(ModelFiles(model, folder / "model.onnx", folder / "tokenizer.json"))


def folder_settings(folder: Path) -> FolderSettings:
    """The content of a folder's ``embedding.json``; the defaults if there is no such file.

    Raises:
        SettingsError: the file can't be read, or a value in it is not allowed.
    """
    path = folder / FOLDER_SETTINGS
    if not path.is_file():
        return FolderSettings()
    try:
        return msgspec.json.decode(path.read_bytes(), type=FolderSettings)
    except (OSError, msgspec.DecodeError) as error:
        fields = ", ".join(FolderSettings.__struct_fields__)
        raise SettingsError(f"{path}: {error}", f"the fields are {fields}") from error


def _in_folder(folder: Path) -> ModelFiles:
    settings = msgspec.structs.asdict(folder_settings(folder))
    model = EmbeddingModel(str(folder), "folder", dimension=0, size_mb=0, **settings)
    return _checked(ModelFiles(model, folder / "model.onnx", folder / "tokenizer.json"))


def is_present(home: Home, name: str) -> bool:
    """Whether the files of a model are on this machine."""
    try:
        find(home, name)
    except Unreachable:
        return False
    return True


def recorded(fingerprint: str, made_with: EmbeddingSettings) -> EmbeddingSettings:
    """The settings with which an index was made, with the name of its model filled in.

    An index of the default model records no name, and the default may have changed since. The name
    is then read from the beginning of the fingerprint.
    """
    if made_with.provider != "onnx" or made_with.model:
        return made_with
    name = next((name for name in KNOWN if fingerprint.startswith(f"{slug(name)}-")), "")
    return msgspec.structs.replace(made_with, model=name)


def slug(name: str) -> str:
    """The form of a model's name at the beginning of a fingerprint."""
    return "".join(char if char.isalnum() else "-" for char in name.lower())[:40]


def is_carried_english(embedding: EmbeddingSettings) -> bool:
    """Whether the settings name a model that is part of the installation and knows only English."""
    model = KNOWN.get(embedding.model or DEFAULT) if embedding.provider == "onnx" else None
    return model is not None and model.is_carried and model.languages == "English"


def second(home: Home, settings: Settings) -> EmbeddingSettings | None:
    """The model to use beside the one in the settings; None if there is none.

    Raises:
        Unreachable: ``search.models`` asks for a second model and it is not on this machine.
    """
    wanted = settings.search.models
    if wanted == "one" or not is_carried_english(settings.embedding):
        return None
    if wanted == "auto" and not is_present(home, SECOND):
        return None
    find(home, SECOND)
    return EmbeddingSettings(model=SECOND)


def convertible(home: Home, name: str) -> bool:
    """Whether a missing model can be converted from weights on this machine."""
    from memsearch_engine.index import e5  # imports numpy, which this module does not need

    model = KNOWN.get(name)
    return (
        model is not None
        and model.source.startswith("convert:")
        and not is_present(home, name)
        and e5.weights() is not None
    )


def _checked(files: ModelFiles) -> ModelFiles:
    """Return *files* if both exist. Raises Unreachable."""
    for path in (files.onnx, files.tokenizer):
        if not path.is_file():
            raise Unreachable(
                f"the embedding model {files.model.name} "
                f"is not on this machine ({path} is missing)",
                f"`memsearch models pull {files.model.name}` fetches it; "
                f"`memsearch models use {DEFAULT}` does without",
            )
    return files


def verify(files: ModelFiles) -> bool:
    """Whether the weights have the SHA-256 of the tested file; True if none is recorded."""
    if not files.model.sha256:
        return True
    with files.onnx.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == files.model.sha256


def pull(home: Home, name: str) -> Path:
    """Convert a model from an installed package if possible, else fetch it from its hub.

    Returns:
        The model's folder in ``models/``.

    Raises:
        Unreachable: the hub can't be reached; the message has the cause.
        UsageError: the name is not known.
    """
    model = KNOWN.get(name)
    if model is None:
        raise UsageError(f"unknown model {name!r}", f"one of {', '.join(KNOWN)}")
    if model.is_carried:
        return find(home, name).onnx.parent
    from memsearch_engine.index import e5

    folder = home.models / model.name
    converts = model.source.startswith("convert:")
    if converts and e5.weights() is not None:
        e5.convert(folder)
    else:
        _fetch(
            folder,
            model.source.partition(":")[2],
            model.files,
            ", or [multilingual] for this one without a hub" if converts else "",
        )
    return find(home, name).onnx.parent


def _fetch(folder: Path, repository: str, files: tuple[str, str], otherwise: str) -> None:
    """Fetch two files of a hub's repository into *folder*.

    Args:
        folder: receives ``model.onnx`` and ``tokenizer.json``.
        repository: name on the hub.
        files: names of the two files there.
        otherwise: another way to get the model, for the error message.
    """
    # read at import. Without it, the client reports to the hub which agent runs it
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.update(network.exemption(os.environ.get("HF_ENDPOINT", "")))
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise Unreachable(
            "fetching models needs the hub extra",
            install_command("hub") + otherwise + ", then try again",
        ) from error
    network.check(repository)
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in zip(files, ("model.onnx", "tokenizer.json")):
        try:
            fetched = hf_hub_download(repository, source, local_dir=folder / "hub")
        except Exception as error:  # the hub's client raises many different errors
            raise Unreachable(
                f"could not fetch {folder.name} from hub:{repository}: "
                f"{type(error).__name__}: {str(error)[:200]}",
                "check the network, or put model.onnx and tokenizer.json into a folder "
                "and name it as embedding.model",
            ) from error
        (folder / target).unlink(missing_ok=True)
        Path(fetched).rename(folder / target)
