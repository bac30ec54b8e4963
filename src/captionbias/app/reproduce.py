"""The command and the lines of Python that reproduce what the page measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from captionbias.app.data import Data
from captionbias.app.results import DATA
from captionbias.app.uploads import ARCHIVES, Pictures
from captionbias.text import Lexicon

IMAGES = "images"  # the folder that commands read
READING = ("references", "id_column", "attribute_column")
OPTIONS = {"attribute_lexicon": "attribute", "metrics": "metric"}  # where the command line has another name


def command(data: Data, settings: dict[str, Any], lexicons: dict[str, Any]) -> str | None:
    """One command line; None for data that are not files, or that are files of one name. `lexicons`: the words that
    were chosen, by setting: names, and custom words, which are in a file called like them."""
    predictions = {name: table.name for name, table in data.predictions.items()}
    others = _others(data)
    files = [*predictions.values(), *others.values()]
    if data.code or len(set(files)) < len(files):
        return None
    named = [file if Path(file).stem == name else f"{name}={file}" for name, file in predictions.items()]
    options = {"predictions": named, **others, **vars(data.columns), **_chosen(settings, lexicons)}
    return shlex.join(["captionbias", "report", *_flags(options)])


def python(data: Data, settings: dict[str, Any], lexicons: dict[str, Any]) -> str:
    """The same as Python."""
    predictions = {name: table.name for name, table in data.predictions.items()}
    options = {**_others(data), **vars(data.columns), "keep": data.columns.keep or None}
    read = (
        "from captionbias.captions import on_the_same_images, read_captioners\n\n"
        f"captioners = on_the_same_images(read_captioners(\n    {predictions!r},\n{_lines(options)}))\n"
    )
    return (
        "from captionbias.analysis.audit import audit\nfrom captionbias.report.html import write_report\n"
        f"{data.code or read}"
        f"measured = audit(\n    captioners,\n{_lines(_chosen(settings, lexicons))})\n"
        'write_report(measured, "report.html")\n'
    )


def image_command(captioners: Sequence[str], pictures: Pictures, arguments: dict[str, Any]) -> str:
    """One command line that measures captioners of the file `captions.json` on uploaded images."""
    packed = [source for source in pictures.sources if source.lower().endswith(ARCHIVES)]
    commands = [shlex.join(["unzip", "-j", "-d", IMAGES, source]) for source in packed]
    for captioner in captioners:
        words = ["captionbias", "measure", "imagecaptioner2", "--predictions", DATA, "--images", IMAGES]
        words += ["--annotations", pictures.annotations] if pictures.annotations else ["--masked"]
        words += _flags({"prediction_column": column_of(captioner), **arguments})
        commands.append(shlex.join(words))
    return " && ".join(commands)


def image_python(captioners: Sequence[str], pictures: Pictures, arguments: dict[str, Any]) -> str:
    """The same as Python."""
    reading = {name: value for name, value in arguments.items() if name in READING}
    metric = {name: value for name, value in arguments.items() if name not in READING}
    masks = {"masks": pictures.annotations} if pictures.annotations else {}
    measured = {"images": IMAGES, **masks, **metric}
    return (
        "from captionbias import imagecaptioner2\nfrom captionbias.captions import read_captions\n\n"
        f"for column in {[*map(column_of, captioners)]!r}:\n"
        f"    captions = read_captions(\n        {DATA!r},\n        prediction_column=column,\n{_lines(reading, 8)}"
        f"    )\n    print(imagecaptioner2(\n        captions,\n{_lines(measured, 8)}    ))\n"
    )


def column_of(captioner: str) -> str:
    """The column of a captioner's captions in the file `captions.json`."""
    return f"captions of {captioner}"


def _flags(options: dict[str, Any]) -> Iterator[str]:
    """Options as the command line has them, several values one by one."""
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield from (f"--{OPTIONS.get(name, name).replace('_', '-')}", str(each))


def _others(data: Data) -> dict[str, str]:
    return {argument: table.name for argument, table in data.others().items()}


def _chosen(settings: dict[str, Any], lexicons: dict[str, Any]) -> dict[str, Any]:
    """The settings that are not defaults, with custom words as files."""
    names = ("metrics", "preset", "trials", "seed")
    chosen = {name: settings[name] for name in names if settings[name] is not None}
    return chosen | {name: written(lexicon) for name, lexicon in lexicons.items()}


def written(lexicon: Any) -> Any:
    """The words as settings name them, custom ones by their file."""
    if isinstance(lexicon, list):
        return list(map(written, lexicon))
    return f"{lexicon.name}.json" if isinstance(lexicon, Lexicon) else lexicon


def _lines(arguments: dict[str, Any], indent: int = 4) -> str:
    return "".join(f"{' ' * indent}{name}={value!r},\n" for name, value in arguments.items())
