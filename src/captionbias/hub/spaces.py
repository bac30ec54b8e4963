"""Folders of Spaces that run as they lie, here and on the Hub, which installs requirements before it has the folder:
these name the package at an address, or what a wheel needs, which the app installs as it starts."""

from __future__ import annotations

import ast
import re
import shutil
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

from captionbias.errors import missing
from captionbias.hub.publishing import files_of

_OURS = re.compile(r"^captionbias(?:\[([^\]]*)\])?(?![\w.-]).*$", re.MULTILINE)
_EXTRA = re.compile(r"(?:\band\s+)?extra\s*==\s*['\"]([^'\"]+)['\"]")
START = """
# The Hub installs requirements before this folder is there.
if __name__ == "__main__":
    import importlib
    import subprocess
    import sys
    from pathlib import Path

    wheel = Path(__file__).with_name("{}")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    importlib.invalidate_caches()
"""


def write_space(folder: Path, to: Path, package: str | None = None) -> None:
    """Write the files of a Space that would be sent to a new folder, from which it starts.

    `package`: a wheel as a file, which is put beside the app, or an address of it or of the source; None where the
    requirements do not name it, for it is on no index yet.
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
    if wheel and "app.py" not in files:
        raise ValueError(f"{folder} has no app.py, which would install the wheel: give an address as package")
    if wheel and (not re.fullmatch(r"captionbias-.+\.whl", wheel.name) or not wheel.is_file()):
        raise ValueError(f"package {package!r} is neither an address nor a wheel of captionbias that exists")

    for path, file in files.items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to / path)
    if package is None:
        return

    def required(ours: re.Match[str]) -> str:
        extras = ours[1] or ""
        if not wheel:
            return f"captionbias{extras and f'[{extras}]'} @ {package}"
        return "\n".join(dict.fromkeys(line for extra in ("", *extras.split(",")) for line in _needs(wheel, extra)))

    (to / "requirements.txt").write_text(_OURS.sub(required, text), encoding="utf-8")
    if wheel:
        shutil.copyfile(wheel, to / wheel.name)
        app = to / "app.py"
        app.write_text(_installing(wheel.name, app.read_text(encoding="utf-8")), encoding="utf-8")


def _needs(wheel: Path, extra: str) -> list[str]:
    """What a wheel of ours requires for an extra, or for none, as requirements of their own."""
    with ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist") or []
    lines = []
    for requirement, marker in (map(str.strip, text.partition(";")[::2]) for text in told):
        of = _EXTRA.search(marker)
        if (of[1] if of else "") == extra.strip():
            if ours := _OURS.match(requirement):
                lines += [line for more in (ours[1] or "").split(",") for line in _needs(wheel, more)]
            else:
                lines.append("; ".join(filter(None, (requirement, _EXTRA.sub("", marker).strip()))))
    return lines


def _installing(wheel: str, app: str) -> str:
    """An app that installs the wheel beside it before it imports anything of it."""
    place = 0
    for node in ast.parse(app).body:
        if not (isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            break
        place = node.end_lineno or 0
    lines = app.splitlines(keepends=True)
    return "".join(lines[:place]) + START.format(wheel) + "".join(lines[place:])
