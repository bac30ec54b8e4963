"""Sway is its definition, image by image; its verdicts, notes, tables and errors."""

import json
from collections import Counter
from importlib import resources
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from captionbias.bench.verdicts import CANNOT_TELL, LIKE, MORE
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.captions.texts import canonical_order
from captionbias.hashes import seeded
from captionbias.statistics.groups import random_groups
from captionbias.statistics.intervals import multiplicities
from captionbias.synthetic import plant
from tests.metrics.test_sway_planted import told_apart
from tests.whole import sway

PEOPLE = {"female": "woman", "male": "man", "young": "child"}
TASKS = {"handbag": (0.6, 0.2, 0.2), "tie": (0.2, 0.6, 0.1), "dog": (0.3, 0.3, 0.6), "clock": (0.3, 0.3, 0.3)}


def world(images=200, values=("female", "male"), captions=(1, 2, 3, 4), seed=0):
    """Images with several tasks, and captions that leave some out, add some, and name nobody, two or the wrong one."""
    generator = np.random.default_rng(seed)
    attributes = [str(generator.choice(values)) for _ in range(images)]
    place = list(PEOPLE)
    shown = [
        [task for task, shares in TASKS.items() if generator.random() < shares[place.index(value)]]
        for value in attributes
    ]

    def text(value, tasks, wrong):
        named = [str(generator.choice(values)) if generator.random() < wrong else value]
        named = {0: [], 1: [*named, str(generator.choice(values))]}.get(int(generator.integers(6)), named)
        said = [task for task in TASKS if generator.random() < (0.7 if task in tasks else 0.05)]
        return " and ".join([f"a {PEOPLE[one]}" for one in named] + [f"a {task}" for task in said]) or "a room"

    return {
        "predictions": [text(value, tasks, 0.4) for value, tasks in zip(attributes, shown, strict=True)],
        "references": canonical_order(
            [
                [f"{text(value, tasks, 0.1)} {row}" for _ in range(generator.choice(captions))]
                for row, (value, tasks) in enumerate(zip(attributes, shown, strict=True))
            ],
            once=False,
        ),
        "attributes": attributes,
        "tasks": shown,
    }


def read(text):
    """The single value that a caption names, and its tasks."""
    words = text.split()
    named = [value for value, word in PEOPLE.items() if word in words]
    return (named[0] if len(named) == 1 else None), {task for task in TASKS if task in words}, set(named)


def lean_of(count, shares):
    """Of one task, by the images of each value that show it: the values it goes with, and its log odds of each."""
    shown = sum(count[value] for value in shares)
    if shown < 10:
        return set(), dict.fromkeys(shares, 0.0)
    goes_with, odds = set(), {}
    for value, usual in shares.items():
        share = (count[value] + usual) / (shown + 1)
        odds[value] = log(share / (1 - share)) - log(usual / (1 - usual))
        if share > usual and share - usual >= 2 * sqrt(usual * (1 - usual) / shown):
            goes_with.add(value)
    return goes_with, odds


def read_again(captions):
    return check_captions(references=captions["references"], attributes=captions["attributes"])


def by_definition(captions, shipped=None, draws=3, seed=0, weights=None):
    """Every score, image by image; `weights`: how often each image that is compared is drawn."""
    given = captions.get("tasks")
    kept = [row for row, texts in enumerate(captions["references"]) if given or len(texts) > 1]
    value = [captions["attributes"][row] for row in kept]
    model = [read(captions["predictions"][row]) for row in kept]
    people = [[read(text) for text in captions["references"][row]] for row in kept]
    every = [set(given[row]) for row in kept] if given else [tasks_of(one) for one in people]
    weights = np.ones(len(kept)) if weights is None else weights
    keys = np.split(
        read_again(captions).words().keys_by_side[1], np.cumsum(list(map(len, captions["references"])))[:-1]
    )
    by_picture = np.argsort(read_again(captions).keys[kept])
    if shipped:
        shares = {"female": shipped["images"][0] / sum(shipped["images"])}
        shares["male"] = 1 - shares["female"]
        count = {task: dict(zip(shares, shipped["tasks"][task], strict=True)) for task in TASKS}
    else:
        shares = {one: value.count(one) / len(value) for one in PEOPLE if one in value}
        count = {task: Counter(v for v, shown in zip(value, every, strict=True) if task in shown) for task in TASKS}
    pairs = [(task, v) for task in TASKS for v in lean_of(count[task], shares)[0]]

    def suggestion(image, shown):
        """By the leans of the other images, if they are of these."""
        if not shown & {task for task, _ in pairs}:
            return None
        total = Counter(dict.fromkeys(shares, 0.0))
        for task in shown:
            itself = {value[image]: 1 if task in every[image] and not shipped else 0}
            left = {v: count[task][v] - itself.get(v, 0) for v in shares}
            total.update(lean_of(left, shares)[1])
        return max(shares, key=total.__getitem__)

    sums = Counter()
    for draw in range(seed, seed + draws):
        rows = np.array([np.argmin(seeded(keys[row], draw)) for row in kept])
        person = [one[row] for one, row in zip(people, rows.tolist(), strict=True)]
        others = [[*one[:row], *one[row + 1 :]] for one, row in zip(people, rows.tolist(), strict=True)]
        shown = every if given else [tasks_of(one) for one in others]
        seen = [(len(one), sum(single == v for single, *_ in one)) for one, v in zip(others, value, strict=True)]
        suggested = [suggestion(image, one) for image, one in enumerate(shown)]
        sums.update(t_to_a(value, model, person, suggested, seen, shares, weights))
        contents = [
            [task in one for task in TASKS] + [np.mean([task in c[1] for c in rest]) if rest else 0 for task in TASKS]
            for one, rest in zip(shown, others, strict=True)
        ]
        folds = [[by_picture[part] for part in fold] for fold in KFold(5, shuffle=True, random_state=draw).split(kept)]
        sums.update(a_to_t(value, model, person, shown, np.array(contents, float), pairs, weights, folds, bool(given)))
    mean = {key: total / draws for key, total in sums.items()}
    result = {}
    for key in ("sway_t_to_a", "sway_t_to_a_lost"):
        whole = [mean[key, "all", v] for v in shares]
        result |= {f"{key}_least": min(whole), f"{key}_most": max(whole), key: sum(mean[key, "own", v] for v in shares)}
    ends = [sum(mean[(end, *pair)] for pair in pairs) for end in ("low", "high")]
    leaning = {task for task, _ in pairs} | ({"what nobody names here"} if shipped else set())
    without = [sum(mean[(end, *one)] for one in pairs if one[0] != task) for task in leaning for end in ("low", "high")]
    result |= {"sway_a_to_t_low": min(ends), "sway_a_to_t_high": max(ends)}
    result |= {"sway_a_to_t_least": min(without), "sway_a_to_t_most": max(without)}
    return result | {"sway_a_to_t": sum(mean[("plain", *pair)] for pair in pairs)}


def tasks_of(captions):
    return set().union(*(tasks for _, tasks, _ in captions))


def t_to_a(value, model, person, suggested, seen, values, weights):
    """Of each value its part of the score, and what the score would be if all were as it is."""
    found = {}
    for key, all_count in (("sway_t_to_a", False), ("sway_t_to_a_lost", True)):
        counted = [i for i, one in enumerate(suggested) if one and (all_count or model[i][0])]
        swayable = {v: sum(weights[i] for i in counted if value[i] == v != suggested[i]) for v in values}
        for v in values:
            difference = []
            for side in (model, person):
                of_value = [i for i, one in enumerate(suggested) if one and value[i] == v and (all_count or side[i][0])]
                top = bottom = 0.0
                for stratum in {seen[i] for i in of_value}:
                    size, wrong = Counter(), Counter()
                    for i in of_value:
                        if seen[i] == stratum:
                            size[suggested[i] == v] += weights[i]
                            wrong[suggested[i] == v] += weights[i] * (side[i][0] != v)
                    if size[True] and size[False]:
                        weight = size[True] * size[False] / (size[True] + size[False])
                        top += weight * (wrong[False] / size[False] - wrong[True] / size[True])
                        bottom += weight
                difference.append(top / bottom)
            extra = 100 * (difference[0] - difference[1]) / sum(weights[i] for i in counted)
            found |= {(key, "own", v): extra * swayable[v], (key, "all", v): extra * sum(swayable.values())}
    return found


def a_to_t(value, model, person, shown, contents, pairs, weights, folds, complete):
    """Of each pair of a task and a value its part of the score, plain and at both ends."""

    def left(outcome):
        rest = np.empty(len(outcome))
        for training, test in folds:
            fitted = Ridge(alpha=10).fit(contents[training], outcome[training])
            rest[test] = outcome[test] - fitted.predict(contents[test])
        return rest

    found = {}
    for task, v in pairs:
        has_value = left(np.array([float(one == v) for one in value]))
        there = np.array([task in one for one in shown])
        said, told = (np.array([task in tasks for _, tasks, _ in side]) for side in (model, person))
        beta, beta_there, beta_other = (
            (weights * has_value * left(named.astype(float))).sum() / (weights * has_value**2).sum()
            for named in (said, told & there, told & ~there)
        )
        often = [[(weights * (named & where)).sum() for named in (said, told)] for where in (there, ~there)]
        rate, elsewhere = (one / other if other else 0.0 for one, other in often)
        plain = beta - rate * (beta_there + beta_other)
        made_up = plain if complete else beta - rate * beta_there
        all_there = plain if complete else made_up - elsewhere * beta_other
        parts = {"plain": plain, "high": made_up, "low": all_there}
        found |= {(end, task, v): 100 / len(set(value)) * part for end, part in parts.items()}
    return found


SHIPPED = json.loads((resources.files("captionbias.metrics.sway") / "gender_coco_objects.json").read_text("utf-8"))
LEXICON = {task: [task] for task in TASKS}


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_it_is_its_definition(given, own):
    """With references of unequal number, some of them single; from captions and with tasks, by own leans and COCO's."""
    captions = world(320 if given else 440, seed=7)
    if not given:
        del captions["tasks"]
    table = None if own else SHIPPED["given" if given else "named"]
    options = {"lean": "own", "task_lexicon": LEXICON} if own else {}
    measured = sway.measure(**captions, **options, draws=3, bootstrap=20, seed=5)
    expected = by_definition(captions, table, seed=5)
    scores = {key: float(np.mean(sample.values)) for key, sample in measured.samples.items()}
    assert {key: scores[key] for key in expected} == pytest.approx(expected, abs=1e-9)
    images = int(measured.facts["sway_images"])
    kept = [given or len(texts) > 1 for texts in captions["references"]]
    assert images == sum(kept) > 300
    groups = np.unique(random_groups(read_again(captions).keys[kept], 5), return_inverse=True)[1]
    drawn = next(iter(multiplicities(groups.max() + 1, 20, 5)))
    again = by_definition(captions, table, seed=5, weights=drawn[groups, 2])
    for key in ("sway_t_to_a", "sway_t_to_a_lost", "sway_a_to_t"):
        assert measured.samples[key].replicates[2] == pytest.approx(again[key], abs=1e-9)


def test_of_three_values_it_is_its_definition_too():
    captions = world(320, values=tuple(PEOPLE), captions=(2, 3), seed=1)
    lexicons = {"attribute_lexicon": {value: [word] for value, word in PEOPLE.items()}, "task_lexicon": LEXICON}
    result, expected = sway(**captions, **lexicons, draws=2, bootstrap=0), by_definition(captions, draws=2)
    assert {key: result[key] for key in expected} == pytest.approx(expected, abs=1e-9)
    assert "lean:own" in result["signature"]


# Verdicts


def swayed(women=0.0, men=0.0, images=1200):
    """A captioner that takes these shares of women and men beside the other gender's objects for the other gender."""
    planted, generator = vars(plant(images)), np.random.default_rng(1)
    share = {("female", task): women for task in ("surfboard", "skateboard", "tie")}
    share |= {("male", task): men for task in ("handbag", "teddy bear", "cake")}
    other = {"female": "a man", "male": "a woman"}
    rows = zip(planted["predictions"], planted["attributes"], planted["tasks"], strict=True)
    planted["predictions"] = [
        f"{other[value]} and a {task}" if generator.random() < share.get((value, task), 0) else said
        for said, value, (task,) in rows
    ]
    return planted


@pytest.mark.parametrize(("women", "men", "said"), [(0.4, 0.2, MORE), (0.5, 0, MORE), (0, 0, LIKE)])
def test_the_verdict_from_task_to_attribute_needs_every_value_or_one_beyond_what_is_hard_to_see(women, men, said):
    """More than a default for the hard to see explains; a person is not swayed."""
    measured = sway.measure(**swayed(women, men), bootstrap=200, details=True)
    found, steps = measured.estimates, measured.details["t_to_a"]
    assert found["sway_t_to_a"].verdict == said
    assert (found["sway_t_to_a"].low > 0) == (women > 0)
    assert (found["sway_t_to_a_least"].low > 0) == (men > 0)
    assert [row["step"] for row in steps] == pytest.approx([100 * women, 100 * men], abs=8)
    assert [row["bound"] for row in steps] == pytest.approx([15, 15], abs=4)  # of 100 a person leaves out as many
    assert [row["verdict"] == MORE for row in steps] == [women > 0.2, men > 0.2]


def test_a_default_for_women_who_are_hard_to_see_is_no_verdict():
    """Beside men's objects a third of the women is hard to see: people name no gender, the captioner says man."""
    planted, generator = vars(plant(2000, captions=5)), np.random.default_rng(2)
    rows = zip(planted["attributes"], planted["tasks"], strict=True)
    hard = [
        value == "female" and task in ("surfboard", "skateboard", "tie") and generator.random() < 1 / 3
        for value, (task,) in rows
    ]
    unseen = (generator.random((2000, 6)) < 0.5) & np.array(hard)[:, None]
    planted["references"] = [
        [text.replace("woman", "person") if none else text for text, none in zip(texts, row, strict=False)]
        for texts, row in zip(planted["references"], unseen.tolist(), strict=True)
    ]
    planted["predictions"] = [
        text.replace("woman", "man") if none else text
        for text, none in zip(planted["predictions"], unseen[:, 5].tolist(), strict=True)
    ]
    found = sway.measure(**planted, bootstrap=200).estimates
    assert found["sway_t_to_a"].low > 0
    assert found["sway_t_to_a"].verdict == CANNOT_TELL


def test_the_verdict_from_attribute_to_task_needs_both_ends_and_every_task():
    """Objects that nobody else names are made up if tasks are given; from captions alone they may be there."""
    planted = vars(plant(1200, a_to_t=0.3))
    found = sway.measure(**planted, bootstrap=200).estimates
    assert found["sway_a_to_t"].verdict == MORE
    assert found["sway_a_to_t_low"] == found["sway_a_to_t_high"]
    one_task = [
        f"{said} and a handbag" if value == "female" else said.replace("tie", "thing")
        for said, value in zip(plant(1200).predictions, planted["attributes"], strict=True)
    ]
    found = sway.measure(**planted | {"predictions": one_task}, bootstrap=200).estimates
    assert found["sway_a_to_t_low"].low > 0 > found["sway_a_to_t_least"].value
    assert found["sway_a_to_t"].verdict == CANNOT_TELL
    named = {key: rows for key, rows in world(1200, captions=(3,)).items() if key != "tasks"}
    found = sway.measure(**named, bootstrap=200).estimates
    assert found["sway_a_to_t_low"].value < found["sway_a_to_t_high"].value


def test_a_value_of_which_nothing_is_known_leaves_no_verdict():
    """No woman beside men's objects: of women nothing can be said, so of both together nothing can."""
    planted = swayed(men=0.5)
    rows = [
        row
        for row, (value, (task,)) in enumerate(zip(planted["attributes"], planted["tasks"], strict=True))
        if value == "male" or task in ("handbag", "teddy bear", "cake")
    ]
    found = sway.measure(**{key: [column[row] for row in rows] for key, column in planted.items()}, bootstrap=100)
    assert found.estimates["sway_t_to_a"].low > 0
    assert "sway_t_to_a_least" not in found.estimates
    assert found.estimates["sway_t_to_a"].verdict == MORE  # of men by themselves
    assert found.estimates["sway_t_to_a_lost"].verdict == CANNOT_TELL
    assert any("0 tasks that go with another value: too few to tell how female is named" in one for one in found.notes)


# Notes, details, signature


def warnings_of(**captions):
    return sway(**captions, details=True, bootstrap=0)["details"]["warnings"]


def test_notes_say_what_is_left_out_and_what_cannot_be_compared():
    captions = world(700, captions=(1, 2, 2))
    single = sum(len(texts) == 1 for texts in captions["references"])
    assert warnings_of(**world(600, captions=(2, 3))) == []
    del captions["tasks"]
    left_out, *rest = warnings_of(**captions, lean="own", task_lexicon=LEXICON)
    assert left_out == f"sway: {single} of 700 images have a single human caption and no tasks: left out; give tasks"
    assert rest[0].startswith("lean: which task goes with which value was counted on these images")
    assert rest[-1].startswith("a_to_t: what people do not name may be there or not, so the score has a range")
    few = warnings_of(**world(60))
    assert any("too few to tell how female is named" in one for one in few)
    nothing = world(60, seed=2)
    nothing["attributes"] = ["female", "male"] * 30
    told = warnings_of(**nothing, lean="own", trust_rows=True)
    assert any("no task goes with any value more than by chance" in one for one in told)


@pytest.mark.parametrize("images", [58, 60, 298, 300])
def test_below_30_images_of_a_value_there_is_no_interval_and_below_300_images_no_a_to_t(images):
    """Of pictures: copies are as one."""
    columns = told_apart(plant(images, captions=3))
    for times in (1, 5):
        copied = {key: [one for one in column for _ in range(times)] for key, column in columns.items()}
        found = sway.measure(**copied, bootstrap=30)
        assert (found.estimates["sway_wrong_gap"].low is not None) == (images > 58)
        [*said] = (one.split(";")[0] for one in found.notes if "no interval" in one)
        assert said == ["attributes: no interval below 30 images of each value"] * (images == 58)
        assert ("sway_a_to_t" in found.estimates) == (images == 300)


def test_more_words_of_the_same_labels_keep_the_shipped_leans():
    planted = vars(plant(300, captions=2)) | {"bootstrap": 0}
    more = {
        "attribute_lexicon": {"extends": "gender", "groups": {"female": ["zzz"]}},
        "task_lexicon": {"extends": "coco_objects", "groups": {"cup": ["zzzz"]}},
    }
    usual, found = sway(**planted), sway(**planted, **more)
    assert found.pop("signature") != usual.pop("signature")
    assert found == usual
    other = {"extends": "coco_objects", "groups": {"drone": ["drone"]}}
    assert "lean:own" in sway(**planted, task_lexicon=other)["signature"]


def test_a_note_tells_where_other_tasks_go_with_other_values_than_on_coco():
    planted = vars(plant(600, captions=2))
    assert warnings_of(**planted) == []
    swapped = [{"female": "male", "male": "female"}[value] for value in planted["attributes"]]
    notes = warnings_of(**planted | {"attributes": swapped}, trust_rows=True)
    assert any(note.endswith("take lean='own'") for note in notes)


def test_the_tables_add_up():
    captions = world(300, captions=(2, 3))
    result = sway(**captions, details=True, bootstrap=50)
    details, cells = result["details"], result["details"]["cells"]
    assert details["images"] == result["sway_images"] == 300
    assert details["attribute_counts"] == Counter(captions["attributes"])
    places = [(cell["attribute"], cell["suggested"]) for cell in cells]
    assert places == list(product(("female", "male"), ("female", "male", None)))
    assert sum(cell["images"] for cell in cells) == pytest.approx(300)
    suggested = sum(cell["images"] for cell in cells if cell["suggested"])
    assert suggested == pytest.approx(result["sway_suggested"])
    for cell, who in product(cells, ("captioner", "person")):
        right, wrong, none = (cell[f"{who}_{what}"] for what in ("right", "wrong", "none"))
        assert right + wrong + none == pytest.approx(100)
        assert cell[f"{who}_wrong_ci_low"] <= wrong <= cell[f"{who}_wrong_ci_high"]
    parts = [row["beta"] for row in details["tasks"]]
    assert sum(parts) / 2 == pytest.approx(result["sway_a_to_t"])
    assert sorted(parts, key=abs, reverse=True) == parts
    assert {row["task"] for row in details["leans"]} >= {row["task"] for row in details["tasks"]}
    rows = zip(captions["predictions"], captions["attributes"], strict=True)
    of_women = [read(text)[1] for text, value in rows if value == "female"]
    [tie] = [row for row in details["tasks"] if row["task"] == "tie"]
    assert tie["named_captioner"]["female"] == pytest.approx(100 * np.mean(["tie" in tasks for tasks in of_women]))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_of_a_captioner_that_names_no_tasks_it_is_not_known_how_completely_it_names_them():
    captions = vars(plant(300, captions=3)) | {"predictions": ["a woman on a street", "a man on a street"] * 150}
    assert sway(**captions, bootstrap=0, details=True)["details"]["naming_level"] == {}


def test_of_crossed_attributes_only_whole_values_are_named():
    """A caption that says "woman" of a dark-skinned woman names no value: neither right nor wrong."""
    captions = world(300, captions=(1,))
    names = {"female": "female, dark", "male": "male, light"}
    words = {"woman": "black woman", "man": "white man"}

    def crossed(text):
        return " ".join(words.get(word, word) for word in text.split())

    people = {
        "references": [list(map(crossed, texts)) for texts in captions["references"]],
        "attributes": [names[value] for value in captions["attributes"]],
    }
    of_both = captions | people | {"attribute_lexicon": ["gender", "race"], "bootstrap": 0}
    whole = sway(**of_both | {"predictions": list(map(crossed, captions["predictions"]))})
    assert whole["sway_wrong_gap"] == sway(**captions, bootstrap=0)["sway_wrong_gap"]
    in_part = sway(**of_both)
    assert {in_part[f"unnamed_{value}"] for value in names.values()} == {100.0}


def test_what_goes_with_whom_is_asked_of_each_crossed_attribute_alone():
    labels = [f"{value}, {('dark', 'light')[row % 2]}" for row, value in enumerate(vars(plant(300))["attributes"])]
    crossed = vars(plant(300)) | {"attributes": labels, "attribute_lexicon": ["gender", "race"], "trust_rows": True}
    crossed["predictions"] = [f"an african {text}" for text in crossed["predictions"]]
    with pytest.warns(CaptionBiasWarning, match="not asked of crossed attributes: measure each alone"):
        assert "sway_t_to_a" not in sway(**crossed, bootstrap=0)
    with pytest.raises(ValueError, match=r"^lean: tasks go with the values of one attribute; leave it out, or measure"):
        sway(**crossed, lean="own")


def test_labels_that_err_move_what_has_no_yardstick_and_hardly_what_people_are_held_to():
    """A captioner that names every value, and people who do."""
    value = np.tile(["female", "male"], 600)
    said = [f"a {({'female': 'woman', 'male': 'man'})[label]} with a dog" for label in value]
    columns = {"predictions": said, "attributes": value}
    alone, beside = (
        sway.measure(**columns, **people, label_error=0.03, bootstrap=0, draws=1)
        for people in ({}, {"references": [[f"{text} {when}" for when in ("at noon", "today")] for text in said]})
    )
    low, high = (alone.facts[f"sway_wrong_gap_label_error_{end}"] for end in ("low", "high"))
    assert (low, high) == pytest.approx((-3 / 1.03, 3 / 1.03), abs=0.1)
    assert alone.estimates["sway_wrong_gap"].value == 0
    [told] = [str(note) for note in alone.notes if "3 of 100 labels" in note]
    assert f"gap in wrong names, of 100 {low:.1f} to {high:.1f}" in told
    assert "label_error:0.03" in alone.signature
    moved = {key: of for key, of in beside.facts.items() if "gap_label_error" in key}
    assert len(moved) >= 4
    assert not any(moved.values())
    assert not any("label_error" in key for key in sway(**columns, bootstrap=0))
