"""One signature, one number: of every argument of every metric two values that move a number have two signatures."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from gensim.models import KeyedVectors

from captionbias import metrics
from captionbias.attackers import engine, registry
from captionbias.attackers.recipes import RECIPES, Recurrent
from captionbias.bench.catalogue import METRICS
from captionbias.captions import check_captions
from captionbias.images.drawings import draw
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from tests.attackers.conftest import resnet as resnet
from tests.attackers.conftest import tiny_bert as tiny_bert

IMAGES, PICTURES = 120, 40
QUICK = {"preset": "fast", "trials": 2, "draws": 1, "epochs": 1, "bootstrap": 20, "cache": False}
# What cannot move a number, of which two values give one result.
IDLE = {"allow_unmasked", "cache", "details", "distributed", "keep_attackers", "progress", "trust_rows"}
SLOW = {"dbac", "dpa", "imagecaptioner2", "label_leakage", "lic"}
NEURAL = {"model", "precision", "images", "image_encoder"}
EVERY = [
    pytest.param(name, argument, marks=[pytest.mark.slow] * (name in SLOW or argument in NEURAL))
    for name, entry in METRICS.items()
    for argument in ("captions", *sorted(getattr(metrics, name).options()))
]
LEFT_OUT = object()

GENDER = {"female": ["woman", "women", "lady", "girl", "she"], "male": ["man", "men", "guy", "boy", "he"]}
OTHER_GENDER = GENDER | {"male": ["man", "men", "guy"]}
LEANS = {"female": ["handbag", "teddy bear"], "male": ["skateboard", "surfboard"]}
OTHER_LEANS = {"female": ["skateboard"], "male": ["handbag"]}


def said(images: int, **dials: float) -> list[str]:
    """Captions of a captioner whose words are its own in part."""
    texts = plant(images, captions=3, **dials).predictions
    return [text.replace("in a", "at the") if row % 3 else text for row, text in enumerate(texts)]


def swapped(labels: list[str]) -> list[str]:
    return [{"female": "male", "male": "female"}[label] for label in labels]


@cache
def captions(name: str) -> dict[str, list]:
    images = PICTURES if METRICS[name].of_images else IMAGES
    columns = vars(plant(images, a_to_t=0.3, t_to_a=0.3, captions=3))
    if METRICS[name].of_images:
        columns["images"], columns["masks"] = draw(plant(images))
    people = [[text.replace("street", "boulevard") for text in texts] for texts in columns["references"]]
    return columns | {"predictions": said(images, a_to_t=0.3, t_to_a=0.3), "references": people}


@cache
def labels(seed: int = 0) -> dict[str, list]:
    """Of images, and what is predicted of them."""
    flags = np.random.default_rng(seed).random((4, IMAGES)) < 0.5
    women, balls, said_women, said_balls = flags
    return {
        "attributes": ["female" if woman else "male" for woman in women],
        "tasks": [["ball"] if ball else ["cup"] for ball in balls],
        "predicted_attributes": ["female" if said else "male" for said in np.where(flags[1], women, said_women)],
        "predicted_tasks": [
            ["ball", "cup"][: 1 + said] if women[row] else ["cup"] for row, said in enumerate(said_balls)
        ],
    }


def vectors(seed: int) -> KeyedVectors:
    made = KeyedVectors(3)
    words = ["sits", "stands", "walks", "waits", "street", "boulevard", "room", "park", "a", "in", "on", "at", "the"]
    made.add_vectors(words, np.random.default_rng(seed).normal(size=(len(words), 3)))
    made.called = "mine"
    return made


def splits(*joined: str):
    """A tokenizer whose words are its own: those of a closure have one name."""
    return lambda caption: [word for word in caption.lower().split() if word not in joined]


class Splits:
    def __init__(self, joined: str) -> None:
        self.joined = joined

    def __call__(self, caption: str) -> list[str]:
        return splits(self.joined)(caption)


@pytest.fixture(scope="module")
def files(tmp_path_factory, tiny_bert, resnet) -> dict[str, list]:
    """Two of each kind, of one name and other content."""
    from safetensors.torch import load_file, save_file

    folders = [tmp_path_factory.mktemp("either") for _ in range(2)]
    for number, folder in enumerate(folders):
        for kind, (one, other) in {"lean": (LEANS, OTHER_LEANS), "gender": (GENDER, OTHER_GENDER)}.items():
            (folder / f"{kind}.json").write_text(json.dumps(other if number else one))
        for model in (tiny_bert, resnet):
            copy = folder / model.name
            copy.mkdir()
            for file in model.iterdir():
                (copy / file.name).write_bytes(file.read_bytes())
            if number:
                weights = load_file(copy / "model.safetensors")
                moved = {key: value.flip(0) if value.ndim else value for key, value in weights.items()}
                save_file(moved, copy / "model.safetensors", {"format": "pt"})
        annotations = {"categories": [{"id": 1, "name": "person"}], "annotations": [], "images": []}
        for row in range(PICTURES):
            annotations["images"].append({"id": row, "file_name": f"row {row}", "height": 32, "width": 32})
            outline = [[2, 2, 20, 2, 2, 28 - 9 * number]]
            annotations["annotations"].append(
                {
                    "id": row,
                    "image_id": row,
                    "category_id": 1,
                    "segmentation": outline,
                    "bbox": [2, 2, 18, 26],
                    "iscrowd": 0,
                }
            )
        (folder / "regions.json").write_text(json.dumps(annotations))
    names = ("lean.json", "gender.json", "tiny-bert", "tiny-resnet", "regions.json")
    return {name: [str(folder / name) for folder in folders] for name in names}


def changes(name: str, files: dict[str, list]) -> dict[str, list[tuple]]:
    """Of each argument a value, another one, and what else is given."""
    columns, said_else = captions(name), said(len(captions(name)["attributes"]), a_to_t=0.9)
    images = len(columns["attributes"])
    alone, others = {**columns, "references": None}, plant(images, captions=3, seed=5)
    lists = [[text, text.replace("street", "park")] for text in said_else]
    german, in_german = vars(plant(images, t_to_a=0.5, captions=2, language="de")), {"prompt": "ist"}
    spoken = {"attribute_lexicon": "gender-de", "task_lexicon": "coco_objects-de", **in_german, **german}
    pictures = {key: columns[key] for key in ("images", "masks") if key in columns}
    drawn, _ = draw(plant(images, a_to_t=0.9, seed=3))
    aligned = {"alignment": "contextual", "vectors": vectors(0)}
    beside = {"images": draw(plant(images))[0], "image_encoder": files["tiny-resnet"][0]}
    weights, times, few = (
        [1 + row % 7 for row in range(images)],
        [1 + (row < images // 3) for row in range(images)],
        [row // 2 if row < 20 else 100 + row for row in range(images)],
    )
    scenes = [row // 2 for row in range(images)]
    training = {f"training_{side}": labels(1)[side] for side in ("attributes", "tasks")}
    read = [
        check_captions(**{k: v for k, v in of.items() if k not in pictures})
        for of in (columns, columns | {"predictions": said_else})
    ]
    frequent = {"words": True, "most_frequent": 1000, "at_least": 5}
    bert, small = {"encoder": "bert-frozen", "precision": "fp32"}, {"encoder": "lstm-dbac"}

    def both(value, other, given=columns, **needed):
        return (value, other, {**given, **needed})

    return {
        "captions": [(*read, {**pictures, "references": LEFT_OUT})],
        "predictions": [both(columns["predictions"], said_else), both(lists, said_else), both(said_else, lists, alone)],
        "references": [both(columns["references"], [texts[::-1][:2] for texts in others.references], trust_rows=True)],
        "attributes": [
            both(columns["attributes"], swapped(columns["attributes"]), trust_rows=True),
            both(labels()["attributes"], swapped(labels()["attributes"]), labels()),
        ],
        "tasks": [
            both(columns["tasks"], [shown[:1] if row % 2 else [] for row, shown in enumerate(columns["tasks"])]),
            both(labels()["tasks"], labels(2)["tasks"], labels()),
        ],
        "predicted_attributes": [both(labels()["predicted_attributes"], labels(2)["predicted_attributes"], labels())],
        "predicted_tasks": [both(labels()["predicted_tasks"], labels(2)["predicted_tasks"], labels())],
        "training_attributes": [
            both(training["training_attributes"], swapped(training["training_attributes"]), labels() | training)
        ],
        "training_tasks": [both(training["training_tasks"], labels(2)["tasks"], labels() | training)],
        "weights": [both(weights, weights[::-1]), both(weights, weights[::-1], labels())],
        "freq_weights": [both(times, times[::-1]), both(times, times[::-1], labels())],
        "scene": [both(scenes, [*scenes[1:], 0], alone), both(few, [*few[:10], *range(10, 20), *few[20:]], columns)],
        "language": [both("de", None, {**pictures, **spoken})],
        "trust_rows": [both(True, False)],
        "preset": [both("papers", "fast", encoder="bow", trials=None)],
        "encoder": [both("bow", "linear"), both("lstm-dbac", "linear")],
        "model": [both(*files["tiny-bert"], **bert)],
        "precision": [both("fp32", "bf16", **small)],
        "images": [
            both(columns.get("images"), drawn),
            both(drawn, draw(plant(images))[0], image_encoder=files["tiny-resnet"][0]),
        ],
        "image_encoder": [both(*files["tiny-resnet"], **beside)],
        "masks": [both(columns.get("masks"), np.zeros((images, 32, 32), bool)), both(*files["regions.json"])],
        "form": [both("box", "segment", masks=files["regions.json"][0])],
        "fill": [both("blur", "mean")],
        "epochs": [both(2, 1)],
        "prompt": [both("on the street", "in a room in the park")],
        "answers": [both({"female": "woman"}, {"female": "someone with a dog"})],
        "trials": [both(3, 2)],
        "seed": [both(1, 0)],
        "seeds": [both([3, 4], [0, 1], trials=None)],
        "draws": [both(3, 1)],
        "bootstrap": [both(30, 20)],
        "quality": [both("accuracy", "confidence"), both("inverse_cross_entropy", "confidence")],
        "bayes": [both(False, True)],
        "pairing": [both("every-caption", "held-out")],
        "controls": [both(False, True)],
        "directions": [both(["a_to_t"], ["t_to_a"])],
        "equalize": [both(False, True)],
        "alignment": [both("contextual", "constant", delta=1.9)],
        "vectors": [both(vectors(1), vectors(0), alignment="contextual")],
        "delta": [both(0.001, 1.9, **aligned), both(0.4, 0.4000001, **aligned)],
        "vocabulary": [both(["a", "in", "on", "street"], ["woman", "man"], alignment="constant")],
        "unseen_only": [both(True, False)],
        "words": [both(True, False, **{**frequent, "words": False})],
        "most_frequent": [both(12, 1000, **frequent)],
        "at_least": [both(5, 20, **frequent), both(3, 1)],
        "label_error": [both(0.2, 0.05)],
        "lean": [both(*files["lean.json"]), both("own", LEFT_OUT), both(LEANS, OTHER_LEANS)],
        "tokenizer": [
            both("whitespace", "words"),
            both(splits("woman", "cake"), splits("man"), allow_unmasked=True),
            both(Splits("woman"), Splits("man"), allow_unmasked=True),
            both(partial(str.split, sep=" "), partial(str.split, sep=" a ")),
        ],
        "attribute_lexicon": [
            both(*files["gender.json"], **in_german),
            both(GENDER, OTHER_GENDER, **in_german),
            both(GENDER, dict(reversed(GENDER.items())), **in_german),
            both(replace(load_lexicon("gender"), groups=OTHER_GENDER), "gender", prompt="is"),
        ],
        "task_lexicon": [
            both(
                {"extends": "coco_objects", "groups": {"cup": ["street"]}}, "coco_objects", {**columns, "tasks": None}
            ),
            both({"handbag": ["handbag"]}, {"handbag": ["dog"]}, {**columns, "tasks": None}),
        ],
        "allow_unmasked": [both(True, False)],
        "cache": [both(True, False)],
        "details": [both(True, False)],
        "distributed": [both(True, False)],
        "keep_attackers": [both(1, 0)],
        "progress": [both(True, False)],
    }


def measured(name, argument, value, given):
    """The result with this value, in which notes and details play no part."""
    metric = getattr(metrics, name)
    given = {key: of for key, of in (QUICK | given | {argument: value}).items() if of is not LEFT_OUT}
    first = [given.pop("captions")] if argument == "captions" else []
    result = metric(*first, **{key: of for key, of in given.items() if key in metric.options()})
    result.pop("details", None)
    return result


def numbers(result):
    """As text, in which what is undefined is like itself."""
    return json.dumps({key: value for key, value in result.items() if not isinstance(value, str)})


@pytest.fixture(scope="module")
def pairs(files):
    return cache(partial(changes, files=files))


@pytest.fixture
def small(monkeypatch):
    """Networks that are trained in no time, in this process."""
    monkeypatch.setattr(engine, "cores", lambda: 1)
    recipe = replace(RECIPES["lstm-dbac"], encoder=Recurrent("lstm", 4), embedding=4)
    brief = replace(recipe.schedule, epochs=2, least_steps=0, learning_rate=3.0)
    monkeypatch.setitem(RECIPES, "lstm-dbac", replace(recipe, schedule=brief))
    monkeypatch.setattr(registry, "BERT_FROZEN", replace(registry.BERT_FROZEN, schedule=brief))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "argument"), EVERY)
def test_two_values_of_an_argument_that_move_a_number_have_two_signatures(name, argument, pairs, small, capsys):
    """An argument for which no such values are known here fails, as a new one does that nothing signs."""
    metric, moves = getattr(metrics, name), []
    for value, other, given in pairs(name)[argument]:
        try:
            one, two = (measured(name, argument, of, given) for of in (value, other))
        except (ValueError, TypeError) as refused:  # by this metric; another pair is not
            moves.append(str(refused))
            continue
        moves.append(numbers(one) != numbers(two))
        assert one["signature"] != two["signature"] or not moves[-1], (value, other)
        assert argument not in IDLE or repr(one) == repr(two)
    unused = argument in IDLE or (
        argument in metric.arguments and metric.arguments[argument].about.startswith("not used")
    )
    assert (True in moves) != unused, moves
