"""The presets that papers define, the settings of one measurement, and the signature that a score carries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from captionbias import __version__
from captionbias.metrics.catalogue import METRICS
from captionbias.text import Lexicon

LEAST_REPLICATES = 20  # of the bootstrap
LIC_2022: dict[str, Any] = {
    "encoder": "lstm-lic",
    "trials": 10,
    "test_share": 0.1,
    "alignment": "constant",
    "vectors": "captions",
    "delta": 0.4,
    "tokenizer": "words",
    "attribute_lexicon": "gender",
}
DBAC_2026: dict[str, Any] = {
    "encoder": "lstm-dbac",
    "trials": 10,
    "test_share": 0.2,
    "alignment": "contextual",
    "vectors": "captions",
    "delta": 0.4,
    "quality": "confidence",
    "tokenizer": "words",
    "attribute_lexicon": "gender",
    "task_lexicon": "coco_objects",
    "pairing": "held-out",
    "controls": True,
}
IMAGECAPTIONER2_2023: dict[str, Any] = {
    "judge": "sat",
    "epochs": None,
    "trials": 5,
    "test_share": 0.2,
    "tokenizer": "words",
    "attribute_lexicon": "gender",
}
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "imagecaptioner2": {
        "imagecaptioner2-2023": IMAGECAPTIONER2_2023,
        "fast": IMAGECAPTIONER2_2023 | {"epochs": 20, "trials": 2},
    },
    "lic": {"lic-2022": LIC_2022, "fast": LIC_2022 | {"encoder": "bow"}},
    "dbac": {
        "dbac-2026": DBAC_2026,
        "dbac-2026-published": DBAC_2026
        | {
            "tokenizer": "whitespace",
            "task_lexicon": "coco_objects_published",
            "vectors": "glove-wiki-gigaword-50",
            "pairing": "every-caption",
            "controls": False,
        },
        "fast": DBAC_2026 | {"encoder": "bow"},
    },
}


def preset_settings(metric: str, preset: str, **chosen: Any) -> tuple[str, dict[str, Any]]:
    """The preset's own name and its settings, with those that the caller chose (not None) in their place.

    `papers` is the metric's protocol of its paper.

    >>> name, settings = preset_settings("lic", "papers", trials=2)
    >>> name, settings["encoder"], settings["trials"]
    ('lic-2022', 'lstm-lic', 2)

    Raises:
        ValueError: an unknown preset or alignment, or trials that are not a whole number of 1 or more.
    """
    presets = PRESETS[metric]
    name = METRICS[metric].preset(preset) or preset if isinstance(preset, str) else ""
    if name not in presets:
        raise ValueError(f"preset {preset!r} is unknown; choose one of {', '.join((*presets, 'papers'))}")
    result = presets[name] | {setting: value for setting, value in chosen.items() if value is not None}
    result["trials"] = whole_number("trials", result["trials"], least=1)
    if result.get("alignment", "constant") not in ("constant", "contextual"):
        raise ValueError(f"alignment {result['alignment']!r} is unknown; choose constant or contextual")
    return name, result


def whole_number(name: str, value: Any, least: int) -> int:
    """The argument `name` as an int: numpy's whole numbers are as good as Python's, True and 3.0 are not.

    >>> whole_number("bootstrap", 1000, least=0)
    1000

    Raises:
        ValueError: not a whole number, or below `least`.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of {least} or more, not {value!r}")
    return int(value)


def replicate_count(bootstrap: Any) -> int:
    """The argument `bootstrap`: 0, or enough replicates for an interval.

    >>> replicate_count(1000)
    1000

    Raises:
        ValueError: not a whole number, below 0, or so few that their range is no 95% interval.
    """
    count = whole_number("bootstrap", bootstrap, least=0)
    if 0 < count < LEAST_REPLICATES:
        raise ValueError(f"bootstrap must be {LEAST_REPLICATES} or more, or 0 for no intervals, not {count}")
    return count


def signature(**parts: Any) -> str:
    """Everything that changes the score, as `name:value|...`, in the manner of sacreBLEU.

    >>> signature(attacker="bow", trials=10)
    'attacker:bow|trials:10|v:0.1.0'
    """
    return "|".join(f"{name}:{value}" for name, value in {**parts, "v": __version__}.items())


def lexicon_name(lexicon: Lexicon, source: object) -> str:
    """A built-in lexicon's name; for a user's own, its name and a digest of its words; both of each part of a crossing.

    >>> from captionbias.text import load_lexicon
    >>> lexicon_name(load_lexicon(["gender", "race"]), ["gender", "race"])
    'gender+race'
    """
    if lexicon.parts:
        sources = source if isinstance(source, (list, tuple)) else lexicon.parts
        return "+".join(lexicon_name(part, each) for part, each in zip(lexicon.parts, sources, strict=True))
    if isinstance(source, str) and source == lexicon.name:
        return source
    content = repr((lexicon.mask, sorted(lexicon.groups.items()), sorted(lexicon.masked_only)))
    return f"{lexicon.name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def alignment_name(settings: Mapping[str, Any]) -> str:
    """`constant`, or `contextual` with its vectors and its threshold; vectors may say what they are as `called`.

    To a captioner's own vocabulary also a digest of its words.
    """
    alignment, vectors, vocabulary = settings["alignment"], settings["vectors"], settings.get("vocabulary")
    to = f",to-{hashlib.sha256(repr(sorted(vocabulary)).encode()).hexdigest()[:8]}" if vocabulary else ""
    if alignment == "constant":
        return f"{alignment}{to}"
    name = (
        Path(vectors).name if isinstance(vectors, (str, Path)) else getattr(vectors, "called", type(vectors).__name__)
    )
    return f"{alignment},{name},{settings['delta']:g}{to}"
