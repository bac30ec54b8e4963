"""What decides, by hand: verdicts, p-values, intervals, corrections, what is refused, what a signature tells apart."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy.stats import norm

from captionbias.analysis.compare import corrected
from captionbias.attackers.base import stratified_split
from captionbias.bench.catalogue import SCORES
from captionbias.bench.checks import Naming, label_contradiction
from captionbias.bench.measurement import Measurement
from captionbias.bench.reading import draw_person, read
from captionbias.bench.verdicts import CANNOT_TELL, LESS, LIKE, MORE, NOTHING_FOUND, judge, verdict_p_value
from captionbias.captions import check_captions, read_captions
from captionbias.captions.belonging import Agreement
from captionbias.cli import gate
from captionbias.hashes import mix
from captionbias.images import captioning
from captionbias.metrics import directional_ba, label_leakage
from captionbias.statistics.samples import Estimate, ExtremeOf, LargestOf, Sample, bootstrap_samples, mean_over_trials
from captionbias.statistics.significance import holm, p_value
from captionbias.synthetic import plant
from captionbias.text import load_lexicon

A_TO_T = [f"sway_a_to_t{end}" for end in ("", "_low", "_high", "_least", "_most")]
T_TO_A = [f"sway_t_to_a{end}" for end in ("", "_least", "_most")]
LOW, HIGH, LEAST, MOST = A_TO_T[1:]
GAP, LENGTH, FURTHER, ONE = "sway_wrong_gap", "sway_length_gap", "sway_length_further", "sway_t_to_a_one"
WORDS = "sway_words"
LEAKAGE, EXCESS = "label_leakage", "label_leakage_excess"
NIL, UP, DOWN = (0, -0.5, 0.5), (4, 3, 5), (-4, -5, -3)


def estimates(known):
    """Of each key its value, or the ends of its interval, and how much would have been seen."""
    made = {key: ends if isinstance(ends, tuple) else (ends, None, None) for key, ends in known.items()}
    return {key: Estimate(*ends[:3], detectable=ends[3] if len(ends) > 3 else None) for key, ends in made.items()}


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({LEAKAGE: (-0.5, -1.4, 0.4)}, {CANNOT_TELL: [{}]}),
        (dict.fromkeys(A_TO_T, NIL), {LIKE: [{}], CANNOT_TELL: [{HIGH: (0, -0.5, 1.5)}, {"sway_tasks_named": 4}]}),
        (dict.fromkeys(A_TO_T[:4], NIL), {CANNOT_TELL: [{}]}),
        (dict.fromkeys(T_TO_A, NIL), {LIKE: [{"sway_least_named": 6}], CANNOT_TELL: [{"sway_least_named": 4}]}),
        (dict.fromkeys(A_TO_T, UP), {MORE: [{}], CANNOT_TELL: [{LEAST: (1.5, 0.5, 2)}]}),
        (dict.fromkeys(A_TO_T, DOWN), {LESS: [{}], CANNOT_TELL: [{HIGH: (0, -1, 2)}]}),
        ({GAP: UP}, {MORE: [{}, {GAP: DOWN}], CANNOT_TELL: [{GAP: (1.5, 0.5, 2.5)}]}),
        ({LENGTH: UP, FURTHER: 1}, {MORE: [{}], CANNOT_TELL: [{FURTHER: -1}, {LENGTH: (0, -3, 3)}]}),
        ({T_TO_A[0]: (1, -1, 3)}, {MORE: [{ONE: (2, 0.5, 4)}], CANNOT_TELL: [{ONE: (2, -0.5, 4)}]}),
        ({WORDS: (3, 2, None, 5)}, {MORE: [{}], NOTHING_FOUND: [{WORDS: (3, 1, None, 5)}]}),
        ({WORDS: (0.2, -1, None)}, {CANNOT_TELL: [{}]}),
        ({LEAKAGE: UP, EXCESS: NIL}, {None: [{}]}),
    ],
)
def test_what_is_said_of_an_interval_beside_the_others(known, words):
    for word, changes in words.items():
        for change in changes:
            assert judge(estimates(known | change))[next(iter(known))].verdict == word


def spread(value, width, **about):
    """A quantity whose replicates are even within this width of its value."""
    return Sample(np.array([value]), value + width * np.linspace(-1, 1, 1001), **about)


def test_people_s_noise_and_all_that_decide_count_and_margins_chosen_one_after_the_other_are_signed():
    known = {name: (*UP, size) for name, size in zip(A_TO_T, (1, 2, 2, 2, 5), strict=True)}
    assert judge(estimates(known))["sway_a_to_t"].detectable == 5
    assert judge(estimates({GAP: (*UP, 1.5)}))[GAP].detectable == 2.5
    measured = Measurement({"lic": spread(3.0, 1.0)}, {}, noise={"lic": 2.5}, metric="lic", settings={})
    assert (measured.estimates["lic"].noise, measured.estimates["lic"].verdict) == (2.5, CANNOT_TELL)
    both = Measurement({}, {}, metric="sway", settings={}).with_margins({"sway_t_to_a": 2.0}).with_margins({GAP: 3.0})
    assert both.margins == {"sway_t_to_a": 2.0, GAP: 3.0}
    assert "margins:sway_t_to_a=2,sway_wrong_gap=3" in both.signature


def test_a_p_value_goes_by_the_least_sure_of_all_that_decide_and_by_what_is_beyond():
    sure, unsure, bare = spread(2.0, 1.0), spread(0.5, 1.0), Sample(np.array([-0.5]), np.zeros(0))
    both = {LOW: sure, LEAST: unsure}
    assert verdict_p_value(both, A_TO_T[0], 1) > 0.05 > verdict_p_value(both | {LEAST: sure}, A_TO_T[0], 1)
    assert verdict_p_value({LENGTH: sure, FURTHER: bare}, LENGTH, 1) == 1
    ends = {T_TO_A[1]: ExtremeOf.of(min, [sure, unsure]), ONE: ExtremeOf.of(max, [sure, unsure])}
    assert verdict_p_value(ends, T_TO_A[0], 1) < 0.05  # one of them by itself is as good
    for sample, beyond, p in ((sure, 1.5, 0.5), (spread(-2.0, 1.0), 1.5, 0.5), (bare, 1.0, 1), (bare, 0.1, 0)):
        side = int(np.sign(sample.values[0]))
        assert verdict_p_value({LEAKAGE: sample}, LEAKAGE, side, beyond) == pytest.approx(p, abs=0.01)
    assert verdict_p_value({LEAKAGE: spread(2.0, 0.1, floor=3.0)}, LEAKAGE, 1) == 1
    chosen = [{LEAKAGE: spread(2.0, 2.1, chosen_of=number)} for number in (1, 3)]
    assert np.divide(*(verdict_p_value(one, LEAKAGE, 1) for one in chosen)) == pytest.approx(1 / 3)
    assert p_value(1.0, np.ones(99)) == 2 / 100  # no smaller one can be told


def test_verdicts_are_corrected_by_how_sure_it_is_that_they_are_beyond_what_people_read():
    hardly = Measurement({"lic": spread(4.0, 2.08)}, {}, noise={"lic": 2.0}, metric="lic", settings={})
    unclear = Measurement({LEAKAGE: spread(0.1, 2.0)}, {}, metric=LEAKAGE, settings={})
    for others, word in (([], MORE), ([unclear] * 5, CANNOT_TELL)):
        measured = [("hardly", hardly), *((str(number), one) for number, one in enumerate(others))]
        assert corrected(measured)["hardly", "lic"] == word
    assert holm([0.01, np.nan, 0.03]) == pytest.approx([0.02, np.nan, 0.03], nan_ok=True)


def test_an_interval_is_as_wide_as_what_it_was_chosen_of_and_what_three_captions_can_hide():
    assert spread(0.0, 1.0, chosen_of=5).estimate()[1:3] == (-0.99, 0.99)
    hidden = spread(2.0, 0.1, floor=3.0, chosen_of=2) - spread(0.0, 0.0)
    assert (hidden.chosen_of, *hidden.estimate()[1:3], hidden.estimate().detectable) == (2, -1, 5, 3)
    seen = Sample(np.zeros(1), np.random.default_rng(0).normal(0, 2.0, 20_000)).estimate().detectable
    assert norm.sf(norm.ppf(0.975) - seen / 2.0) == pytest.approx(0.8, abs=0.02)  # in four of five samples


def test_of_several_the_one_furthest_from_0_is_chosen_and_differences_are_those_of_each():
    first, second, third = (spread(value, 1.0) for value in (2.0, -9.0, 5.0))
    largest = LargestOf.of([first, second, third])
    assert (largest.values.tolist(), largest.chosen_of) == ([-9], 3)
    assert (LargestOf.of([first, second]).values.tolist(), LargestOf.of([first, second]).chosen_of) == ([2], 1)
    other = LargestOf.of([first, spread(-8.0, 1.0), spread(-6.0, 1.0)])
    assert (largest - other).values.tolist() == [11]
    for units in (19, 20):
        drawn = bootstrap_samples(lambda counts, _: {"sum": counts[:1]}, units, 1, 40, seed=0)["sum"].replicates
        assert len(drawn) == 40 * (units == 20)
    assert mean_over_trials(np.array([[4.0], [np.nan]]), np.array([[0.5], [0.5]])).tolist() == [4]


def test_what_raises_a_doubt_decides_nothing_and_what_people_never_do_is_asked_against_0():
    told = judge(estimates({GAP: UP, "sway_unnamed_gap": UP}), doubts={GAP: "they may be there"})
    assert (told[GAP].verdict, told[GAP].doubt) == (CANNOT_TELL, "they may be there")
    alone = judge(estimates({GAP: UP, "sway_unnamed_gap": UP, "sway_scenes": 0}))
    assert alone[GAP].verdict == "differs"
    assert alone["sway_unnamed_gap"].verdict == "differs; no yardstick: people may differ as much"


def test_the_gate_goes_by_the_word_and_by_the_whole_interval():
    for word, value, seen, status in [
        (MORE, 6.0, 2.0, gate.FAIL),
        (MORE, 4.0, 2.0, gate.UNKNOWN),
        (NOTHING_FOUND, 0.0, 5.0, gate.PASS),
        (NOTHING_FOUND, 0.0, 10.0, gate.UNKNOWN),
    ]:
        estimate = Estimate(value, value - 1.0, verdict=word, unit="captions")
        measured = SimpleNamespace(estimates={}, facts={"sway_words_seen": seen, "sway_images": 900.0})
        assert gate._judged({WORDS: 5.0}, WORDS, estimate, measured)[0] == status
    known = estimates({A_TO_T[0]: (2, 1, 3), LOW: (1, -4, 3), HIGH: (3, 1, 9), GAP: (-5, -6, -4)})
    cases = (A_TO_T[0], 9, gate.PASS), (A_TO_T[0], 5, gate.UNKNOWN), (A_TO_T[0], -5, gate.FAIL), (GAP, 1, gate.FAIL)
    assert [gate._within(key, most, known)[0] for key, most, _ in cases] == [status for *_, status in cases]


def test_an_image_counts_as_its_weight_however_many_captions_it_has():
    people, said = [["a girl", "a woman with a dog"], ["a man"]], [["a woman", "a lady"], ["a man with a dog"]]
    captions = check_captions(predictions=said, references=people, attributes=["female", "male"], weights=[2, 4])
    reading = read(captions, "gender", "coco_objects")
    assert (reading.predictions.weight.tolist(), reading.human.weight.tolist()) == ([1, 1, 4], [2, 2, 4])
    draws = [reading.draw(seed) for seed in range(9)]
    assert {(*one.images, *sorted([*one.person, *one.others])) for one in draws} == {(0, 0, 1)}
    shown = [reading.beside(one)[0].truth.tasks.any() for one in draws]  # not what the person alone says
    assert shown == [reading.human.tasks[one.others].any() for one in draws]
    assert {*shown} == {True, False}


def test_copies_of_a_picture_are_drawn_grouped_and_split_as_one():
    copies = np.tile(np.arange(40), 2)
    keys = mix(np.tile(np.arange(120, dtype=np.uint64), 2))
    drawn = draw_person(np.repeat(np.arange(80), 3), 80, keys, 0, copies)
    assert ((drawn.person % 3)[:40] == (drawn.person % 3)[40:]).all()
    assert (drawn.copies == copies).all()
    texts = [[f"a man {' '.join(f'{k}{n}' for n in range(30))}"] for k in [*range(94), *range(6)]]
    assert check_captions(references=texts, attributes=["female", "male"] * 50).copies.max() == 93
    # The rare value is that of the second copy of ten of the pictures: two of ten are tested, whatever the seed.
    classes, pictures = np.array([0] * 40 + [1] * 10), np.array([*range(40), *range(10)])
    for seed in range(9):
        assert classes[stratified_split(classes, 0.2, seed, pictures)[1]].sum() == 2


def test_labels_that_follow_what_captions_name_by_chance_alone_are_refused_and_masked_words_stay_so():
    labels = ["female", "male"] * 100
    for of_female, of_male, refused in (((50, 50), (50, 50), True), ((80, 20), (20, 80), False)):
        votes = {"female": np.array(of_female), "male": np.array(of_male)}
        named = Naming(load_lexicon("gender"), labels, {"references": 1.0}, votes, people=True)
        assert (label_contradiction([named]) is not None) == refused
    assert all(Agreement(1000, right, 500).is_chance(0.3) for right in (520, 560))  # words of an image come together
    assert load_lexicon({"extends": "age"}).masked_only == load_lexicon("age").masked_only != ()


def test_tables_are_joined_by_majority_in_the_order_of_numbers_and_repeated_rows_count_once():
    rows = {"image_id": [10, 10, 9, 9, 9, 8, 8], "caption": [*"abcdeff"], "attribute": [*"mmfmfmf"]}
    rows["references"] = [["x", "y"], ["x", "y"], ["z"], ["z"], ["w"], ["v"], ["u"]]
    read = read_captions(rows, prediction_column="caption")
    assert (read.image_ids, read.attributes) == (("9", "10"), ("f", "m"))
    assert [sorted(texts) for texts in read.references] == [["w", "z", "z"], ["x", "y"]]
    assert [len(texts) for texts in read.samples] == [3, 2]


def test_what_resampling_moves_by_itself_is_moved_back():
    samples = directional_ba.measure(**vars(plant(60, captions=2)), bootstrap=60, controls=False).samples
    moved = [(one.replicates.mean(), *one.values) for key, one in samples.items() if SCORES[key].recentred]
    assert [mean for mean, _ in moved] == pytest.approx([value for _, value in moved])


def test_finished_work_is_kept_within_the_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("CAPTIONBIAS_CACHE_GB", "0.0")
    labels = {"attributes": ["f", "m"] * 20, "tasks": [["a"], ["b"]] * 20, "predicted_tasks": [["a"], ["b"]] * 20}
    label_leakage(**labels, trials=1, bootstrap=0, cache=tmp_path / "trials")
    Image.new("RGB", (9, 9)).save(tmp_path / "1.png")
    monkeypatch.setattr(captioning.Served, "ask", lambda served, pictures: [("a man", False)] * len(pictures))
    assert captioning.caption("a", [tmp_path / "1.png"], endpoint="b", cache=tmp_path / "said") == {"1": "a man"}
    assert [[*(tmp_path / folder).iterdir()] for folder in ("trials", "said")] == [[], []]
