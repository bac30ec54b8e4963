"""The store of embeddings: what an encoder has read once, it does not read again.

Texts are known by a 128-bit digest. A file holds the embeddings of one batch of new texts; it appears whole or not at
all and is never changed. A file that is damaged is left out with a warning, and its texts are encoded anew.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Flags
from captionbias.attackers.cache import warn_unkept
from captionbias.captions import CaptionBiasWarning

Embeddings = npt.NDArray[np.float16]
Encode = Callable[[list[str]], Embeddings]
Keys = npt.NDArray[np.void]

# Part of every file's name: raise it when files are written, or texts digested, in another way.
FORMAT = 2
KEY = np.dtype("V16")
# Texts that are encoded and kept at a time: what a killed run loses at most.
PIECE = 8192


@dataclass(frozen=True)
class EmbeddingStore:
    """Embeddings of one encoder, in `folder`; without a folder nothing is kept.

    `identity`: everything that determines an embedding beside the text. No method raises because of the disk.

    Example:
        >>> import tempfile
        >>> def encode(texts):
        ...     print("reads", texts)
        ...     return np.array([[len(text)] for text in texts], np.float16)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = EmbeddingStore(Path(folder), "lengths")
        ...     _ = store.embed(["a man", "a dog"], encode)
        ...     store.embed(["a woman", "a man"], encode).tolist()
        reads ['a man', 'a dog']
        reads ['a woman']
        [[7.0], [5.0]]
    """

    folder: Path | None
    identity: str

    def embed(self, texts: Sequence[str], encode: Encode) -> Embeddings:
        """The embeddings of distinct texts, `(n, width)`; `encode` is asked for those that are not kept yet."""
        keys = np.array([_key(text) for text in texts], KEY)
        found, rows = self._load(keys)
        missing = np.flatnonzero(~found)
        for start in range(0, len(missing), PIECE):
            piece = missing[start : start + PIECE]
            fresh = encode([texts[number] for number in piece.tolist()])
            self._save(keys[piece], fresh)
            if rows is None:
                rows = np.zeros((len(keys), fresh.shape[1]), np.float16)
            rows[piece] = fresh
        assert rows is not None
        return rows

    @property
    def _name(self) -> str:
        return hashlib.blake2b(f"{FORMAT} {self.identity}".encode(), digest_size=16).hexdigest()

    def _load(self, keys: Keys) -> tuple[Flags, Embeddings | None]:
        """Which keys are kept, and rows for all of them once one is."""
        found = np.zeros(len(keys), bool)
        rows: Embeddings | None = None
        files = sorted(self.folder.glob(f"embeddings-{self._name}-*.npz")) if self.folder else []
        for path in files:
            try:
                here, kept = _read(path, self._name, keys)
            except FileNotFoundError:  # another process made room
                continue
            except Exception as error:  # a damaged file makes its readers raise almost anything
                reason = getattr(error, "strerror", None) or "it is damaged, or another encoder's"
                warnings.warn(
                    f"{path} cannot be used ({reason}): the captions whose embeddings it held are encoded anew",
                    CaptionBiasWarning,
                    stacklevel=2,
                )
                if not isinstance(error, OSError):
                    with suppress(OSError):
                        path.unlink()  # or whoever looks next would be warned as well
                continue
            if not len(kept):
                continue
            if rows is None:
                rows = np.zeros((len(keys), kept.shape[1]), np.float16)
            rows[here] = kept
            found |= here
            with suppress(OSError):
                os.utime(path)  # now the last used; `touch` would make a file that is gone anew, and empty
        return found, rows

    def _save(self, keys: Keys, embeddings: Embeddings) -> None:
        if self.folder is None:
            return
        part = self.folder / f"embeddings-{self._name}-{token_hex(8)}.part"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                with part.open("wb") as file:
                    np.savez(
                        file,
                        encoder=np.array(self._name),
                        keys=keys.view(np.uint8).reshape(-1, KEY.itemsize),
                        embeddings=embeddings,
                    )
                part.replace(part.with_suffix(".npz"))
            finally:
                with suppress(OSError):
                    part.unlink()
        except OSError as error:
            warn_unkept("embeddings of captions and finished trials", self.folder, error)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY.itemsize).digest()


def _read(path: Path, name: str, keys: Keys) -> tuple[Flags, Embeddings]:
    """Which of the keys a file holds, and their embeddings."""
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:  # it holds a checksum of each array
        known = file["keys"].view(KEY).reshape(-1)
        if str(file["encoder"]) != name or not len(known):
            raise ValueError(f"no embeddings of {name}")
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known[order], keys), len(known) - 1)]
        here = known[place] == keys
        kept = file["embeddings"] if here.any() else np.zeros((len(known), 0), np.float16)
    if kept.dtype != np.float16 or kept.ndim != 2 or len(kept) != len(known):
        raise ValueError("embeddings do not fit their keys")
    return here, kept[place[here]]
