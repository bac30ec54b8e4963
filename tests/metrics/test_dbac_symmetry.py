"""What DBAC must not mind: which side is called the captioner, what labels are called, in what order images come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import given as with_examples
from hypothesis import strategies as st

from captionbias.metrics import dbac
from captionbias.metrics.pairing import PAIRINGS

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # small sets are weak

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "alignment": "constant", "cache": False}
SCORES = [
    f"dbac_{name}{form}" for name in ("a_to_t", "t_to_a") for form in ("", "_matched", "_blind", "_net", "_prior")
]
PEOPLE = {"female": ["woman", "girl"], "male": ["man", "boy"], "": ["someone"]}
TASKS = ("ball", "bench", "cup")
OTHERS = ("sits", "waits", "runs", "inside", "outside", "nearby")
EXAMPLES = settings(deadline=None, max_examples=4, phases=[Phase.explicit, Phase.reuse, Phase.generate])
# Of either side, how often it names a person and tasks, and how much these and its verbs lean to women.
HABITS = st.fixed_dictionaries({side: st.tuples(st.floats(0.4, 1), st.floats(0.2, 0.8)) for side in ("m", "h")})
SEEDS = st.integers(0, 2**31)


def captions(seed, habits):
    """One caption of either side for each of 60 images; every word that is not masked is on both sides."""
    random = np.random.default_rng(seed)
    attributes = ["female" if image % 2 else "male" for image in range(60)]
    tasks = [[task for task in TASKS if random.random() < 0.4] for _ in attributes]

    def texts(naming, lean):
        for image, (attribute, shown) in enumerate(zip(attributes, tasks, strict=True)):
            person = random.choice(PEOPLE[attribute if random.random() < naming else ""])
            rate = naming * (lean if attribute == "female" else 1 - lean)
            named = [f"a {task}" for task in TASKS if random.random() < (rate if task in shown else 0.05)]
            verb = OTHERS[(attribute == "female") * 2] if random.random() < lean else OTHERS[1]
            yield " ".join(["a", person, verb, *named, "and a", OTHERS[image % len(OTHERS)]])

    return {
        "predictions": list(texts(*habits["m"])),
        "references": [[text] for text in texts(*habits["h"])],
        "attributes": attributes,
        "tasks": tasks,
        "task_lexicon": {task: [task] for task in TASKS},
    }


def scores(result):
    return {key: value for key, value in result.items() if key not in ("signature", "details")}


@EXAMPLES
@with_examples(SEEDS, HABITS)
def test_with_the_sides_swapped_every_score_and_interval_turns_its_sign(seed, habits):
    """Names are pooled from both sides. Up to the convergence of attackers whose words have other numbers."""
    given = captions(seed, habits)
    swapped = {
        "predictions": [text for (text,) in given["references"]],
        "references": [[text] for text in given["predictions"]],
    }
    found, other = dbac(**given, **FAST), dbac(**given | swapped, **FAST)
    assert any(found[score] for score in SCORES if score in found)
    for score in SCORES:
        assert (score in found) == (score in other)
        for end, turned in (("", ""), ("_ci_low", "_ci_high"), ("_ci_high", "_ci_low")):
            tolerance = 1e-12 if score.endswith("prior") else 1e-3
            expected = pytest.approx(-other.get(f"{score}{turned}", 0), abs=tolerance)
            assert found.get(f"{score}{end}", 0) == expected, f"{score}{end}"


@EXAMPLES
@with_examples(SEEDS, HABITS, st.sampled_from(PAIRINGS))
def test_what_labels_are_called_changes_nothing(seed, habits, pairing):
    """In the same order. Tasks in another order are other columns of the same attackers: up to their convergence."""
    given = captions(seed, habits)
    found = scores(dbac(**given, **FAST, pairing=pairing))

    def with_names(attributes, tasks):
        names = dict(zip(TASKS, tasks, strict=True))
        return {
            **given,
            "attributes": [attributes[label] for label in given["attributes"]],
            "tasks": [[names[task] for task in row] for row in given["tasks"]],
            "task_lexicon": {names[task]: [task] for task in TASKS},
        }

    renamed = with_names({"female": "Alpha", "male": "omega"}, ("1", "2", "3"))
    assert scores(dbac(**renamed, **FAST, pairing=pairing)) == found
    reordered = with_names({"female": "female", "male": "male"}, ("c", "a", "b"))
    assert scores(dbac(**reordered, **FAST, pairing=pairing)) == pytest.approx(found, abs=1e-4)
