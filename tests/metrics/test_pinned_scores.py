"""Scores are what they were, to the printed digit and on every processor: one signature, one number.

`python -m tests.metrics.test_pinned_scores` writes them anew, after a change that is meant to move them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest

from captionbias.alignment.align import align
from captionbias.alignment.vectors import load_vectors
from captionbias.bench.catalogue import METRICS, SCORES
from captionbias.captions import Captions, check_captions
from captionbias.metrics import find_metric
from captionbias.synthetic import plant
from tests.patience import PATIENCE
from tests.whole import whole

PINNED = Path(__file__).with_name("pinned_scores.json")
QUICK = {"trials": 3, "cache": False, "bootstrap": 100}
CASES = {
    **{name: (name, QUICK) for name in ("dpa", "label_leakage")},
    **{name: (name, {"bootstrap": 100}) for name in ("sway", "ba_mals", "directional_ba", "multi_directional_ba")},
    **{name: (name, {"bootstrap": 100}) for name in ("gender_error", "quality_gaps", "resolution")},
    "lic fast": ("lic", {"preset": "fast", **QUICK}),
    "dbac fast": ("dbac", {"preset": "fast", **QUICK}),
    "dbac fast, every caption": ("dbac", {"preset": "fast", **QUICK, "pairing": "every-caption", "controls": False}),
    "dbac fast, accuracy": ("dbac", {"preset": "fast", **QUICK, "quality": "accuracy", "trials": 6}),
    "lic linear": ("lic", {"preset": "fast", **QUICK, "encoder": "linear"}),
}
# Other instructions for numpy's and scipy's linear algebra and for numpy's functions, and another number of threads.
OLD = {
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX",
}


def captions() -> Captions:
    """A biased captioner with words that people lack, and people with words that it lacks."""
    planted = plant(300, a_to_t=0.3, t_to_a=0.2, captions=3)
    people = {"street": "boulevard", "dog": "puppy", "walks": "strolls", "surfboard": "surfboards", "room": "rooms"}
    references = [list(texts) for texts in planted.references]
    for word, other in people.items():
        for number, texts in enumerate(references):
            references[number] = [text.replace(word, other) if (number + len(text)) % 3 else text for text in texts]
    return check_captions(predictions=planted.predictions, references=references, attributes=planted.attributes)


@cache
def measured() -> dict[str, dict[str, float]]:
    """The scores of every case, with intervals."""
    found, given = {}, captions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case, (name, options) in CASES.items():
            result = whole(find_metric(name).measure(given, **options))
            numbers = {key: value for key, value in result.items() if isinstance(value, float) and value == value}
            left_out = ("_detectable", "meteor")  # which takes WordNet
            found[case] = {key: value for key, value in numbers.items() if not any(part in key for part in left_out)}
    words = given.words()
    _, report = align(words.human, words.model.present(), frozenset(), load_vectors("captions", words.human))
    return found | {"alignment": {f"{pair.word} to {pair.replacement}": pair.distance for pair in report.pairs}}


def check(found: dict[str, dict[str, float]]) -> None:
    """Within a twentieth of a printed digit: only what lies on the edge of one can be printed otherwise."""
    for case, pinned in json.loads(PINNED.read_text()).items():
        assert found[case].keys() == pinned.keys()
        wrong = [key for key in pinned if abs(found[case][key] - pinned[key]) > 0.05 * 10 ** -digits(case, key)]
        assert wrong == [], case


def digits(case: str, key: str) -> int:
    """Of the score whose interval or share this is; of the metric's finest where it is none."""
    metric, _ = CASES.get(case, ("dbac", {}))
    of_metric = {score.key: score.digits for score in SCORES.values() if score.metric == metric}
    own = [score for score in of_metric if key.startswith(score)]
    return of_metric[max(own, key=len)] if own else max(of_metric.values())


def test_every_metric_is_pinned():
    assert {name for name, _ in CASES.values()} == METRICS.keys() - {"imagecaptioner2"}


def test_scores_and_intervals_are_those_pinned():
    found = measured()
    check(found)
    for case, scores in found.items():
        for key in scores:
            if f"{key}_ci_low" in scores:
                assert scores[f"{key}_ci_low"] <= scores[key] <= scores[f"{key}_ci_high"], (case, key)


@pytest.mark.slow
def test_and_so_they_are_on_another_processor():
    script = "import json; from tests.metrics.test_pinned_scores import measured; print(json.dumps(measured()))"
    ran = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | OLD, capture_output=True, check=True, timeout=PATIENCE
    )
    assert json.loads(ran.stdout) == measured(), "not even the last digit is another"


if __name__ == "__main__":
    PINNED.write_text(json.dumps(measured(), indent=1) + "\n")
