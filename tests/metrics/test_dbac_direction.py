"""A direction of DBAC: what blind attackers see, what net is, and images and captions that count for several."""

import numpy as np
import pytest

from captionbias.attackers.registry import find_attacker
from captionbias.bench.attacked import Bench
from captionbias.bench.attacks import answers_to
from captionbias.bench.protocol import preset_settings
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.metrics.dbac import PRESETS
from captionbias.metrics.dbac_direction import PAIRINGS, ask
from captionbias.scores.omega import BLIND
from captionbias.synthetic import plant
from tests.whole import dbac

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "alignment": "constant", "cache": False}
DIRECTIONS = ("a_to_t", "t_to_a")
IMAGES = 120
PEOPLE = {"woman", "lady", "girl", "man", "guy", "boy", "his", "her"}
THINGS = {"handbag", "teddy", "bear", "bears", "cake", "dog", "dogs", "laptop", "surfboard", "skateboard", "tie", "hot"}
PHRASES = ("and a baby doll", "near a snow man", "with a baby", "")  # as users' own lexicons may have


@pytest.fixture(scope="module")
def planted():
    """Some captions name two people, and some a thing of two words or several of a thing."""
    captions = vars(plant(images=IMAGES, captions=2, a_to_t=0.4, t_to_a=0.4))
    more = ("and his hot dog", "with her teddy bears", "near dogs", "")
    return {
        **captions,
        "predictions": [f"{text[:-1]} {more[i % 4]}." for i, text in enumerate(captions["predictions"])],
        "references": [[f"{text[:-1]} {more[i % 3]}." for text in row] for i, row in enumerate(captions["references"])],
    }


def asked(given, **options):
    """The directions, and their settings."""
    _, settings = preset_settings(PRESETS, "fast", **options)
    bench = Bench.of(check_captions(**given), settings, seed=0, allow_unmasked=False)
    return ask(bench, settings, DIRECTIONS), settings


def plans_of(given, **options):
    """What is planned of each direction, by its name."""
    return {one.name: one.plans for one in asked(given, **options)[0]}


def words_of(tokens):
    return {tokens.words[number] for number in np.unique(tokens.ids)}


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_blind_attackers_see_neither_attribute_nor_task_words(planted, pairing):
    planned = plans_of(planted, trials=2, pairing=pairing)
    for name, hidden, left in (("a_to_t", PEOPLE, THINGS), ("t_to_a", THINGS, PEOPLE)):
        for side in ("m", "h"):
            (trials,), (blind,) = (planned[name][by].trials[side] for by in ("", BLIND))
            for trial, control in zip(trials, blind, strict=True):
                seen, seen_blindly = (words_of(one.examples.tokens) for one in (trial, control))
                assert not seen & hidden
                assert seen & left
                assert not seen_blindly & (hidden | left)
                assert {"poses", "outside"} < seen_blindly, "all other words are left"
                for part in ("train", "test"):
                    assert np.array_equal(getattr(control, part), getattr(trial, part))
                assert np.array_equal(control.examples.targets, trial.examples.targets)
                assert (control.seed, control.examples.outputs) == (trial.seed, trial.examples.outputs)


def test_a_task_phrase_with_an_attribute_word_in_it_is_hidden_from_blind_attackers(planted):
    said = [f"{text[:-1]} {PHRASES[i % 4]}" for i, text in enumerate(planted["predictions"])]
    lexicons = {
        "attribute_lexicon": {"extends": "gender", "groups": {"female": ["baby"]}},
        "task_lexicon": {"doll": ["baby doll"], "snow": ["snow man"], "cake": ["cake"]},
    }
    planned = plans_of(planted | {"predictions": said, "tasks": None}, trials=1, **lexicons)
    for name in DIRECTIONS:
        seen = words_of(planned[name][BLIND].trials["m"][0][0].examples.tokens)
        assert not seen & {"baby", "doll", "snow", "man"}
        assert {"near", "with"} < seen
    assert {"doll", "snow"} < words_of(planned["a_to_t"][""].trials["m"][0][0].examples.tokens)


def test_without_controls_half_as_many_attackers_say_the_same_and_one_side_alone_has_none(planted):
    def trained(captions, **options):
        totals = []
        result = dbac(**captions, **FAST | options, progress=lambda _, total: totals.append(total))
        [total] = set(totals)
        return result, total

    (with_controls, twice), (without, once) = trained(planted), trained(planted, controls=False)
    assert (twice, once) == (16, 8)
    assert with_controls.pop("signature") != without.pop("signature")
    left_out = {key for key in with_controls if "_blind" in key or "_net" in key or "_worst" in key}
    assert {f"dbac_{name}{form}" for name in DIRECTIONS for form in ("_blind", "_net")} < left_out
    assert without == {key: value for key, value in with_controls.items() if key not in left_out}
    for side in ("predictions", "references"):
        result, total = trained({**planted, side: None})
        assert total == 4
        assert not [key for key in result if "blind" in key or "net" in key]


def test_a_word_for_a_task_and_for_a_person_is_noted():
    tasks = {"dog": ["dog"], "doll": ["doll", "girl"]}
    with pytest.warns(CaptionBiasWarning, match="'girl': words for a task and for a value of the attribute"):
        dbac(**vars(plant(100)) | {"tasks": None}, preset="fast", trials=1, bootstrap=0, task_lexicon=tasks)


# Images that count for several, and captioners that were asked several times


@pytest.fixture(scope="module")
def silent():
    """One caption in six names nothing."""
    captions = vars(plant(images=IMAGES, captions=3, a_to_t=0.4, t_to_a=0.4))
    texts = [text if row % 6 else "someone poses" for row, text in enumerate(captions["predictions"])]
    return {**captions, "predictions": texts}


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_an_image_of_weight_3_counts_as_the_image_three_times(pairing, silent):
    """Attackers learn from each image once, whatever its weight: the answers are the same."""

    def answered(given):
        directions, settings = asked(given, trials=2, alignment="constant", pairing=pairing)
        plans = [plan for one in directions for plan in one.plans.values()]
        answers = answers_to(plans, find_attacker("bow", None, None, False), cache=False, progress=False)
        return [one.answered(answers, settings.quality) for one in directions]

    weights = np.random.default_rng(0).integers(1, 4, size=(IMAGES, 1)).astype(float)
    several, once = map(answered, (silent | {"weights": weights[:, 0]}, silent))
    for weighted, repeated in zip(several, once, strict=True):
        expected, unweighed = repeated.quantities(weights), repeated.quantities(repeated.every_image)
        for key, values in weighted.quantities(weighted.every_image).items():
            assert values == pytest.approx(expected[key])
            assert (values != unweighed[key]).all(), "weights matter here"


def test_where_every_caption_counts_an_images_samples_share_one(silent):
    """However often it was asked about an image, the captioner names everything as often."""
    often = [[text] * (1 + row % 4) for row, text in enumerate(silent["predictions"])]
    options = FAST | {"pairing": "every-caption"}
    found, expected = (dbac(**silent | {"predictions": one}, **options) for one in (often, silent["predictions"]))
    for name in DIRECTIONS:
        assert found[f"dbac_{name}_prior"] == pytest.approx(expected[f"dbac_{name}_prior"])
        assert found[f"test_captions_m_{name}"] == pytest.approx(expected[f"test_captions_m_{name}"])
