"""What an argument is stands in one place, from which docstrings, modules and help are made."""

import re
from inspect import signature

import pytest

from captionbias.bench.arguments import ARGUMENTS
from captionbias.bench.catalogue import METRICS
from captionbias.bench.measurement import metric
from captionbias.metrics import find_metric


@pytest.mark.parametrize("name", METRICS)
def test_a_docstring_says_what_each_argument_is_in_the_order_of_the_signature(name):
    """A section of its own in the source would be there twice."""
    document = find_metric(name).__doc__
    assert re.findall(r"^(\w+):$", document, re.MULTILINE).count("Args") == 1
    args = document.partition("Args:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    (\w+): \S", args, re.MULTILINE) == [*signature(find_metric(name)).parameters]
    assert max(map(len, document.splitlines())) <= 120
    returned = document.partition("Returns:\n")[2].partition("\n\n")[0]
    assert " ".join(returned.split()) == METRICS[name].returns != ""


def test_a_default_that_stands_for_something_is_told_where_it_is_none():
    model = ARGUMENTS["model"]._replace(about="`n` models")
    assert model.sentence(None) == "`n` models; `bert-base-uncased` when None."
    assert model.sentence("roberta-base") == "`n` models."
    assert model.help == "n models."
    assert ARGUMENTS["prompt"].help == "What follows each caption."


def test_an_argument_that_is_described_nowhere_is_refused(own_metrics):
    def length(captions, /, *, shortest=1): ...

    with pytest.raises(TypeError, match="length: shortest is no argument of other metrics: say in `about` what it is"):
        metric("Length", "how long?", [])(length)
    described = metric("Length", "how long?", [], about={"shortest": "words that count"})(length)
    assert "    shortest: words that count.\n" in described.__doc__
