"""A result put into front matter: found by the Hub's own reader, replaced on the next run, all else byte for byte."""

from __future__ import annotations

import re

import pytest
import yaml
from huggingface_hub import ModelCard
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.hub.front_matter import put_result

NAME = "Bias"
RESULT = {
    "task": {"type": "image-to-text", "name": NAME},
    "dataset": {"name": "a/b", "type": "a/b"},
    "metrics": [{"type": "lic", "value": 1.5}],
}
OTHER = {**RESULT, "metrics": [{"type": "lic", "value": -2.5}, {"type": "dpa", "value": 0.25}]}
SEARCH = settings(deadline=None, max_examples=25)

# What people write, with the text that must be found unchanged before and behind the place of the result.
CARDS = {
    "a comment, quotes, an anchor, odd order": "z: &x 'é \"'  # why\n\nlicense: mit\nlanguage:\n    - en\ny: *x\n",
    "nothing": "",
    "a comment alone": "# to do\n",
    "a literal that keeps its line breaks": "about: |+\n  some\n\n\n",
    "an ended document": "license: mit\n...\n",
    "an indented mapping": "  license: mit\n  tags: [a]\n",
    "an explicit key": "? license\n: mit\n",
    "an empty index": "model-index:\nlicense: mit\n",
    "an empty index with a comment": "model-index: # none yet\nlicense: mit\n",
    "an index in brackets that is empty": "model-index: [] # none yet\nlicense: mit\n",
    "a null index": "model-index: null\n",
    "another's result": "model-index:\n- name: x\n  results:\n  - task: {type: a}\n    metrics:\n    - {type: b, "
    "value: 3}   # seen\n  # the end\nlicense: mit\n",
    "another's result, indented, with an alias": "v: &v 3\nmodel-index:\n  - name: x\n    results:\n      - task: "
    "{type: a}\n        metrics:\n          - type: b\n            value: *v   # seen\n\n# the end\nlicense: mit\n",
    "a result that ends in a literal": "model-index:\n- name: x\n  results:\n  - notes: |\n      one\n      two\n\n"
    "  # the end\n- name: y\n  results: []\n",
    "two models": "model-index:\n- name: x\n  results:\n  - a: 1\n- name: y\n  results:\n  - b: 2\n",
    "no results yet": "model-index:\n- name: x\n  results: []\n",
    "results left out": "model-index:\n- name: x\n  results:\n",
    "an anchored list": "model-index:\n- name: x\n  results: &all\n  - a: 1\n",
    "JSON": 'model-index: [{"name": "x", "results": [{"a": 1}]}]\nlicense: mit\n',
    "JSON with a last comma": 'model-index: [{"name": "x", "results": [{"a": 1},\n ]}]\n',
    "JSON without results": "model-index: [{name: x, results: []}]\n",
    "JSON with results left out": "model-index: [{name: x, results: }]\n",
}
BEHIND = "\n# Card\n\n---\nmodel-index:\n---\n"


def index_of(card):
    """The model index, as the Hub's library finds it."""
    front = re.match(r"\ufeff?\s*---\s*?\n(.*?)^---", card.replace("\r\n", "\n").replace("\r", "\n"), re.S | re.M)
    return yaml.safe_load(front[1])["model-index"]


def results_of(card):
    return [result for model in index_of(card) for result in model["results"]]


def is_inside(part, whole):
    """All of `part`, in order and in at most two pieces, is in `whole`."""
    return any(whole.startswith(part[:cut]) and whole.endswith(part[cut:]) for cut in range(len(part) + 1))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("front", CARDS.values(), ids=CARDS)
def test_a_result_is_added_once_and_nothing_else_changes(front, newline):
    card = f"---\n{front}---\n{BEHIND}".replace("\n", newline)
    once = put_result(card, RESULT, "nic")
    assert results_of(once).count(RESULT) == 1
    assert put_result(once, RESULT, "nic") == once
    emptied = card
    for nothing in ("[] ", "[]", "null"):  # where a result stands now, unless it was added to others
        emptied = emptied.replace(f"model-index: {nothing}", "model-index: ").replace(
            f"results: {nothing}", "results: "
        )
    assert is_inside(card, once) or is_inside(emptied, once)
    assert set(re.findall(r"\r\n|\r|\n", once)) == {newline}


@pytest.mark.parametrize("front", CARDS.values(), ids=CARDS)
def test_new_scores_take_the_place_of_the_old(front):
    card = f"---\n{front}---\n{BEHIND}"
    once = put_result(card, RESULT, "nic")
    again = put_result(once, OTHER, "nic")
    assert [result for result in results_of(again) if result.get("task", {}).get("name") == NAME] == [OTHER]
    assert put_result(again, RESULT, "nic") == once


@pytest.mark.parametrize("card", ["", "# Card", "\ufeff# Card\r\n", "---\nno end", "text\n---\na: 1\n---\n"])
def test_a_card_without_front_matter_gets_one_before_its_text(card):
    text = card.removeprefix("\ufeff")
    done = put_result(card, RESULT, "nic")
    assert done.endswith(text)
    assert done.startswith("\ufeff---" if card != text else "---")
    assert index_of(done) == [{"name": "nic", "results": [RESULT]}]
    assert put_result(done, RESULT, "nic") == done


def test_the_hubs_library_reads_the_result():
    card = ModelCard(put_result("---\nlicense: mit\n---\n# Card\n", RESULT, "nic"))
    (result,) = card.data.eval_results
    assert (result.task_name, result.dataset_type, result.metric_type, result.metric_value) == (NAME, "a/b", "lic", 1.5)
    assert card.data.model_name == "nic"
    assert card.data.license == "mit"


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("a: [1\n", "is no YAML"),
        ("- a\n", "list of keys and values"),
        ("{a: 1}\n", "list of keys and values"),
        ("model-index:\nmodel-index:\n", "twice"),
        ("model-index: x\n", "no list of models"),
        ("model-index:\n- x\n", "no list of models"),
        ("model-index:\n- name: x\n  results: 3\n", "no list of models"),
        ("model-index:\n- name: x\n", "has no results"),
        ("r: &r\n- name: x\n  results: []\nmodel-index: *r\n", "without anchors"),
        ("model-index: &r []\nr: *r\n", "without anchors"),
        ("r: &r\n- a: 1\nmodel-index:\n- name: x\n  results: *r\n", "without anchors"),
        ("model-index:\n- name: x\n  results:\n" + 2 * "  - task: {name: Bias}\n", "2 results"),
    ],
)
def test_front_matter_that_cannot_take_a_result_is_refused(front, message):
    with pytest.raises(ValueError, match=message):
        put_result(f"---\n{front}---\n", RESULT, "nic")


@pytest.mark.parametrize(
    "name", ["a: b\nlicense: evil", "- [", "'\"", "#", "---\nx", "\x00\u2028\ud800", "é 😀", "true"]
)
def test_a_models_name_is_only_a_name(name):
    front = index_of(put_result("---\nlicense: mit\n---\n", RESULT, name))
    shown = name.replace("\n", " ").replace("\x00\u2028\ud800", "\ufffd \ufffd")
    assert front == [{"name": shown, "results": [RESULT]}]


LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
TREE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))
RESULTS = st.lists(st.dictionaries(st.sampled_from(["task", "metrics", "source"]), TREE, min_size=1), max_size=3)


@SEARCH
@given(
    keys=st.dictionaries(st.text(max_size=8), TREE, max_size=4),
    results=st.none() | RESULTS,
    flow=st.sampled_from([None, False, True]),
    position=st.integers(0, 4),
)
def test_any_front_matter_keeps_all_that_others_wrote(keys, results, flow, position):
    assume("model-index" not in keys)
    pairs = list(keys.items())
    if results is not None:
        pairs.insert(position, ("model-index", [{"name": "x", "results": results}]))
    front = yaml.safe_dump(dict(pairs), sort_keys=False, allow_unicode=True, default_flow_style=flow) if pairs else ""
    assume(not front.startswith("{") and not re.search(r"^---[ \t]*$", front, re.M))
    before = yaml.safe_load(front) or {}  # PyYAML does not read all it writes
    others = before.pop("model-index")[0]["results"] if results is not None else []
    card = f"---\n{front}---\ntext"
    once = put_result(card, RESULT, "nic")
    assert put_result(once, RESULT, "nic") == once
    after = yaml.safe_load(once[4:].rpartition("---\n")[0])
    index = after.pop("model-index")
    assert after == before
    assert index == [{"name": "x" if results is not None else "nic", "results": [*others, RESULT]}]
    if results:
        assert is_inside(card, once)
