"""Other people's benchmarks, which have labels and no human captions: VisoGender, PHASE, SocialCounterfactuals,
FairFace and PATA."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import pyarrow as pa

from captionbias.captions.tables import table_from_file
from captionbias.datasets.original_files import OriginalFiles
from captionbias.io.formats import read_json

Rows: TypeAlias = Iterator[dict[str, Any]]

_SAID = {"masculine": "male", "feminine": "female", "lighter": "light", "darker": "dark"}
_NOTHING = ("", "unsure", "none", "nan")
_IN_PHASE = {"gender": "gender", "skin": "skintone", "ethnicity": "ethnicity", "age": "age", "activity": "activity"}
_IN_PATA = re.compile(r"((.+)_([a-z]+)_([a-z]+)_([a-z]+))\|(.+)")  # "forest_indian_male_young|https://..."
_LABELS = ("gender", "skin", "race", "ethnicity", "age", "physique")  # a row has one of them


def _label(value: Any) -> str | None:
    """A label as the lexicons of this library spell it; None for none."""
    plain = str(value).strip().lower()
    return None if value is None or plain in _NOTHING else _SAID.get(plain, plain)


def _agreed(labels: Sequence[str | None]) -> str | None:
    """The label that more than half of these say."""
    [(label, times)] = Counter(labels).most_common(1) or [(None, 0)]
    return label if 2 * times > len(labels) else None


def _everybody(labels: Sequence[str | None]) -> str | None:
    """The label that all of these have."""
    return labels[0] if len({*labels}) == 1 else None


def _columns(path: Path, *names: str) -> Iterator[tuple[Any, ...]]:
    table = table_from_file(path)
    return zip(*map(table.column, names), strict=True)


def _visogender(path: Path, of: str | None = None) -> Rows:
    """`of`: pictures of `one` person, of two who are `alike` or `different`, each with the occupation alone; None: of
    all people of one gender."""
    roles = [role for role in ("Occupation", "Participant") if role in table_from_file(path).columns]
    genders = [f"{role}_perceived_gender" for role in roles]
    for image, url, fault, *said in _columns(
        path, "IDX", "URL type (Type NA if can't find)", "Error codes", *roles, *genders
    ):
        tasks, people = said[: len(roles)], [_label(gender) for gender in said[len(roles) :]]
        kind = "one" if len(people) == 1 else "alike" if len({*people}) == 1 else "different"
        label = people[0] if of == "different" and all(people) else _everybody(people)
        if of in (None, kind):
            yield {
                "image_id": image,
                "gender": None if fault else label,
                "tasks": tasks[: 1 if of else None],
                "url": url,
            }


def _phase(path: Path) -> Rows:
    for image, parts in read_json(path).items():
        people = [part["annotations"] for name, part in parts.items() if name != "caption" and "annotations" in part]
        labels = {
            name: _everybody([_agreed([_label(answer.get(field)) for answer in answers]) for answers in people])
            for name, field in _IN_PHASE.items()
        }
        yield {"image_id": image, **labels, "alt_text": parts.get("caption")}


def _social_counterfactuals(path: Path) -> Rows:
    names = ("counterfactual_set", "a1a2", "caption", "a1_type", "a1", "a2_type", "a2")
    for scene, both, caption, *types_and_values in _columns(path, *names):
        kind, value, other_kind, other_value = map(_label, types_and_values)
        named = {kind: value, other_kind: other_value}
        gender, race = named.pop("gender", None), named.pop("race", None)
        labels = {"gender": gender, "race": race, "physique": next(iter(named.values()), None)}
        *_, occupation = caption.lower().partition(f" {other_value} ")  # "A photo of a White male barber"
        yield {"image_id": f"{scene}/{both}", "scene": scene, "tasks": [occupation], **labels}


def _fairface(path: Path) -> Rows:
    for image, *labels in _columns(path, "file", "gender", "race", "age"):
        yield {"image_id": image, **dict(zip(("gender", "race", "age"), map(_label, labels), strict=True))}


def _pata(path: Path) -> Rows:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        tag, place, race, gender, age, url = _IN_PATA.fullmatch(line).groups()  # type: ignore[union-attr]
        yield {"image_id": f"{tag}_{number}", "gender": gender, "race": race, "age": age, "place": place, "url": url}


class Benchmark(NamedTuple):
    """`files`: a pattern of their names; `read`: the rows of one of them, by column, of which each may be missing."""

    files: str
    origin: str
    columns: tuple[str, ...]
    read: Callable[[Path], Rows]


_VISOGENDER = Benchmark(
    "O?_Visogender*.tsv", "https://github.com/oxai/visogender", ("gender", "tasks", "url"), _visogender
)
BENCHMARKS = {
    "visogender": _VISOGENDER,
    **{
        f"visogender_{of}": _VISOGENDER._replace(read=partial(_visogender, of=of))
        for of in ("one", "alike", "different")
    },
    "phase": Benchmark(
        "phase_gcc_val_all_*.json", "https://github.com/noagarcia/phase", (*_IN_PHASE, "alt_text"), _phase
    ),
    "social_counterfactuals": Benchmark(
        "train-*.parquet",
        "https://huggingface.co/datasets/Intel/SocialCounterfactuals",
        ("gender", "race", "physique", "tasks", "scene"),
        _social_counterfactuals,
    ),
    "fairface": Benchmark(
        "fairface_label_val.csv", "https://github.com/joojs/fairface", ("gender", "race", "age"), _fairface
    ),
    "pata": Benchmark(
        "pata_fairness.files.lst",
        "https://github.com/pata-fairness/pata_dataset",
        ("gender", "race", "age", "place", "url"),
        _pata,
    ),
}


class LabelBenchmarks(OriginalFiles):
    """A reader of the files of each benchmark, wherever in the folder they are."""

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = tuple(BENCHMARKS)
    SPLIT: ClassVar[str] = "test"
    BENCHMARK: ClassVar[bool] = False

    def schema(self, configuration: str) -> pa.Schema:
        lists = {"tasks": pa.list_(pa.string())}
        names = ("image_id", *BENCHMARKS[configuration].columns)
        return pa.schema({name: lists.get(name, pa.string()) for name in names})

    def rows(self, configuration: str) -> Rows:
        benchmark, left_out = BENCHMARKS[configuration], Counter[str]()
        self.left_out[configuration] = left_out
        files = sorted(self.folder.rglob(benchmark.files))
        if not files:
            raise ValueError(
                f"{self.folder} has no {benchmark.files}: put it there, it comes from {benchmark.origin}; or name the "
                f"configurations that are there, as in --config {next(iter(BENCHMARKS))}"
            )
        for path in files:
            for row in benchmark.read(path):
                if any(row.get(label) for label in _LABELS):
                    yield row
                else:
                    left_out["without a label that all people in it have"] += 1
