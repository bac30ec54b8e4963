"""The presets that papers define, the settings of one measurement, and the signature that a score carries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from captionbias._version import __version__
from captionbias.bench.catalogue import METRICS
from captionbias.errors import InputError, unknown
from captionbias.text import Lexicon

LEAST_REPLICATES = 20  # of the bootstrap


def preset_settings(metric: str, preset: str, **chosen: Any) -> tuple[str, dict[str, Any]]:
    """The preset's own name and its settings, with those that the caller chose in their place: not None, and no other
    arguments. `papers` is the metric's protocol of its paper."""
    presets = METRICS[metric].presets
    name = next(iter(presets)) if preset == "papers" else preset
    if not isinstance(name, str) or name not in presets:
        raise unknown("preset", preset, (*presets, "papers"))
    usual = presets[name]
    result = {setting: usual[setting] if chosen.get(setting) is None else chosen[setting] for setting in usual}
    for setting, value in result.items():
        if isinstance(usual[setting], bool) and not isinstance(value, bool):
            raise InputError("kind", setting).says(f"must be True or False, not {value!r}")
    result["trials"] = whole_number("trials", result["trials"], least=1)
    if result.get("alignment", "constant") not in ("constant", "contextual"):
        raise unknown("alignment", result["alignment"], ("constant", "contextual"))
    return name, result


def whole_number(name: str, value: Any, least: int) -> int:
    """The argument `name` as an int: numpy's whole numbers are as good as Python's, True and 3.0 are not."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError("kind", name).says(f"must be a whole number of {least} or more, not {value!r}")
    return int(value)


def replicate_count(bootstrap: Any) -> int:
    """The argument `bootstrap`: 0, or enough replicates for an interval."""
    count = whole_number("bootstrap", bootstrap, least=0)
    if 0 < count < LEAST_REPLICATES:
        raise InputError("range", "bootstrap").says(
            f"must be {LEAST_REPLICATES} or more, or 0 for no intervals, not {count}"
        )
    return count


def signature(**parts: Any) -> str:
    """Everything that changes the score, as `name:value|...`, in the manner of sacreBLEU."""
    return "|".join(f"{name}:{value}" for name, value in {**parts, "v": __version__}.items())


def lexicon_name(lexicon: Lexicon, source: object) -> str:
    """A built-in lexicon's name; for a user's own, its name and a digest of its words; of a crossing, each part's."""
    if lexicon.parts:
        sources = source if isinstance(source, (list, tuple)) else lexicon.parts
        return "+".join(lexicon_name(part, each) for part, each in zip(lexicon.parts, sources, strict=True))
    if isinstance(source, str) and source == lexicon.name:
        return source
    return f"{lexicon.name}-{_digest((lexicon.mask, sorted(lexicon.groups.items()), sorted(lexicon.masked_only)))}"


def vectors_name(vectors: Any) -> str:
    """A file's name, or what word vectors say they are, as `called`."""
    return (
        Path(vectors).name if isinstance(vectors, (str, Path)) else getattr(vectors, "called", type(vectors).__name__)
    )


def alignment_name(settings: Mapping[str, Any]) -> str:
    """`constant`, or `contextual` with its vectors and its threshold; to a captioner's own vocabulary also a digest."""
    parts, vocabulary = [settings["alignment"]], settings.get("vocabulary")
    if settings.get("names_kept"):
        parts.append("names-kept")
    if settings["alignment"] == "contextual":
        parts += [vectors_name(settings["vectors"]), f"{settings['delta']:g}"]
    if vocabulary:
        parts.append(f"to-{_digest(sorted(vocabulary))}")
    return ",".join(parts)


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:8]
