"""`--attribute` given twice: the attributes are crossed, and shown alone beside their crossing."""

import json

import numpy as np
import pytest

from captionbias import intersections, read_captions
from captionbias.captions import count_cells
from captionbias.synthetic import plant
from tests.cli.conftest import IMAGES, invoke, refused, write_sides

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "20", "--no-cache"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 20, "cache": False}
BOTH = ["--attribute", "gender", "--attribute", "skin"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Planted captions of women and men with light, dark and a few unsure skins."""
    planted = plant(images=IMAGES, captions=2, a_to_t=0.5)
    skin = np.random.default_rng(0).permutation(["light", "dark", "dark"] * (IMAGES // 3)).tolist()
    skin[:4] = ["unsure"] * 4
    for row, word in enumerate({"light": "white", "dark": "black"}.get(label, "tall") for label in skin):
        if row % 3 == 0:
            planted.predictions[row] = f"{word} {planted.predictions[row]}"
            planted.references[row][0] = f"{word} {planted.references[row][0]}"
    return write_sides(tmp_path_factory.mktemp("files"), planted, skin=skin, tasks=planted.tasks)


def test_both_attributes_are_shown_and_written_alone_and_crossed(files, tmp_path):
    keep, output = ["--keep", "light", "--keep", "dark"], tmp_path / "result.json"
    shown = invoke("measure", "lic", *files, *BOTH, *keep, *QUICK, "--output", output)
    read = {"attribute": ["gender", "skin"], "keep": ["light", "dark"]}
    captions = read_captions(predictions=files[1], references=files[3], **read)
    expected = intersections(captions, {"gender": "gender", "skin": "race"}, "lic", **CHOSEN, details=True)
    written = json.loads(output.read_text())
    assert written["metric"] == "lic"
    signature = expected["gender x skin"].signature
    assert written["scores"]["signature"] == signature
    for name, found in {"gender x skin": written, **written["alone"]}.items():
        measured = expected[name]
        scores = measured.flat()
        assert scores.pop("details")["attribute_counts"] == found["details"]["attribute_counts"]
        assert found["scores"] == scores
    cells = [(*cell["labels"].values(), cell["images"]) for cell in written["cells"]]
    assert cells == [(*labels, count) for labels, count in count_cells(captions.attributes, 2).items()]
    assert list(written["alone"]) == ["gender", "skin"]
    lines = [line.split() for line in shown.splitlines()]
    for cell in written["cells"]:
        assert [*cell["labels"].values(), str(cell["images"])] in lines
    for heading in ("gender", "skin", "gender x skin"):
        assert any(line.startswith(heading) and "LIC x 100" in line for line in shown.splitlines())
    assert f"signature {signature}" in shown
    assert f"{len(captions)} images" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lic", *BOTH], "attributes: 'female, unsure', 'male, unsure' are not labels of --attribute 'gender+race'"),
        (["gender_error", *BOTH], "--attribute 'gender+race' has 8 labels"),
        (["lic", *BOTH[:2], *BOTH[:2]], "--attribute-column: two attributes are both 'gender' of "),
        (["lic", *BOTH, "--attribute-column", "sex"], "--attribute-column names 1 columns for 2"),
    ],
)
def test_what_cannot_be_crossed_is_one_line(arguments, message, files):
    metric, *options = arguments
    quick = QUICK if metric == "lic" else []
    assert refused("measure", metric, *files, *options, *quick).startswith(message)
