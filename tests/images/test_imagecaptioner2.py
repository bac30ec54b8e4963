"""ImageCaptioner2: planted biases come out, one more person reads 0, and it sees what captions alone cannot show."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from captionbias.captions import check_captions
from captionbias.images import judges
from captionbias.images.drawings import draw
from captionbias.metrics import imagecaptioner2
from captionbias.synthetic import plant
from tests.cli.conftest import ran, refused, write_sides
from tests.refusals import refuses
from tests.whole import lic

ANSWERS = {"female": "woman", "male": "man"}
IMAGES = 300
IDS = range(40, 0, -1)


@pytest.fixture
def quick(monkeypatch):
    """Drawings of 16 pixels and small batches: judges that learn in seconds."""
    monkeypatch.setattr(judges, "SMALL", 16)
    monkeypatch.setattr(judges, "FROM_SCRATCH", judges.Schedule(2e-3, batch=32, epochs=1))
    return {"trials": 2, "epochs": 16, "prompt": "is", "bootstrap": 200, "cache": False}


def pictures(cue):
    """Dark and light pictures of 16 pixels."""
    return list(np.full((len(cue), 16, 16), 60, np.uint8) + 140 * np.asarray(cue, np.uint8)[:, None, None])


def both(sex, captioner, person):
    """Captions of the captioner and of people, whose words are these, of images with these labels."""
    said = [[f"a woman {('dog', 'cake')[number]}" for number in words] for words in (captioner, person)]
    sides = {"predictions": said[0], "references": [[one] for one in said[1]], "attributes": labels(sex)}
    return sides | {"trust_rows": True}


@pytest.fixture(scope="module")
def draws():
    """Labels, and three columns of coins that have nothing to do with them."""
    generator = np.random.default_rng(0)
    return np.arange(IMAGES) % 2, *generator.integers(2, size=(3, IMAGES))


def labels(sex):
    return [("female", "male")[number] for number in sex]


def interval(result, key="imagecaptioner2"):
    return result[f"{key}_ci_low"], result[f"{key}_ci_high"]


@pytest.mark.slow
def test_captions_that_give_the_label_away_amplify_and_those_that_hide_it_mitigate(draws, quick, tmp_path):
    quick["cache"] = tmp_path  # the second reads the judges of the first, of the other side
    sex, coin, other, cue = draws
    leaning = np.where(np.random.default_rng(1).random(IMAGES) < 0.8, sex, coin)
    more = imagecaptioner2(**both(sex, leaning, other), images=pictures(cue), **quick)
    less = imagecaptioner2(**both(sex, other, leaning), images=pictures(cue), **quick)
    assert interval(more)[0] > 10
    assert interval(less)[1] < -10
    assert less["imagecaptioner2"] == pytest.approx(-more["imagecaptioner2"], abs=1e-6)
    for form in ("_leakage", "_lic"):
        assert more[f"imagecaptioner2{form}"] > 10


@pytest.mark.slow
def test_what_image_and_caption_say_together_is_seen_here_and_not_by_lic(draws, quick):
    """The captioner's word is the picture's brightness or its opposite, as the label says; people's is a coin. An
    answer may be several words."""
    sex, coin, _, cue = draws
    captions = both(sex, sex ^ cue, coin)
    answers = {"female": "woman", "male": "man on the street"}
    seen = imagecaptioner2(**captions, images=pictures(cue), answers=answers, **quick | {"trials": 1})
    assert seen["imagecaptioner2"] > 30
    assert abs(seen["imagecaptioner2_d"] - 50) < 8
    unseen = lic(**captions, preset="fast", trials=3, bootstrap=0, cache=False)
    assert abs(unseen["confidence_m"] - 50) < 8
    assert abs(unseen["confidence"]) < 8


@pytest.mark.slow
def test_what_the_image_says_outside_the_person_is_on_both_sides(draws, quick):
    """And so amplifies nothing; the person would say it, and is masked."""
    sex, coin, other, cue = draws
    persons = np.zeros((IMAGES, 16, 16), bool)
    persons[:, :8, :8] = True
    captions = both(sex, coin, other) | {"masks": list(persons)}
    outside = list(np.where(persons, 0, pictures(sex)).astype(np.uint8))
    quick |= {"trials": 1}
    found = imagecaptioner2(**captions, images=outside, **quick)
    assert min(found["imagecaptioner2_m"], found["imagecaptioner2_d"]) > 85
    assert abs(found["imagecaptioner2"]) < 5
    inside = list(np.where(persons, pictures(sex), pictures(cue)).astype(np.uint8))
    masked = imagecaptioner2(**captions, images=inside, **quick | {"epochs": 4})
    assert abs(masked["imagecaptioner2_m"] - 50) < 8


def test_one_more_person_reads_0(draws, quick):
    """Its captions and people's come from one draw: of many draws the mean is 0, and few intervals miss it."""
    sex, _, _, cue = draws
    held, values = [], []
    for seed in range(10):
        columns = np.random.default_rng([9, seed]).integers(2, size=(3, 60)) ^ sex[:60]
        captions = [[("dog", "cake")[number] + " on the street" for number in column] for column in columns]
        people = {"references": [list(row) for row in zip(*captions[1:], strict=True)], "attributes": labels(sex[:60])}
        given = {**people, "images": pictures(cue[:60]), "allow_unmasked": True, "answers": ANSWERS, "seed": seed}
        found = imagecaptioner2(predictions=captions[0], **given, **quick | {"trials": 3, "epochs": 1})
        low, high = interval(found)
        held.append(low <= 0 <= high)
        values.append(found["imagecaptioner2"])
    assert sum(held) >= 8
    assert abs(np.mean(values)) < 3 * np.std(values) / 10**0.5


@pytest.fixture
def brief(tmp_path):
    """Arguments of a measurement whose judges hardly learn."""
    asked = {"answers": ANSWERS, "prompt": "in the picture", "cache": tmp_path / "trials"}
    return {"epochs": 1, "trials": 2, "bootstrap": 20, **asked}


@pytest.fixture(scope="module")
def planted():
    """Captions, drawings and where the person is in each."""
    captions = plant(images=40, captions=2)
    return vars(captions), *draw(captions)


@pytest.fixture
def folder(planted, tmp_path):
    """The drawings as files, in the opposite order by their names, which end in 40 to 1."""
    (tmp_path / "images").mkdir()
    for number, image in zip(IDS, planted[1], strict=True):
        Image.fromarray(image).save(tmp_path / "images" / f"COCO_val2014_{number:012}.png")
    return tmp_path / "images"


def test_the_signature_names_judge_masking_prompt_and_answers(planted, brief):
    captions, images, persons = planted
    found = imagecaptioner2(**captions, images=images, masks=persons, **brief, fill="blur", details=True)
    for part in (
        "judge:sat,32px,1 epochs,[0-9a-f]{8}",
        "masks:regions,blur",
        "prompt:in the picture",
        "answers:woman,man",
    ):
        assert re.search(rf"{part}\|", found["signature"])
    assert imagecaptioner2(**captions, images=images, **brief)["signature"] != found["signature"]
    assert found["test_images"] == 8
    assert found["details"]["attribute_counts"] == {"female": 20, "male": 20}
    assert found["imagecaptioner2"] == pytest.approx(found["imagecaptioner2_m"] - found["imagecaptioner2_d"])
    alone = imagecaptioner2(**captions | {"references": None, "tasks": None}, images=images, masks=persons, **brief)
    assert "imagecaptioner2_m" in alone
    assert not {"imagecaptioner2", "imagecaptioner2_d"} & alone.keys()
    single = imagecaptioner2.measure(**captions, images=images, masks=persons, **brief | {"trials": 1})
    assert single.estimates["imagecaptioner2"].low is single.estimates["imagecaptioner2"].verdict is None
    assert any("no interval and no verdict" in said for said in single.notes)


def test_images_are_found_by_their_ids_whatever_their_order(planted, brief, folder):
    captions, images, persons = planted
    named = check_captions(**captions, image_ids=[*map(str, IDS)])
    masked = imagecaptioner2(**captions, images=images, masks=persons, **brief)
    assert imagecaptioner2(named, images=folder, masks=persons[::-1], **brief) == masked


def test_bad_images_are_refused(planted, brief):
    captions, images, _ = planted
    for change, message in [
        ({"images": None}, "images is missing: ImageCaptioner2 looks at the images, too; give one for each caption"),
        ({"images": [np.zeros((4, 4))] * 39}, "images has 39 images .* captions of 40"),
        ({"masks": [np.ones((64, 64), bool)] * 39}, "masks has 39 regions, images has 40 images"),
        ({"images": ["nowhere.png"] * 40}, "nowhere.png"),
        ({"epochs": 0}, "epochs must be a whole number of 1 or more"),
    ]:
        refuses(message, imagecaptioner2, **captions, **brief | {"images": images} | change)


def test_the_command_gives_the_score_of_the_library(planted, brief, folder, tmp_path, monkeypatch):
    captions, images, _ = planted
    monkeypatch.setenv("CAPTIONBIAS_CACHE", str(tmp_path / "cache"))
    files = write_sides(tmp_path, plant(images=40, captions=2))
    for number, file in enumerate(sorted(folder.iterdir(), reverse=True)):
        file.rename(folder / f"{number}.png")
    command = ["measure", "imagecaptioner2", *files, "--images", folder]
    judge = ["--epochs", "1", "--answer", "female=woman", "--answer", "male=man"]
    asked = ["--prompt", "in the picture", "--trials", "2", "--bootstrap", "20"]
    shown, _ = ran(*command, "--masked", *judge, *asked, "--output", tmp_path / "scores.json")
    assert "ImageCaptioner2 x 100" in shown
    expected = imagecaptioner2(**captions | {"tasks": None}, images=images, **brief)
    written = json.loads((tmp_path / "scores.json").read_text())["scores"]
    assert written.pop("signature") == expected.pop("signature")
    assert written == pytest.approx(expected)
    assert "either --annotations, to mask the persons, or --masked" in refused(*command, *judge)
    assert "--answer woman: write it as in female=woman" in refused(*command, "--masked", "--answer", "woman")
