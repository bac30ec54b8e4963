"""The same scene with two persons, side by side: what is said of the scenes, and what is marked in their captions."""

import pytest

from captionbias.analysis.audit import audit
from captionbias.captions import check_captions
from captionbias.report import quotes
from captionbias.synthetic import plant
from tests.browser import NEEDS_BROWSER, axe_violations, too_wide

PICTURE = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='4' height='3'/%3E"


@pytest.fixture(scope="module")
def found():
    """A captioner that the tasks sway, and that calls women smiling; and one that is the same with both persons."""
    planted = plant(600, t_to_a=0.3, scenes=True)
    for row in range(0, 600, 8):
        planted.predictions[row] = planted.predictions[row].replace("a woman", "a smiling woman")
    swayed = check_captions(**vars(planted), image_ids=range(600))
    same = swayed.with_predictions(["a woman with a cake", "a man with a cake"] * 300)
    return audit({"swayed": swayed, "same": same}, bootstrap=60, cache=False)


def test_it_says_how_many_scenes_there_are_and_how_those_shown_were_chosen(found):
    scenes = found.evidence["captioners"]["swayed"]["scenes"]
    assert scenes["telling"] > len(scenes["pairs"]) == 24
    assert quotes.pairs_summary(found, "swayed") == (
        f"In {scenes['wrong']} of 300 scenes one person is named wrong and the other right; in {scenes['words']} the "
        f"captions differ in words that follow the gender, such as smiling, in {scenes['along']} of these as the words "
        f"do. Shown: 6 of these {scenes['telling']}, no two captions twice: wrong names first, and each way "
        "to differ once before any twice."
    )
    assert quotes.pairs(found, "same") == []
    assert quotes.pairs_summary(found, "same") == (
        "In none of 300 scenes is one person named wrong and the other right, and no word is known to follow the "
        "gender."
    )


@NEEDS_BROWSER
@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_both_pictures_of_a_scene_are_side_by_side_with_their_captions_in_line_below(found, opened, width, scheme):
    page = opened(found, width, scheme, picture_of=lambda image: PICTURE)
    page.locator("details.row > summary").first.click()
    shown = page.locator(".scenes figure:visible")
    assert shown.count() == quotes.FIRST
    told = [[side.caption for side in pair] for pair in quotes.pairs(found, "swayed")]
    for figure, captions in zip(shown.all(), told, strict=False):
        assert figure.locator("h4").all_text_contents() == ["female", "male"]
        for text, caption in zip(figure.locator("p").all(), captions, strict=True):
            assert text.text_content() == "".join(piece for piece, _ in caption)
            assert text.locator("mark").all_text_contents() == [piece for piece, kind in caption if kind]
        for part in ("img", "p"):
            left, right = (side.bounding_box() for side in figure.locator(part).all())
            assert left["y"] == pytest.approx(right["y"], abs=0.5)
            assert left["x"] + left["width"] <= right["x"]
    assert not too_wide(page)
    assert axe_violations(page) == []
