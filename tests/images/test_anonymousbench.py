"""AnonymousBench: the paper's correlations, scores counted by hand, and intervals that hold what they promise."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from captionbias.captions import CaptionBiasWarning
from captionbias.images.anonymousbench import anonymousbench
from tests.cli.conftest import ran
from tests.refusals import refuses

# ImageCaptioner2, Table 5: LIC, ImageCaptioner2, GT.
PRINTED = {
    "NIC": (97.5, 95.8, 74.0),
    "SAT": (92.0, 94.0, 33.0),
    "FC": (94.5, 94.8, 48.5),
    "Att2in": (93.0, 92.3, 48.5),
    "UpDn": (96.0, 95.2, 78.5),
    "Trans.": (99.0, 95.0, 63.0),
    "OSCAR": (96.5, 91.5, 27.0),
    "NIC+": (97.5, 95.6, 87.5),
    "NIC+Eq": (94.5, 94.7, 61.5),
}
SCORES = {name: {"lic": lic, "imagecaptioner2": ours} for name, (lic, ours, _) in PRINTED.items()}


def answers(shares: dict[str, float], images: int = 200) -> pd.DataFrame:
    """One annotator, who says yes to this percentage of each captioner's captions."""
    rows = [
        (name, image, "ann", "yes" if image < round(share / 100 * images) else "no")
        for name, share in shares.items()
        for image in range(images)
    ]
    return pd.DataFrame(rows, columns=["captioner", "image_id", "annotator", "answer"])


def test_the_printed_scores_give_the_printed_correlations():
    found = anonymousbench(answers({name: gt for name, (_, _, gt) in PRINTED.items()}), SCORES)
    assert {name: estimate.value for name, estimate in found.human.items()} == {
        name: pytest.approx(gt) for name, (_, _, gt) in PRINTED.items()
    }
    ours, lic = found.correlations["imagecaptioner2"], found.correlations["lic"]
    assert ours.value == pytest.approx(0.80, abs=0.005)
    assert int(100 * lic.value) == 54  # the paper cuts 0.547 off
    assert ours.low < ours.value < ours.high
    assert lic.captioners_low < 0 < lic.captioners_high, "nine captioners are few: 0.54 may be chance"


def test_an_image_counts_as_the_share_of_its_annotators():
    rows = [("nic", 1, "a", "Yes"), ("nic", 1, "b", "no"), ("nic", 1, "c", 0), ("nic", 2, "a", True)]
    found = anonymousbench(pd.DataFrame(rows, columns=["captioner", "image", "annotator", "answer"]))
    assert found.human["nic"].value == pytest.approx(100 * (1 / 3 + 1) / 2)
    assert (found.images, found.annotators) == (2, 3)


def test_the_interval_covers_the_truth_and_annotators_widen_it():
    """Images and annotators both vary: the same people on more images leave their own spread."""

    def width(annotators: int, seed: int) -> tuple[float, bool]:
        random = np.random.default_rng(seed)
        leaning = np.clip(0.5 + 0.25 * random.standard_normal(annotators), 0, 1)
        yes = random.random((100, annotators)) < leaning
        image, annotator = np.indices(yes.shape).reshape(2, -1)
        table = {"captioner": ["nic"] * yes.size, "image": image, "annotator": annotator, "answer": yes.ravel()}
        found = anonymousbench(table, bootstrap=200).human["nic"]
        return found.high - found.low, found.low <= 50 <= found.high

    many = [width(20, seed) for seed in range(30)]
    assert np.mean([covered for _, covered in many]) > 0.8
    assert np.mean([size for size, _ in many]) < np.mean([width(5, seed)[0] for seed in range(10)])


def test_without_a_meaning_there_is_no_correlation_but_a_reason():
    two = anonymousbench(answers({"nic": 10, "sat": 60}), {"nic": {"lic": 1}, "sat": {"lic": 2}})
    assert two.correlations["lic"].value is None
    assert "needs 3 or more" in two.correlations["lic"].missing
    flat = anonymousbench(answers({"a": 5, "b": 20, "c": 30}), {name: {"lic": 1} for name in "abc"})
    assert flat.correlations["lic"].missing == "the metric gave every captioner the same score"


def test_only_images_that_every_captioner_has_answers_for_count():
    table = answers({"nic": 50, "sat": 50}, images=10)
    with pytest.warns(CaptionBiasWarning, match="2 of 10 images are left out"):
        found = anonymousbench(table[~((table.captioner == "sat") & (table.image_id < 2))])
    assert found.human["nic"].value == found.human["sat"].value == pytest.approx(100 * 3 / 8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": ["yes", "perhaps"]}, r"answer\[1\] is 'perhaps'.*yes or no"),
        ({"answer": ["yes", None]}, r"answer\[1\] is missing"),
        ({"captioner": ["nic", " "]}, r"captioner\[1\] is missing"),
        ({"image_id": [1, 1]}, "row 1 is one more answer of the annotator to the caption of image 1 by nic"),
        ({"captioner": ["nic", "sat"]}, "no image has answers for each of nic, sat"),
    ],
)
def test_bad_answers_are_refused_by_row(change, message):
    table = {"captioner": ["nic", "nic"], "image_id": [1, 2], "answer": ["yes", "no"]} | change
    refuses(message, anonymousbench, table)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"nic": {"lic": 1.0}, "sat": {"lic": "high"}}, "lic of sat is no number"),
        ({"captioner": ["nic", "nic"], "lic": [1, 2]}, "duplicate"),
    ],
)
def test_bad_scores_are_refused_by_captioner(scores, message):
    refuses(message, anonymousbench, answers({"nic": 10, "sat": 60}), scores)


def test_the_command_prints_and_writes_what_the_library_says(tmp_path):
    answers({name: gt for name, (_, _, gt) in PRINTED.items()}).to_csv(tmp_path / "answers.csv", index=False)
    scores = tmp_path / "scores.csv"
    pd.DataFrame([{"captioner": name, **row} for name, row in SCORES.items()]).to_csv(scores, index=False)
    output = tmp_path / "all.json"
    shown, _ = ran("anonymousbench", "--answers", tmp_path / "answers.csv", "--scores", scores, "--output", output)
    assert re.search(r"correlation over .* 0\.55 \[.*\] +0\.80 \[", shown)
    assert "NIC+Eq" in shown
    assert "200 images, 1 annotator\n" in shown
    written = json.loads(output.read_text())
    assert written["correlations"]["lic"]["value"] == pytest.approx(0.547, abs=0.001)
    assert written["human"]["OSCAR"]["gt"] == pytest.approx(27.0)
