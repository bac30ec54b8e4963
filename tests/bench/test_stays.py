"""How many functions are handed captions on their way to a score: what a next maintainer has to read."""

import sys

import pytest

from captionbias.bench.reading import Reading, Side
from captionbias.captions import Captions, Words, check_captions
from captionbias.metrics import DEFINED, find_metric
from captionbias.synthetic import plant
from captionbias.text import Mentions, Tokens

HOLDERS = Captions, Words, Tokens, Mentions, Reading, Side


def handed_captions(run):
    """The functions of ours that are handed captions, their words, mentions or what these name; not their methods."""
    functions = set()

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and "captionbias" in code.co_filename and not code.co_name.startswith("<"):
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if names[:1] not in (("self",), ("cls",)) and any(
                isinstance(frame.f_locals.get(n), HOLDERS) for n in names
            ):
                functions.add(code)

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return functions


@pytest.mark.parametrize("name", sorted(DEFINED.keys() - {"imagecaptioner2"}))  # which is of pictures
def test_captions_stay_in_few_functions_on_their_way_to_a_score(name):
    metric, given = find_metric(name), vars(plant(120, captions=3))
    options = {"preset": "fast", "trials": 1, "bootstrap": 20, "cache": False, "alignment": "constant"}
    options = metric.accepted(options)
    metric(check_captions(**given), **options)  # what is loaded once is loaded
    captions = check_captions(**given)
    assert 5 < len(handed_captions(lambda: metric(captions, **options))) < 15
