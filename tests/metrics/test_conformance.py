"""What holds of every metric, whatever it measures, of the library and of its module for `evaluate`."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from functools import cache, partial
from pathlib import Path

import evaluate
import numpy as np
import pytest

from captionbias import metrics
from captionbias.bench.catalogue import METRICS, SCORES, of_captions, scores_of
from captionbias.bench.measurement import Result
from captionbias.bench.verdicts import CANNOT_TELL, LIKE, NOTHING_FOUND
from captionbias.captions import read_captions
from captionbias.images.drawings import draw
from captionbias.synthetic import plant
from tests.refusals import refuses

every = pytest.mark.parametrize("name", METRICS)
every_of_captions = pytest.mark.parametrize("name", of_captions())
IMAGES, DIALS = 120, {"a_to_t": 0.5, "t_to_a": 0.4}
QUICK = {"preset": "fast", "trials": 2, "draws": 2, "epochs": 1, "bootstrap": 20}


def metric_and_options(name, **changed):
    metric = getattr(metrics, name)
    return metric, metric.accepted(QUICK | changed)


@cache
def pictures(images):
    return dict(zip(("images", "masks"), draw(plant(images)), strict=True))


def planted(name, images=IMAGES, captions=2, **dials):
    """The columns of a captioner, and pictures for a metric that looks at them."""
    columns = vars(plant(images, captions=captions, **dials))
    return columns | (pictures(images) if METRICS[name].of_images else {})


@pytest.fixture(scope="module", autouse=True)
def modules(modules_cache, tmp_path_factory):
    """Where modules keep what is added to them: nothing, as all stays in memory."""
    return tmp_path_factory.mktemp("added")


def load(name):
    return evaluate.load(str(Path(__file__).parents[2] / "metrics" / name))


# Images and captions


def measured(name, **changed):
    metric, options = metric_and_options(name)
    return metric.measure(**planted(name, **DIALS) | changed, **options, details=True)


usual = cache(measured)


def moved(name, changed):
    """The keys of scores that a change moved; those that are 0, or 100, before and after could not tell."""
    before, after = ({key: one.value for key, one in side.estimates.items()} for side in (usual(name), changed))
    return {key for key in before if after.get(key) != pytest.approx(before[key], abs=1e-9) or before[key] in (0, 100)}


@every
def test_weights_count_for_the_captioner_and_for_people_and_equal_ones_are_as_none(name):
    """That whole ones are repeated images is in `tests/bench/test_counted.py`, of sway and dbac in their own tests."""
    weighted = measured(name, weights=[1 + row % 7 for row in range(IMAGES)])
    assert "|weights:" in weighted.signature
    assert moved(name, weighted) == usual(name).estimates.keys()
    equal = measured(name, weights=[1.0] * IMAGES)
    assert equal.estimates == usual(name).estimates
    assert equal.signature != usual(name).signature


@every
def test_every_caption_of_an_image_counts_and_several_that_are_alike_count_as_one(name):
    """A note says once how many they are; each image has another number of them, so that rows are not images."""
    said, other = (plant(IMAGES, captions=2, **dials).predictions for dials in (DIALS, {"a_to_t": 0.9, "seed": 3}))
    several = measured(name, predictions=list(map(list, zip(said, other, strict=True))))
    assert "|samples:mean" in several.signature
    headlines = {score.key for score in scores_of(name) if score.headline}
    assert headlines & usual(name).estimates.keys() <= moved(name, several)
    equal = measured(name, predictions=[[text] * (1 + row % 3) for row, text in enumerate(said)])
    assert (equal.estimates, equal.facts) == (usual(name).estimates, usual(name).facts)
    note = "predictions: each image has 1 to 3 captions, which together count as one"
    assert [text for text in equal.notes if "together count" in text] == [note]


@every_of_captions
def test_copies_of_a_picture_are_one_picture_and_give_no_verdict(name):
    """Of a faithful captioner, four rows a picture."""
    metric, options = metric_and_options(name, bootstrap=100)
    columns = planted(name, captions=5, seed=6)
    once, copied = (
        metric.measure(
            **{key: [value for value in column for _ in range(times)] for key, column in columns.items()}, **options
        )
        for times in (1, 4)
    )
    assert any("480 images have the human captions of 120 pictures" in said for said in copied.notes)
    for key in (key for key in copied.estimates if SCORES[key].judged):
        assert copied.estimates[key].verdict in {CANNOT_TELL, None}
        width, own = (one.estimates[key].high - one.estimates[key].low for one in (once, copied))
        assert own >= 0.55 * width, key  # four times as many pictures would halve it


@pytest.mark.parametrize("name", ["sway", "gender_error"])
def test_neither_the_order_of_images_nor_of_human_captions_nor_the_files_that_they_come_in_move_a_score(name):
    """Of enough images for words."""
    metric, options = metric_and_options(name, bootstrap=30)
    columns = planted(name, 1050, captions=3, t_to_a=0.3) | {"image_id": [f"{row:04d}" for row in range(1050)]}
    generator = random.Random(0)
    others = {**columns, "references": [generator.sample(texts, 3) for texts in columns["references"]]}
    order = generator.sample(range(1050), 1050)
    rows = {key: [column[row] for row in order] for key, column in others.items()}
    people, said = dict(rows), {key: columns[key] for key in ("image_id", "predictions")}
    del people["predictions"]
    files = read_captions(predictions=said, references=people, attribute_column="attributes")
    usual, *changed = (metric.measure(TABLE(one), **options) for one in (columns, others, rows))
    for found in (*changed, metric.measure(files, **options)):
        assert found.facts == pytest.approx(usual.facts, abs=1e-9)
        assert found.estimates.keys() == usual.estimates.keys()
        for key, (value, low, high, *_) in found.estimates.items():
            assert [value, low, high] == [pytest.approx(one, abs=1e-9) for one in usual.estimates[key][:3]], key
    assert "sway_words" in usual.estimates or name != "sway"


@pytest.mark.parametrize("name", ["lic", "dbac"])
def test_of_captions_half_as_long_again_as_people_s_one_cannot_tell(name):
    columns = planted(name, 300, a_to_t=0.9, t_to_a=0.9)
    longer = [f"{text} It is {row} in the day, and nobody is there." for row, text in enumerate(columns["predictions"])]
    metric, options = metric_and_options(name, bootstrap=60)
    usual, found = (metric.measure(**columns | changed, **options) for changed in ({}, {"predictions": longer}))
    judged = [one for key, one in found.estimates.items() if SCORES[key].judged]
    assert {(one.verdict, one.doubt) for one in judged} == {(CANNOT_TELL, "longer than people's")}
    assert "longer than people's" not in {one.doubt for one in usual.estimates.values()}


@every
def test_a_person_in_the_captioner_s_place_is_not_said_to_be_biased(name):
    *others, person = zip(*plant(300, captions=4, seed=2).references, strict=True)
    columns = planted(name, 300, captions=4, seed=2) | {
        "predictions": person,
        "references": [*zip(*others, strict=True)],
    }
    metric, options = metric_and_options(name, bootstrap=100)
    measured = metric.measure(**columns, **options)
    verdicts = {one.verdict for one in measured.estimates.values()}
    assert verdicts <= {CANNOT_TELL, LIKE, NOTHING_FOUND, None}


# Results


@every
def test_a_result_comes_back_from_json_as_it_was(name, tmp_path):
    result = usual(name).flat()
    result.save(tmp_path / "result.json")
    back = Result(json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail))
    assert back == {key: value if value == value else None for key, value in result.items()}
    assert back.estimates == result.estimates == usual(name).estimates
    assert back.to_frame().equals(usual(name).to_frame())


def in_row_17(value):
    return lambda column: [*column[:17], value, *column[18:]]


COLUMNS_OF_LABELS = {"attributes": "fm", "tasks": "ct", "predicted_attributes": "fm", "predicted_tasks": "ct"}
FLAGS = dict(zip(COLUMNS_OF_LABELS, np.random.default_rng(0).random((4, IMAGES, 2)) < 0.5, strict=True))
LABELS = {
    column: [[name for name, there in zip(COLUMNS_OF_LABELS[column], row, strict=True) if there] for row in flags]
    for column, flags in FLAGS.items()
}


@every
def test_labels_alone_are_measured_by_names_and_by_flags_or_refused(name):
    metric, options = metric_and_options(name)
    if "predicted_tasks" not in metric.options():
        with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'predicted_"):
            metric(**LABELS, **options)
        return
    by_name, by_flags = (metric.measure(**metric.accepted(given), **options) for given in (LABELS, FLAGS))
    scores, same = ([one.value for one in measured.estimates.values()] for measured in (by_name, by_flags))
    assert 0 < len(scores) == len(same)
    assert same == pytest.approx(scores)
    assert load(name).compute(**metric.accepted(LABELS), **options) == by_name.flat()
    shown = {"attributes": LABELS["attributes"], "tasks": LABELS["tasks"]}
    gnus = metric.accepted(LABELS | {"predicted_tasks": in_row_17(["gnu"])(LABELS["tasks"])})
    refuses("^attributes is missing", metric)
    refuses("^predicted_tasks.* missing", metric, **shown)
    refuses(r"^predicted_tasks\[17\]", metric, **gnus)


WRONG = [  # the argument, its value or a change of the column, what is said
    ("predictions", in_row_17(3), r"predictions\[17\] is of type int: a caption is a string"),
    ("references", in_row_17("a man"), r"references\[17\] "),
    ("references", in_row_17(["a man", 3]), r"references\[17\]"),
    ("attributes", in_row_17(None), r"attributes\[17\] "),
    ("attributes", lambda column: column[1:], "predictions has length 120 and attributes has length 119"),
    ("tasks", in_row_17("dog"), r"tasks\[17\]"),
    ("weights", lambda _: [1.0, 0.0] * 60, r"weights\[1\] is 0.0: a weight is a number above 0"),
    ("weights", lambda _: [1.0, 2.0], "predictions has length 120 and weights has length 2"),
    ("preset", ["fast"], "preset must be text, not of type list"),
    ("encoder", "gru", "encoder 'gru' is unknown; choose one of bow, linear"),
    ("quality", "perplexity", "quality 'perplexity' is unknown; choose one of confidence, accuracy"),
    ("tokenizer", "bpe", "tokenizer 'bpe' is unknown; choose one of words, whitespace"),
    ("alignment", "no", "alignment 'no' is unknown; choose one of constant, contextual"),
    ("delta", 0, "delta is 0: give a cosine distance above 0 and at most 2"),
    ("attribute_lexicon", "shoes", "attribute_lexicon: lexicon 'shoes' is neither a built-in one"),
    ("attribute_lexicon", {"": ["she"]}, "attribute_lexicon: lexicon 'custom': '' must be the name of a label"),
    ("task_lexicon", {"shoe": []}, "task_lexicon: lexicon 'custom' has no words"),
    ("trials", 0, "trials must be a whole number of 1 or more, not 0"),
    ("seed", None, "seed must be a whole number of 0 or more, not None"),
    ("unseen_only", 1, "unseen_only must be True or False, not 1"),
    ("details", "no", "details must be True or False, not 'no'"),
    ("distributed", 1, "distributed must be True or False, not 1"),
    ("bootstrap", 2, "bootstrap must be 20 or more, or 0 for no intervals, not 2"),
    ("bootstrap", 2.5, "bootstrap must be a whole number of 0 or more, not 2.5"),
    ("vocabulary", [], "vocabulary must be a list of words, or a JSON file"),
    ("vocabulary", {"a": 0}, "vocabulary must be a list of words, or a JSON file"),
    ("vocabulary", "nowhere.json", "vocabulary 'nowhere.json' cannot be read: "),
]


@every
def test_what_cannot_be_measured_is_refused_by_the_library_and_by_the_module_with_the_same_sentence(name):
    metric, options = metric_and_options(name)
    module, columns = load(name), planted(name)
    for argument, value, sentence in WRONG:
        if argument not in metric.options():
            continue
        changed = {argument: value(columns.get(argument)) if callable(value) else value}
        said = []
        for call in (metric, module.compute):
            with pytest.raises(ValueError, match=f"^{sentence}") as refused:
                call(**columns | options | changed)
            said.append(str(refused.value))
        assert said[0] == said[1]
        assert len(said[0]) < 600
        assert len(module) == 0
    with pytest.raises(TypeError, match="unexpected keyword argument 'bootstrapp'"):
        metric(**columns, bootstrapp=0)


# Modules


@every
def test_a_module_returns_the_score_of_the_library_for_rows_added_one_by_one_and_in_batches(name):
    _, options = metric_and_options(name, details=True)
    columns, module = planted(name, **DIALS), load(name)
    added = {key: columns.pop(key) for key in ("predictions", "references", "attributes")}
    for row in range(2):
        prediction, reference, label = (column[row] for column in added.values())
        module.add(prediction=prediction, reference=reference, attributes=label)
    module.add_batch(**{key: column[2:31] for key, column in added.items()})
    assert (module.name, len(module)) == (name, 31)
    last = {key: column[31:] for key, column in added.items()}
    assert module.compute(**last, **columns, **options) == usual(name).flat()
    assert not list(Path(module.data_dir).rglob("*.arrow"))


# Signatures, of which `tests/metrics/test_signatures.py` has more

TABLE = partial(read_captions, id_column="image_id", attribute_column="attributes")


@cache
def biased():
    """A captioner whose words are its own in part, and people; images have names."""
    columns = vars(plant(IMAGES, a_to_t=0.3, t_to_a=0.3, captions=3))
    said = [text.replace("in a", "at the") if row % 3 else text for row, text in enumerate(columns["predictions"])]
    return {**columns, "predictions": said, "image_id": [f"{row:03d}" for row in range(IMAGES)]}


def by_signature(name, cases):
    """Each signature has one reading. It is known before anything is measured, so one that is alone needs none."""
    found = defaultdict(list)
    for captions, changed in cases:
        metric, options = metric_and_options(name, cache=False)
        arguments = options | changed
        found[metric.signature(captions, **arguments)].append((captions, arguments))
    for signature, alike in found.items():
        results = [metric(captions, **arguments) for captions, arguments in alike] if len(alike) > 1 else []
        for scores in results:
            assert scores["signature"] == signature
            both = scores.keys() & results[0].keys()
            assert {key: scores[key] for key in both} == {key: results[0][key] for key in both}
    return found


@every_of_captions
def test_tables_in_any_order_files_and_lists_of_one_signature_have_the_same_scores(name, tmp_path):
    columns = biased()
    order, people_order = (random.Random(seed).sample(range(IMAGES), IMAGES) for seed in (0, 1))
    predictions = [{"image_id": columns["image_id"][row], "caption": columns["predictions"][row]} for row in order]
    people = [{key: columns[key][row] for key in columns if key != "predictions"} for row in people_order]
    for row in people:
        row["references"] = random.Random(0).sample(row["references"], 3)
    paths = {"predictions": tmp_path / "captioner.json", "references": tmp_path / "people.json"}
    for path, records in zip(paths.values(), (predictions, people), strict=True):
        path.write_text(json.dumps(records))
    tables = [columns, {key: [column[row] for row in order] for key, column in columns.items()}]
    cases = [(TABLE(table, prediction_column="predictions"), {}) for table in tables]
    cases += [(TABLE(**paths, prediction_column="caption"), {})]
    cases += [(None, {key: column for key, column in table.items() if key != "image_id"}) for table in tables]
    assert max(map(len, by_signature(name, cases).values())) > 1, "nothing was compared"
