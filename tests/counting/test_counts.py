"""Counts add: of any parts, in any order, they are the same bytes, and measure what the captions themselves do."""

import json
import random

import datasets
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import check_captions
from captionbias.counting import count, merge_counts
from captionbias.counting.counts import counts_of, without_small_cells
from captionbias.metrics import directional_ba, find_metric, gender_error, sway
from captionbias.statistics.groups import GROUPS, UNIT
from captionbias.synthetic import plant
from captionbias.text.main_person import main_values

COLUMNS = {"image_ids": "image_id", "predictions": "caption", "attributes": "gender", "references": "people"}
COLUMNS |= {"tasks": "objects", "weights": "weight", "scene": "scene"}


def world(images=400, seed=0, several=False, scenes=False):
    """A table with all columns, of captions with a bias in them; some of the captioner's are missing or two."""
    planted = vars(plant(images, captions=6, t_to_a=0.4, a_to_t=0.3, seed=seed, scenes=scenes))
    planted, dice = {"references": [None] * images, **planted}, random.Random(seed)
    captions = [None if dice.random() < 0.05 else text for text in planted["predictions"]]
    if several:
        captions = [[text, dice.choice(planted["predictions"])] if text else [] for text in captions]
    weights = [dice.choice([0.5, 1, 2]) for _ in range(images)]
    columns = {"image_id": [f"{seed}-{row}" for row in range(images)], "caption": captions, "weight": weights}
    columns |= {"gender": planted["attributes"], "people": planted["references"], "objects": planted["tasks"]}
    return columns | {"scene": [f"{row // 4}" for row in range(images)]}


def parts(table, number, seed=0, scenes=False):
    """Images, or with `scenes` scenes, at random in so many tables, in any order."""
    rows, of = list(range(len(table["image_id"]))), table["scene" if scenes else "image_id"]
    random.Random(seed).shuffle(rows)
    names = list(dict.fromkeys(of[row] for row in rows))
    places = {name: place % number for place, name in enumerate(names)}
    return [
        {name: [column[row] for row in rows if places[of[row]] == part] for name, column in table.items()}
        for part in range(number)
    ]


@pytest.mark.parametrize(
    ("people", "several", "also"),
    [
        (True, False, {}),
        (False, False, {}),
        (True, True, {"weight_column": "weight"}),
        (False, True, {"weight_column": "weight"}),
        (True, False, {"task_column": "objects"}),
        (False, True, {"scene_column": "scene", "task_column": "objects", "weight_column": "weight"}),
    ],
    ids=["people", "labels alone", "two captions and weights", "of labels alone", "tasks", "scenes"],
)
def test_shards_measure_what_rows_do_to_the_last_bit(people, several, also):
    """Values and replicates of every score that is counted, and its verdict."""
    scenes, columns = "scene_column" in also, also | ({"reference_column": "people"} if people else {})
    table = world(several=several, scenes=scenes)
    counted = counts_of(merge_counts(count(part, **columns) for part in parts(table, 5, scenes=scenes)))
    used = {"image_id", "caption", "gender", *columns.values()}
    captions = check_captions(
        **{argument: table[name] for argument, name in COLUMNS.items() if name in used}, trust_rows=True
    )
    of_people = {"ba_mals", "directional_ba", "multi_directional_ba"}
    assert counted.metrics.keys() == {"sway", "gender_error"} | (of_people if people else set())
    for name in counted.metrics:
        rows, sums = (find_metric(name).measure(given) for given in (captions, counted))
        asked = rows.samples.keys() - {
            key for key in rows.samples if key.startswith(("sway_words", "sway_a_to_t", "sway_tasks", "sway_worst"))
        }
        assert sums.samples.keys() - {"sway_worst"} == asked
        for key in asked:
            sample = sums.samples[key]
            assert sample.values.tolist() == pytest.approx(rows.samples[key].values.tolist(), abs=0, nan_ok=True), key
            assert np.array_equal(sample.replicates, rows.samples[key].replicates, equal_nan=True), key
            assert sums.estimates.get(key) == rows.estimates.get(key), key


@settings(deadline=None, max_examples=5)
@given(st.integers(1, 40), st.integers(0, 99))
def test_the_bytes_are_the_same_however_images_are_divided(number, seed):
    table = world(80)
    table["weight"] = [weight / 4 for weight in table["weight"]]
    columns = {"reference_column": "people", "weight_column": "weight"}
    whole = count(table, **columns)
    divided = [count(part, **columns) for part in parts(table, number, seed)]
    assert merge_counts(divided).equals(whole)
    assert merge_counts([merge_counts(divided[:1]), *divided[1:]]).equals(whole), "sums of sums"


def test_a_count_says_nothing_of_an_image_and_an_image_is_as_many_units():
    counts = count(world(50), metrics=["gender_error"]).to_pandas()
    assert {*counts} == {"metric", "side", "table", "width", "column", "group", "units"}
    images = counts[(counts.table == '"images"') & (counts.column == 0)]
    assert images.units.sum() == 50 * UNIT - sum(text is None for text in world(50)["caption"]) * UNIT
    assert images.group.between(0, GROUPS - 1).all()


def test_small_counts_are_folded_and_left_out_and_scores_hardly_move():
    table = count(world(4000), metrics=["gender_error"])
    of_sets = count(world(60), metrics=["multi_directional_ba"], reference_column="people")
    published = without_small_cells(merge_counts([table, of_sets]), 3)
    assert counts_of(published).metrics.keys() == {"gender_error"}
    units = np.asarray(published["units"])[np.asarray(published["side"]) >= 0]
    assert units[units > 0].min() >= 3 * UNIT
    whole, less = (gender_error.measure(counts_of(of)).estimates["error"] for of in (table, published))
    assert less.ends == pytest.approx(whole.ends, abs=0.5)
    with pytest.raises(ValueError, match=r"min_cell: counts are of fewer than 900 images too often"):
        without_small_cells(table, 900)
    with pytest.raises(ValueError, match=r"min_cell: counts are of fewer than 3 images too often"):
        without_small_cells(of_sets, 3)


def test_what_was_counted_otherwise_does_not_add_and_is_not_measured_otherwise():
    table = world(60)
    with pytest.raises(ValueError, match="tables: images of one scene were counted apart: put those of a scene into"):
        merge_counts(count(part, scene_column="scene") for part in parts(world(60, scenes=True), 2))
    with pytest.raises(ValueError, match="tables were counted with other settings"):
        merge_counts([count(table), count(table, seed=1)])
    counted = counts_of(count(table, metrics=["sway"]))
    assert sway.measure(counted, bootstrap=0).signature.startswith("metric:sway|")
    own = sway.measure(counts_of(count(table, metrics=["sway"], lean="own", reference_column="people")), bootstrap=0)
    assert not own.samples.keys() & {"sway_t_to_a", "sway_a_to_t"}, "which no shard knows"
    with pytest.raises(ValueError, match=r"seed 7: captions were counted with another; count them anew"):
        sway(counted, seed=7)
    both = find_metric("multi_directional_ba")
    people = counts_of(count(table, reference_column="people", metrics=[both.name]))
    assert [both(people, at_least=least)["combinations"] for least in (1, 20, 30)] == [8, 6, 3]
    with pytest.raises(ValueError, match=r"counts are of sway: count gender_error too, or measure a sample"):
        find_metric("gender_error")(counted)


@pytest.mark.parametrize(
    ("also", "message"),
    [
        ({"prediction_column": "text"}, r"batch has no column 'text'; it has"),
        ({"metrics": ["dbac"]}, r"metrics: counts of dbac do not add up over parts: measure it on a sample"),
        ({"delta": 1}, r"delta is no option of sway, gender_error"),
        ({"frequency_column": "weight"}, r"frequency_column\[\d\] is 0.5: a row stands for a whole number of images"),
        ({"metrics": ["ba_mals"], "reference_column": "people", "words": True}, r"words: .* only all images tell"),
    ],
)
def test_errors_name_the_argument_and_the_way_out(also, message):
    with pytest.raises(ValueError, match=message):
        count(world(40), **also)


def test_of_counts_the_signature_names_the_images_whatever_their_order():
    table = world(60)
    signed = [sway.measure(counts_of(merge_counts(map(count, parts(table, 3, seed))))).signature for seed in (0, 1)]
    assert signed[0] == signed[1]
    other = table | {"gender": table["gender"][::-1]}
    assert sway.measure(counts_of(count(other))).signature != signed[0]
    assert json.dumps(sway(counts_of(count(table))))


def test_a_row_that_stands_for_images_is_as_many_rows():
    """Not as a weight, which is of one image: intervals are those of so many images."""
    table, times = world(120), [1 + row % 3 for row in range(120)]
    again = [row for row in range(120) for _ in range(times[row])]
    rows = {name: [column[row] for row in again] for name, column in table.items()}
    rows["image_id"] = [f"{table['image_id'][row]} #{again[:place].count(row)}" for place, row in enumerate(again)]
    assert count(table | {"times": times}, frequency_column="times").equals(count(rows))
    given, repeated = (
        {argument: of[name] for argument, name in COLUMNS.items() if name not in ("image_id", "scene")}
        for of in (table, rows)
    )
    measured, of_rows = sway(**given, freq_weights=times), sway(**repeated)
    assert repr(measured) == repr(of_rows)
    labels = {"predicted_attributes": np.eye(2)[np.arange(120) % 2], "attributes": np.eye(2)[np.arange(120) // 60]}
    of_rows = {name: flags[again] for name, flags in labels.items()} | {"tasks": rows["objects"]}
    assert directional_ba(**labels, tasks=table["objects"], freq_weights=times) == directional_ba(**of_rows)


def test_datasets_map_counts_in_two_processes_to_the_same_bytes():
    table = world(300)
    rows = datasets.Dataset.from_dict(table).with_format("arrow")
    options = {"remove_columns": rows.column_names, "fn_kwargs": {"reference_column": "people"}}
    counts = rows.map(count, batched=True, batch_size=100, num_proc=2, **options)
    assert merge_counts([counts.data.table]).equals(count(table, reference_column="people"))


def test_a_caption_is_searched_once_however_many_metrics_count(monkeypatch):
    searched = []

    def search(tokens, *also):
        searched.append(len(tokens))
        return main_values(tokens, *also)

    monkeypatch.setattr("captionbias.captions.check.main_values", search)
    count(world(60), reference_column="people", metrics=["sway", "gender_error"])
    assert len(searched) == 2, "the captioner's captions and people's"
