"""The judge: what it is asked, and what its trials are known by."""

import numpy as np
from PIL import Image

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import run_trials
from captionbias.images import judges
from captionbias.images.judges import answers_for, make_judge, prompt_for
from captionbias.images.reading import read_images
from captionbias.text import tokenize
from tests.refusals import refuses


def question(answers=("woman", "man"), prompt="in the picture", seed=0):
    """Pictures of plain colours, of which none says anything of the captions."""
    colours = np.random.default_rng(seed).integers(0, 256, (12, 1, 1, 3), np.uint8)
    return read_images(list(np.tile(colours, (1, 16, 16, 1)))), prompt, answers


def test_finished_trials_are_kept_under_all_that_determines_them(tmp_path):
    tokens = tokenize(["a <gender> with dog .", "cake on the street"] * 6)
    rows = np.arange(12)
    one, asked = Trial(Examples(tokens, rows % 2, 2), rows[:8], rows[8:], 0), question()
    [first] = run_trials([one], make_judge(*asked, 1), cache=tmp_path)
    [again] = run_trials([one], make_judge(*asked, 1), cache=tmp_path)
    assert len(list(tmp_path.glob("trial-*"))) == 1
    assert (again.log_probability == first.log_probability).all()
    others = [question(seed=1), question(prompt="in red"), question(answers=("woman", "dog"))]
    for judge in (make_judge(*asked, 2), *(make_judge(*other, 1) for other in others)):
        run_trials([one], judge, cache=tmp_path)
    assert len(list(tmp_path.glob("trial-*"))) == 5


def test_images_are_seen_at_one_size():
    large = read_images([Image.new("RGB", (200, 100), "red"), Image.new("RGB", (20, 20), "blue")])
    assert judges.small_pixels(large).shape == (2, 64, 64, 3)


def test_prompts_and_answers():
    assert prompt_for("race") == "Therefore, the race is"
    assert prompt_for("shoes", " The shoes are ") == "The shoes are"
    for given in (("shoes",), ("gender", "")):
        refuses("prompt is missing", prompt_for, *given)
    assert answers_for(["dark", "light"]) == ("dark", "light")
    for answers, message in [
        ({"man": "x"}, "answers: 'man' is not a value of the attribute; its values are female, male"),
        ({"male": " "}, "answers are 'female', ' ': give each value words of its own"),
        ({"male": "female"}, "answers are 'female', 'female': give each value words of its own"),
    ]:
        refuses(message, answers_for, ["female", "male"], answers)
