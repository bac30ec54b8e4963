"""The masking experiment: a captioner that guesses people from objects does so where it does not see them."""

import json
import re

import numpy as np
import pytest

from captionbias import compare
from captionbias.images import masking_study
from captionbias.images.drawings import COLOURS, draw
from captionbias.images.masking_study import masking_experiment
from captionbias.images.reading import Images
from captionbias.synthetic import ATTRIBUTES, LEAN, TASKS, plant
from tests.images.coco_pictures import annotation, write_annotations
from tests.refusals import refuses

IMAGES, SIZE = 600, 32
OPTIONS = {"preset": "fast", "trials": 3, "bootstrap": 200, "alignment": "constant", "cache": False}


def boxes(pictures, people, folder):
    """The person's box in each drawing, and that of the form on the right."""
    things = []
    for image, (picture, person) in enumerate(zip(pictures, people, strict=True)):
        for category, region in ((1, person), (18, (picture == 0).all(axis=2))):
            rows, columns = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
            box = (columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)
            things.append(annotation(image, category=category, box=tuple(map(int, box))))
    return write_annotations(folder, things, ids=range(IMAGES), size=(SIZE, SIZE))


def captioner(planted):
    """Names the form if it sees it, and whom it sees; of whom it does not see, the gender that goes with the form."""

    def caption(model, images, watch=None, **_):
        found = {}
        for number, image in enumerate(images):
            pixels = np.asarray(image)
            task = TASKS.index(planted.tasks[number][0])
            sees_form = (pixels == 0).all(axis=2).any()
            seen = [name for name in ATTRIBUTES if (np.abs(pixels / 255 - COLOURS[name]) < 0.02).all(axis=2).any()]
            likelier = ATTRIBUTES[int(LEAN[task] < 0.5)]
            guessed = seen[0] if seen else likelier if sees_form else "unseen"
            who = {"female": "a woman", "male": "a man", "unseen": "someone"}[guessed]
            found[images.ids[number]] = f"{who} with a {TASKS[task]}" if sees_form else f"{who} outside"
            if watch:
                watch("captions", number / len(images))
        return found

    return caption


@pytest.mark.slow
def test_without_the_person_tasks_shape_the_attribute_and_without_the_objects_they_cannot(tmp_path, monkeypatch):
    planted = plant(IMAGES, captions=3)
    monkeypatch.setattr(masking_study, "caption", captioner(planted))
    pictures, persons = draw(planted, SIZE)
    people = {"image_id": list(range(IMAGES)), "gender": planted.attributes}
    people |= {"references": planted.references, "tasks": planted.tasks}
    images, shares = Images(tuple(map(str, range(IMAGES))), list(pictures)), []
    chosen = {**OPTIONS, "fill": "#7f7f7f", "watch": lambda step, done: shares.append(done)}
    annotations = boxes(pictures, persons, tmp_path)
    study = masking_experiment("planted", images, annotations, {"references": people, "attribute": "gender"}, **chosen)
    assert shares == sorted(shares)
    dbac = study.comparisons["dbac"]
    scores = {name: measured.estimates["dbac_t_to_a_net"] for name, measured in dbac.measurements.items()}
    assert scores["original"].low <= 0.03
    for version in ("person", "person's box"):
        assert scores[version].low > 0.03
        (difference,) = (one for one in dbac.differences if (one.first, one.score) == (version, "dbac_t_to_a_net"))
        assert difference.second == "original"
        assert difference.ci_low > 0
    assert scores["half the person"].value == pytest.approx(scores["original"].value), "the rest is seen"
    assert study.captions["person and objects"]["0"] == "someone outside"
    assert list(study.captions) == list(masking_study.VERSIONS)
    json.dumps(study.as_dict())


def test_the_picture_has_what_stands_on_the_diagonal():
    planted, biased = (vars(plant(300, captions=3, **dials)) for dials in ({}, {"t_to_a": 0.6}))
    said = {"original": planted["predictions"], "a tenth of the objects": planted["predictions"]}
    said["person"] = biased["predictions"]
    given = {name: planted[name] for name in ("references", "attributes", "tasks")}
    compared = compare(said, **given, metric="sway", bootstrap=50, against="original")
    picture = masking_study.stability(compared)
    [description] = re.findall("<desc>(.*?)</desc>", picture)
    places = re.findall(r"(a tenth of the objects|person), (.*?): (\S+) whole, (\S+) masked", description)
    assert len(places) == picture.count("<circle") == 2 * len({score for _, score, *_ in places})
    moved = {(version, score): float(masked) - float(whole) for version, score, whole, masked in places}
    assert not any(by for (version, _), by in moved.items() if version != "person")
    assert moved["person", "sway T to A, of 100"] > 10


def test_a_version_that_does_not_exist_is_refused():
    unknown = "versions 'faces' is unknown; choose one of original, half the person"
    refuses(unknown, masking_experiment, "planted", [np.zeros((2, 2))], "none.json", {}, versions=["faces"])
