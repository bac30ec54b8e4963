"""Captioners on the same images: what differs, and how sure that is."""

import itertools
import json

import numpy as np
import pytest
from rich.console import Console

from captionbias.analysis.compare import compare
from captionbias.bench.catalogue import SCORES, of_captions
from captionbias.captions import CaptionBiasWarning
from captionbias.io.formats import json_text
from captionbias.metrics import find_metric
from captionbias.report.terminal import comparison_tables
from captionbias.statistics.intervals import bootstrap_interval
from captionbias.statistics.significance import holm, p_value
from captionbias.synthetic import LEAN, PEOPLE, TASKS, plant

IMAGES = 300
DIALS = {"faithful": {}, "biased": {"a_to_t": 0.9}, "blind": {"naming": 0.4}}
CHOSEN = {"preset": "fast", "trials": 3, "bootstrap": 400}


@pytest.fixture(scope="module")
def people():
    return {name: of for name, of in vars(plant(IMAGES, captions=2)).items() if name != "predictions"}


@pytest.fixture(scope="module")
def captioners():
    return {name: plant(IMAGES, captions=2, **dials).predictions for name, dials in DIALS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("metric", ["lic", "dbac"])
def test_every_pair_differs_as_the_replicates_that_make_the_intervals(metric, captioners, people, folder):
    found = compare(captioners, **people, metric=metric, **CHOSEN, cache=folder)
    forms = [f"dbac_{way}{form}" for way in ("a_to_t", "t_to_a") for form in ("", "_matched", "_net")]
    assert found.scores == (["lic"] if metric == "lic" else forms)
    tested = [score for score in found.scores if score == "lic" or score.endswith("_net")]
    pairs = [(*pair, score) for pair in itertools.combinations(DIALS, 2) for score in tested]
    assert [(one.first, one.second, one.score) for one in found.differences] == pairs
    assert f"paired:holm,{len(pairs)}|" in found.signature
    samples = {
        name: find_metric(metric).measure(predictions=said, **people, **CHOSEN, cache=folder).samples
        for name, said in captioners.items()
    }
    for one in found.differences:
        first, second = (samples[name][one.score] for name in (one.first, one.second))
        assert one.difference == pytest.approx(first.values.mean() - second.values.mean(), abs=5e-5)
        drawn = first.replicates - second.replicates
        interval = bootstrap_interval(one.difference, drawn, (-np.inf, np.inf))
        assert (one.ci_low, one.ci_high) == pytest.approx(interval, abs=5e-5)
        others = [samples[one.first][key] - samples[one.second][key] for key in SCORES[one.score].confirmed_by]
        confirmed = all(one.difference * other.values.mean() > 0 for other in others)
        assert one.p == pytest.approx(p_value(one.difference, drawn) if confirmed else 1.0)
    assert [one.p_holm for one in found.differences] == holm([one.p for one in found.differences]).tolist()


def test_without_human_captions_the_captioners_captions_are_compared(captioners, people, folder):
    alone = {name: people[name] for name in ("attributes", "tasks")}
    found = compare(captioners, **alone, metric="lic", **CHOSEN, cache=folder)
    assert found.scores == ["lic_m"]
    assert found.p_values["biased"] == {}  # an attacker that learns nothing is right half the time, not never
    assert found.differences[0].difference < 0
    of_dbac = compare(captioners, **alone, metric="dbac", **CHOSEN, cache=folder)
    assert of_dbac.scores == ["omega_m_a_to_t", "omega_m_t_to_a"]


def test_without_a_bootstrap_there_are_no_p_values_and_of_too_few_replicates_is_told(captioners, people, folder):
    found = compare(captioners, **people, metric="lic", **CHOSEN | {"bootstrap": 0}, cache=folder)
    for one in found.differences:
        assert np.isfinite(one.difference)
        assert np.isnan([one.ci_low, one.p, one.p_holm]).all()
    assert "-" in shown(found)
    with pytest.warns(CaptionBiasWarning, match="bootstrap=100 is too few for 6 differences.*take 240 or more"):
        compare(captioners, **people, metric="dbac", **CHOSEN | {"bootstrap": 100}, cache=folder)


def test_ten_captioners_can_differ_after_correction(captioners, people, folder):
    ten = {f"plain-{number}": captioners["faithful"] for number in range(9)} | {"biased": captioners["biased"]}
    options = {"preset": "fast", "trials": 2, "directions": ["a_to_t"], "cache": folder}
    found = compare(ten, **people, metric="dbac", **options)
    assert {one.score for one in found.differences} == {"dbac_a_to_t_net"}
    assert "bootstrap:3600" in found.signature
    clear = [(one.first, one.second) for one in found.differences if one.p_holm < 0.05]
    assert clear == [(name, "biased") for name in list(ten)[:-1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"captioners": {"one": ["a"]}}, "captioners has 1: a comparison needs two"),
        ({"metric": "cider"}, "metric 'cider' is unknown; choose one of sway, dbac, lic"),
        ({"scores": ["cider"]}, "scores names 'cider'.*choose from sway_wrong_gap"),
        ({"preset": "fast"}, r"sway\(\) got an unexpected keyword argument 'preset'"),
        ({"captioners": {"one": ["a dog"] * IMAGES, "two": ["a dog"]}}, "two: predictions has length 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(changes, message, captioners, people):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(**{"captioners": captioners, **people, "bootstrap": 0} | changes)


def beside_people(images=1500, seed=0):
    """People who cannot make out 4 of 10 women beside tasks that lean to men, and captioners beside them: a person,
    another, three at once, one that calls everyone a man whom it cannot make out, one that is swayed in a fifth, and
    one that calls all women beside such tasks men."""
    planted, random = plant(images, captions=6, seed=seed), np.random.default_rng(seed)
    lean = [LEAN[TASKS.index(task)] for (task,) in planted.tasks]

    def renamed(text, value):
        phrase = next(phrase for phrases in PEOPLE for phrase in phrases if text.startswith(f"{phrase} "))
        return f"{PEOPLE[value][0]}{text.removeprefix(phrase)}"

    hidden = [
        [renamed(text, 2) if label == "female" and lean < 0.5 and random.random() < 0.4 else text for text in texts]
        for texts, label, lean in zip(planted.references, planted.attributes, lean, strict=True)
    ]
    person, another, third, *references = map(list, zip(*hidden, strict=True))
    captioners = {
        "person": person,
        "another": another,
        "joined": [" ".join(texts) for texts in zip(person, another, third, strict=True)],
        "default": [renamed(text, 1) if text.startswith(PEOPLE[2]) else text for text in person],
        "swayed": [
            renamed(text, int(lean < 0.5)) if lean != 0.5 and random.random() < 0.2 else text
            for text, lean in zip(person, lean, strict=True)
        ],
        "women only": [
            renamed(text, 1) if label == "female" and lean < 0.5 else text
            for text, label, lean in zip(person, planted.attributes, lean, strict=True)
        ],
    }
    return captioners, {"references": list(zip(*references, strict=True)), "attributes": planted.attributes}


def test_what_does_not_follow_the_tasks_is_no_difference_and_what_does_is_one():
    """Two people do not differ, nor do one and longer captions that begin alike, which are read alike, or one and a
    usual word for whom nobody makes out, though the plain difference is more than chance."""
    captioners, people = beside_people()
    found = compare(captioners, **people, scores=["sway_t_to_a", "sway_t_to_a_lost"], against="person", draws=2)
    plain, p = {}, {}
    for one in found.differences:
        first, second = (found.measurements[name].samples[one.score] for name in (one.first, one.second))
        plain[one.first, one.score] = p_value(one.difference, first.replicates - second.replicates)
        p[one.first, one.score] = one.p_holm
    assert {name for (name, _), corrected in p.items() if corrected < 0.05} == {"swayed", "women only"}
    assert {plain["joined", score] for score in found.scores} == {1.0}
    assert plain["default", "sway_t_to_a"] < 0.05


def test_gaps_differ_beyond_the_margin_and_words_of_longer_captions_do_not():
    """Who calls the unseen men has a gap that another has not."""
    captioners, people = beside_people()
    people["references"] = [texts[:2] for texts in people["references"]]
    chosen = {name: captioners[name] for name in ("joined", "another", "person", "default")}
    found = compare(chosen, **people, draws=2)
    p = {(one.first, one.second, one.score): one.p for one in found.differences}
    assert p["person", "default", "sway_wrong_gap"] < 0.01 < 0.9 < p["another", "person", "sway_wrong_gap"]
    assert {p[name, "person", "sway_words"] for name in ("another", "joined")} == {1.0}


def test_the_order_of_two_captioners_changes_the_sign_alone():
    captioners, people = beside_people(400)
    chosen = {name: captioners[name] for name in ("default", "swayed")}
    one, other = (
        {found.score: found for found in compare(dict(order), **people, draws=1, bootstrap=100).differences}
        for order in (chosen.items(), reversed(chosen.items()))
    )
    for score, found in one.items():
        assert (found.difference, found.p) == pytest.approx((-other[score].difference, other[score].p))


def test_each_captioner_is_told_of_with_the_share_that_is_done(captioners, people):
    steps = []
    given = {"attributes": people["attributes"], "metric": "gender_error", "bootstrap": 0}
    compare(captioners, **given, watch=lambda *step: steps.append(step))
    assert steps == [("faithful", 0), ("biased", 1 / 3), ("blind", 2 / 3)]


def shown(comparison):
    console = Console(width=120)
    with console.capture() as captured:
        for table in comparison_tables(comparison):
            console.print(table)
    return captured.get()


@pytest.mark.parametrize("metric", of_captions())
def test_every_metric_compares_planted_captioners_as_it_measures_them(metric, captioners, people, folder):
    options = find_metric(metric).accepted(
        {"bootstrap": 100, "seed": 3, "trials": 2, "preset": "fast", "cache": folder}
    )
    found = compare(captioners, **people, metric=metric, **options)
    assert found.scores
    for name, predictions in captioners.items():
        alone = find_metric(metric)(predictions=predictions, **people, **options)
        assert found.measurements[name].flat() == alone
    for one in found.differences:
        first, second = (found.measurements[name].estimates[one.score].value for name in (one.first, one.second))
        assert one.difference == pytest.approx(first - second, abs=2e-6)
        assert one.ci_low <= one.difference <= one.ci_high
        assert one.first in shown(found)
    written = json.loads(json_text(found.as_dict()))
    assert (written["metric"], written["signature"]) == (metric, found.signature)
    assert [one["p_holm"] for one in written["differences"]] == [one.p_holm for one in found.differences]
