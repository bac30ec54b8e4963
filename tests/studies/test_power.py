"""What sway would have seen: each share is the smallest with a verdict, in people's captions with the bias put in."""

from dataclasses import replace

import pytest
from captionbias.bench.person import captioner_and_person

from captionbias.bench.verdicts import LESS, MORE, verdict
from captionbias.captions import check_captions
from captionbias.metrics import sway
from captionbias.statistics.samples import Estimate
from captionbias.studies.injections import BIASES, describe, inject
from captionbias.studies.power import SHARES, Power, Seen, power, power_table
from captionbias.synthetic import plant

QUICK = {"draws": 2, "bootstrap": 100}


@pytest.fixture(scope="module")
def people():
    given = plant(200)
    return {"references": given.references, "attributes": given.attributes}


@pytest.fixture(scope="module")
def found(people):
    return power(**people, **QUICK, seed=3)


def test_a_share_is_the_smallest_that_was_tried_with_a_verdict(found, people):
    person = captioner_and_person(check_captions(predictions=people["attributes"], **people), 3)[1]
    described = describe(person)
    assert {one.share is None for one in found.seen} == {True, False}
    for one in found.seen:
        shares = [0.0, *(share for share in SHARES if share < one.possible), one.possible]
        largest = one.possible if one.share is None else one.share
        for share in (shares[shares.index(largest) - 1], largest):
            changed = person.with_predictions(inject(described, BIASES[one.bias], share, seed=3))
            measured = sway.measure(changed, **QUICK, seed=3)
            assert (verdict(measured.estimates, one.score) in (MORE, LESS)) == (share == one.share)
        assert one.estimate == measured.estimates[one.score]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"references": [["a man"], ["a girl"]]}, "references: no image has two human captions"),
        ({"predictions": ["a man", "a girl"]}, "references is missing: biases are put into human captions"),
    ],
)
def test_people_are_needed(given, message):
    with pytest.raises(ValueError, match=message):
        power(check_captions(**given, attributes=["male", "female"]))


def test_the_terminal_shows_from_which_share_on_a_bias_is_seen():
    seen = Seen("value follows tasks", "sway_t_to_a", 0.005, 0.16, Estimate(1.04, 0.62, 1.47))
    unseen = replace(seen, score="sway_t_to_a_lost", share=None, estimate=None)
    first, second = power_table(Power([seen, unseen], 100, "")).rows
    assert first[2:] == ["0.5%", "1.0 [0.6, 1.5]"]
    assert second[2:] == ["not at 16.0%", "-"]
