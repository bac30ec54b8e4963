"""This package's wheel beside an app: the package is on no index, so a Space carries the wheel that it requires."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.metadata import Metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

import captionbias
from captionbias.text.markdown import one_line

REQUIREMENTS, CARD = "requirements.txt", "README.md"
INSTALL = re.compile(r'pip install "\.\[([\w,]+)\]"  # in a clone')


@dataclass(frozen=True)
class Wheel:
    """A wheel of this package: its file name, its bytes, and what its metadata say."""

    name: str
    content: bytes
    metadata: Metadata


def requirement(line: str) -> Requirement | None:
    """What a line of requirements.txt asks of captionbias, if it does and leaves to pip where that is found.

    >>> requirement("captionbias[app]>=0.1"), requirement("gradio"), requirement("# captionbias")
    (<Requirement('captionbias[app]>=0.1')>, None, None)
    """
    try:
        required = Requirement(line.strip())
    except InvalidRequirement:  # an option of pip, a comment or nothing
        return None
    return required if required.name == "captionbias" and required.url is None else None


def find_wheel(path: str | os.PathLike[str] | None) -> Wheel:
    """The wheel at `path`, or one that is built from the clone when None.

    Raises:
        ValueError: it is no wheel of captionbias; captionbias is not imported from a clone, or cannot be built.
    """
    if path is not None:
        return _read(Path(path))
    root = Path(captionbias.__file__).parents[2]
    if not (root / "pyproject.toml").is_file():
        raise ValueError(
            "wheel is missing: captionbias was not installed from a clone, so name its wheel (--wheel FILE)"
        )
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        built = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if built.returncode:
            reason = one_line(built.stderr.strip().rpartition("\n")[2])
            raise ValueError(
                f"the wheel cannot be built ({reason}): pip install 'captionbias[hub]', or name one (--wheel)"
            )
        (wheel,) = Path(folder).iterdir()
        return _read(wheel)


def _read(path: Path) -> Wheel:
    try:
        _, version, _, _ = parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            metadata = Metadata.from_email(archive.read(f"captionbias-{version}.dist-info/METADATA"), validate=False)
    except (InvalidWheelFilename, OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"wheel: {path} is not a wheel of captionbias ({error})") from error
    return Wheel(path.name, path.read_bytes(), metadata)


def unmet(wheel: Wheel, required: Requirement, python: str) -> list[str]:
    """Why this requirement could not be met with this wheel by that Python, such as "3.11"; none if it can."""
    metadata = wheel.metadata
    missing = sorted(required.extras - set(metadata.provides_extra or ()))
    found = [] if metadata.version in required.specifier else [f"{REQUIREMENTS} asks for {required}"]
    found += [f"{REQUIREMENTS} asks for the extra {extra}" for extra in missing]
    if metadata.requires_python and python not in metadata.requires_python:
        found.append(f"{CARD} has python_version {python}, and the wheel requires {metadata.requires_python}")
    return [f"{fault}, which {wheel.name} does not meet" for fault in found]


def carrying(files: Mapping[str, Path], wheel: Wheel, folder: str) -> dict[str, Path | bytes]:
    """A Space's files with the wheel, which requirements.txt and the card's line of pip name by its address.

    Args:
        files: by their paths in the Space.
        wheel: see `find_wheel`.
        folder: the address at which the Space's files are read.
    """
    address = f"{folder}/{wheel.name}"
    lines = []
    for line in files[REQUIREMENTS].read_text(encoding="utf-8").splitlines():
        required = requirement(line)
        extras = f"[{','.join(sorted(required.extras))}]" if required and required.extras else ""
        lines.append(f"captionbias{extras} @ {address}\n" if required else f"{line}\n")
    card = files[CARD].read_text(encoding="utf-8")
    card = INSTALL.sub(rf'pip install "captionbias[\1] @ {address}"  # the wheel beside this card', card)
    return {**files, CARD: card.encode(), REQUIREMENTS: "".join(lines).encode(), wheel.name: wheel.content}
