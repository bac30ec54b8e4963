"""Judges: what they are asked, what each kind of model says, and that training teaches them the answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import run_trials
from captionbias.images import judges, judging
from captionbias.images.judges import Question, answers_for, find_judge, prompt_for
from captionbias.images.reading import read_images
from captionbias.text import tokenize

PROMPT = "in the picture"
ANSWERS = ("woman", "man")
KINDS = ["tiny_blip", "tiny_git", "tiny_encoder_decoder", "tiny_chat_model"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def folder(request, kind):
    return str(request.getfixturevalue(kind))


def question(images=12, answers=ANSWERS, prompt=PROMPT, seed=0):
    """Pictures of plain colours, of which none says anything of the captions."""
    colours = np.random.default_rng(seed).integers(0, 256, (images, 1, 1, 3), np.uint8)
    return Question(read_images(list(np.tile(colours, (1, 16, 16, 1)))), prompt, answers)


def trial(images=12, captions=("a <gender> with dog .", "cake on the street"), train=0, seed=0):
    tokens = tokenize([captions[image % len(captions)] for image in range(images)])
    classes = np.arange(images) % 2
    rows = np.arange(images)
    return Trial(Examples(tokens, classes, 2), rows[:train], rows[train:], seed)


def plain(folder, kind, image, text, answer):
    """The log-probability of the answer by a plain loop: one word at a time, one row at a time."""
    from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    known = tokenizer(text, add_special_tokens=False).input_ids
    total = 0.0
    for token in tokenizer(answer, add_special_tokens=False).input_ids:
        if kind == "tiny_encoder_decoder":
            pixels = AutoImageProcessor.from_pretrained(folder)(images=image, return_tensors="pt")
            inputs = {**pixels, "decoder_input_ids": torch.tensor([[2, *known]])}
        else:
            processor = AutoProcessor.from_pretrained(folder)
            chat = kind == "tiny_chat_model"
            start = f"user <image> {judges.REQUEST} assistant" if chat else ""
            inputs = processor(images=image, text=start or "a", return_tensors="pt")
            head = inputs["input_ids"][0].tolist() if chat else [2]
            inputs["input_ids"] = torch.tensor([[*head, *known]])
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        with torch.no_grad():
            total += float(model(**inputs).logits[0, -1].log_softmax(0)[token])
        known.append(token)
    return total


@every_kind
@pytest.mark.parametrize("answers", [("woman", "man with dog"), ("man in red", "man in the street")])
def test_a_model_says_what_a_plain_loop_says(kind, folder, answers):
    """With captions of many lengths in one batch, and answers of one token and of several, that begin alike or not."""
    asked = question(answers=answers)
    one = trial(captions=("a dog with cake .", "cake", "the man in red with a dog on the street"))
    fitted = find_judge(folder, asked, as_is=True).fit(one)
    found = fitted.answer(np.arange(5))
    for row in range(5):
        text = f"{one.examples.tokens.texts()[row].rstrip(' .')}. {PROMPT}"
        expected = [plain(folder, kind, asked.images[row], text, answer) for answer in answers]
        assert found[row] == pytest.approx(expected, abs=2e-4)
    truth = found[np.arange(5), np.arange(5) % 2]
    scores = judging.scores_of(found, np.arange(5) % 2)
    assert scores.raw == pytest.approx(truth)
    assert np.exp(scores.log_probability) == pytest.approx(np.exp(truth) / np.exp(found).sum(axis=1))
    assert (scores.correct == (found.argmax(axis=1) == np.arange(5) % 2)).all()


@every_kind
def test_fine_tuning_teaches_what_the_caption_says(kind, folder, monkeypatch):
    """A step at once or in parts, as there is memory."""
    monkeypatch.setattr(judges, "FINE_TUNED", judges.Schedule(3e-3, batch=14, epochs=1))
    monkeypatch.setattr(judges, "AT_ONCE", 8)
    one = trial(40, captions=("dog on the street", "pizza on the street"), train=32)
    asked = Question(read_images([np.full((16, 16), 99, np.uint8)] * 40), PROMPT, ("woman", "man with dog"))
    fitted = find_judge(folder, asked, epochs=40).fit(one)
    assert fitted.test_scores.correct.all()
    assert np.exp(fitted.test_scores.raw).mean() > 0.5


def test_the_small_judge_reads_image_and_caption_together(monkeypatch):
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
    [scores] = run_trials([one], find_judge("sat", asked, epochs=20), cache=False)
    assert scores.correct.mean() > 0.95
    assert np.exp(scores.raw).mean() > 0.9


def test_the_small_judge_says_nothing_where_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(judges, "SMALL", 16)
    examples = Examples(tokenize(["dog"] * 200), np.arange(200) % 2, 2)
    one = Trial(examples, np.arange(160), np.arange(160, 200), 0)
    [scores] = run_trials([one], find_judge("sat", question(200), epochs=4), cache=False)
    assert np.exp(scores.log_probability).mean() == pytest.approx(0.5, abs=0.05)


def test_finished_trials_are_kept_under_all_that_determines_them(tmp_path, tiny_blip, tiny_git):
    """With what the model says before it is normalised."""
    one, asked = trial(), question()
    [first] = run_trials([one], find_judge(str(tiny_blip), asked, as_is=True), cache=tmp_path)
    [again] = run_trials([one], find_judge(str(tiny_blip), asked, as_is=True), cache=tmp_path)
    assert len(list(tmp_path.glob("trial-*"))) == 1
    assert (again.raw == first.raw).all()
    assert (again.log_probability == first.log_probability).all()
    others = [
        (tiny_git, question(), True),
        (tiny_blip, question(seed=1), True),
        (tiny_blip, question(prompt="in red"), True),
        (tiny_blip, question(answers=("woman", "dog")), True),
    ]
    for folder, asked_otherwise, as_is in others:
        run_trials([one], find_judge(str(folder), asked_otherwise, as_is=as_is), cache=tmp_path)
    assert len(list(tmp_path.glob("trial-*"))) == 1 + len(others)


def test_images_are_made_once_whatever_a_judge_does_with_them(tiny_blip):
    made = []

    class Pictures(list):
        def __getitem__(self, row):
            made.append(row)
            return super().__getitem__(row)

    asked = Question(Pictures(question().images), PROMPT, ANSWERS)
    judge = find_judge(str(tiny_blip), asked, epochs=2)
    judge.fit(trial(train=8))
    judge.fit(trial(train=8, seed=1))
    assert sorted(made) == list(range(12))
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


def test_bad_judges(tiny_blip, tmp_path):
    with pytest.raises(ValueError, match="as_is: the judge 'sat' knows nothing"):
        find_judge("sat", question(), as_is=True)
    with pytest.raises(ValueError, match=r"judge .* lacks config\.json"):
        find_judge(str(tmp_path), question())
    with pytest.raises(ValueError, match="answers: some of 'female', 'male' are the same to judge"):
        find_judge(str(tiny_blip), question(answers=("female", "male")), as_is=True).fit(trial())
