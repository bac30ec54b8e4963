"""Crossed attributes: what a captioner does at their intersections, beside what it does by each attribute alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from captionbias.captions import Captions, uncross
from captionbias.metrics import Measurement, catalogue, find_metric
from captionbias.text import LexiconSource

METRICS = catalogue.REPORTED
CROSSING = " x "  # between the names of crossed attributes


def intersections(
    captions: Captions, lexicons: Mapping[str, LexiconSource], metric: str = "sway", **options: Any
) -> dict[str, Measurement]:
    """Measure captions by crossed attributes and by each alone, on the same images and with the same seeds.

    A bias can be at an intersection alone: a captioner may be fair to women and to dark-skinned people and not to
    dark-skinned women. The crossing hides the words of all attributes, and each attribute alone those of its own. A
    score of a crossing is compared with 0, as that of any attribute; a gap of sway is there that of one intersection to
    the mean of the others. A side's LIC is not compared between attributes: the more values, the lower it is by chance.

    Args:
        captions: with crossed labels, from `read_captions(..., attribute=["gender", "race"])` or with those of `cross`.
        lexicons: the words of each attribute, by its name, in the order in which they were crossed.
        metric: `sway`, `dbac` or `lic`.
        options: of the metric, such as `preset`, `trials`, `seed` or `cache`. Whether wrong names
            follow the tasks sway asks of each attribute alone, by the values of which tasks lean.

    Returns:
        Each attribute's measurement by its name, and last the crossing's, called "gender x skin", say.

    >>> from captionbias.captions import check_captions, cross
    >>> people = {"gender": ["female", "male"] * 40, "skin": ["dark", "dark", "light", "light"] * 20}
    >>> texts = ["a black woman cooks", "a man surfs", "a lady rides", "a guy skates"] * 20
    >>> captions = check_captions(predictions=texts, attributes=cross(people))
    >>> found = intersections(captions, {"gender": "gender", "skin": "race"}, "lic", preset="fast", trials=2)
    >>> list(found)
    ['gender', 'skin', 'gender x skin']
    """
    if metric not in METRICS:
        raise ValueError(f"metric {metric!r} is not measured at intersections; choose one of {', '.join(METRICS)}")
    if len(lexicons) < 2:
        raise ValueError(f"lexicons has {len(lexicons)} attributes: a crossing needs two or more")
    labels = uncross(captions.attributes, len(lexicons))

    measure = partial(find_metric(metric).measure, **options)
    crossed = measure(captions, attribute_lexicon=list(lexicons.values()))
    alone = {
        name: measure(captions.with_attributes(values), attribute_lexicon=words)
        for (name, words), values in zip(lexicons.items(), labels, strict=True)
    }
    return {**alone, CROSSING.join(lexicons): crossed}
