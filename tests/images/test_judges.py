"""The judge: what it is asked, and that training teaches it the answer."""

import numpy as np
import pytest
from PIL import Image

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import run_trials
from captionbias.images import judges
from captionbias.images.judges import Question, answers_for, make_judge, prompt_for
from captionbias.images.reading import read_images
from captionbias.text import tokenize

PROMPT = "in the picture"
ANSWERS = ("woman", "man")


def question(images=12, answers=ANSWERS, prompt=PROMPT, seed=0):
    """Pictures of plain colours, of which none says anything of the captions."""
    colours = np.random.default_rng(seed).integers(0, 256, (images, 1, 1, 3), np.uint8)
    return Question(read_images(list(np.tile(colours, (1, 16, 16, 1)))), prompt, answers)


def trial(images=12, train=0):
    tokens = tokenize([("a <gender> with dog .", "cake on the street")[image % 2] for image in range(images)])
    classes = np.arange(images) % 2
    rows = np.arange(images)
    return Trial(Examples(tokens, classes, 2), rows[:train], rows[train:], 0)


def test_the_judge_reads_image_and_caption_together(monkeypatch):
    """A colour and a word of which neither alone says anything; an answer may be several words."""
    monkeypatch.setattr(judges, "SMALL", 16)
    monkeypatch.setattr(judges, "FROM_SCRATCH", judges.Schedule(2e-3, batch=32, epochs=1))
    word, colour = np.random.default_rng(0).integers(2, size=(2, 300))
    asked = Question(
        read_images(list(np.full((300, 16, 16), 60, np.uint8) + 140 * colour[:, None, None].astype(np.uint8))),
        "is",
        ("woman", "man on the street"),
    )
    examples = Examples(tokenize([("dog", "cake")[number] for number in word]), word ^ colour, 2)
    one = Trial(examples, np.arange(240), np.arange(240, 300), 0)
    [scores] = run_trials([one], make_judge(asked, 20), cache=False)
    assert scores.correct.mean() > 0.95


def test_the_judge_says_nothing_where_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(judges, "SMALL", 16)
    examples = Examples(tokenize(["dog"] * 200), np.arange(200) % 2, 2)
    one = Trial(examples, np.arange(160), np.arange(160, 200), 0)
    [scores] = run_trials([one], make_judge(question(200), 4), cache=False)
    assert np.exp(scores.log_probability).mean() == pytest.approx(0.5, abs=0.05)


def test_finished_trials_are_kept_under_all_that_determines_them(tmp_path):
    one, asked = trial(train=8), question()
    [first] = run_trials([one], make_judge(asked, 1), cache=tmp_path)
    [again] = run_trials([one], make_judge(asked, 1), cache=tmp_path)
    assert len(list(tmp_path.glob("trial-*"))) == 1
    assert (again.log_probability == first.log_probability).all()
    others = [question(seed=1), question(prompt="in red"), question(answers=("woman", "dog"))]
    for judge in (make_judge(asked, 2), *(make_judge(other, 1) for other in others)):
        run_trials([one], judge, cache=tmp_path)
    assert len(list(tmp_path.glob("trial-*"))) == 5


def test_images_are_seen_at_one_size():
    large = read_images([Image.new("RGB", (200, 100), "red"), Image.new("RGB", (20, 20), "blue")])
    assert judges.small_pixels(large).shape == (2, 64, 64, 3)


def test_prompts_and_answers():
    assert prompt_for("race") == "Therefore, the race is"
    assert prompt_for("shoes", " The shoes are ") == "The shoes are"
    for given in (("shoes",), ("gender", "")):
        with pytest.raises(ValueError, match="prompt is missing"):
            prompt_for(*given)
    assert answers_for(["dark", "light"]) == ("dark", "light")
    for answers, message in [
        ({"man": "x"}, "answers: 'man' is no value of the attribute; its values are female, male"),
        ({"male": " "}, "answers are 'female', ' ': give each value words of its own"),
        ({"male": "female"}, "answers are 'female', 'female': give each value words of its own"),
    ]:
        with pytest.raises(ValueError, match=message):
            answers_for(["female", "male"], answers)
