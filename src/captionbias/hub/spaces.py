"""Folders of Spaces that run as they lie: their requirements name the package, or a wheel of it beside them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import quote

from huggingface_hub import constants

from captionbias.errors import missing
from captionbias.hub.publishing import files_of

_OURS = re.compile(r"^captionbias(\[[^\]]*\])?(?![\w.-]).*$", re.MULTILINE)


def write_space(folder: Path, to: Path, package: str | None = None, repo: str | None = None) -> None:
    """Write the files of a Space that would be sent to a new folder, from which it starts.

    `package`: a wheel as a file, which is put beside the app, or an address of it or of the source; None where the
    requirements do not name it, for it is on no index yet.
    `repo`: where the folder is sent. A Space is built with requirements.txt alone, which then names the wheel there.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ValueError(f"{to} is there already: name a folder that is new or empty")
    files = files_of(folder)
    named = files.get("requirements.txt")
    text = named.read_text(encoding="utf-8") if named else ""
    if package is None and _OURS.search(text):
        raise missing(
            "package", "is missing: captionbias is on no index yet", "give a wheel", "an address (git+https:...)"
        )
    wheel = None if package is None or "://" in package else Path(package)
    if package is not None and not _OURS.search(text):
        raise ValueError(f"requirements.txt of {folder} does not name captionbias: add it, or give no package")
    if wheel and (not re.fullmatch(r"captionbias-.+\.whl", wheel.name) or not wheel.is_file()):
        raise ValueError(f"package {package!r} is neither an address nor a wheel of captionbias that exists")

    for path, file in files.items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to / path)
    if package is None:
        return
    address = package
    if wheel:
        shutil.copyfile(wheel, to / wheel.name)
        address = f"{constants.ENDPOINT}/spaces/{repo}/resolve/main/{quote(wheel.name)}" if repo else ""

    def requirement(ours: re.Match[str]) -> str:
        extras = ours[1] or ""
        return f"captionbias{extras} @ {address}" if address else f"./{Path(package).name}{extras}"

    (to / "requirements.txt").write_text(_OURS.sub(requirement, text), encoding="utf-8")
