"""Does an image captioner make its data's bias worse, in which direction, for which tasks, and how sure is that?

What most people need is here, and imported when it is first used:

    captions = captionbias.read_captions(predictions="nic.parquet", references="people.parquet")
    captionbias.dbac(captions, preset="fast")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from captionbias._version import __version__ as __version__

_HOMES = {
    "captionbias.bench.measurement": "Measurement",
    "captionbias.captions": "CaptionBiasWarning Captions check_captions cross read_captions",
    "captionbias.captions.captioned": "captioned_labels",
    "captionbias.text": "Lexicon load_lexicon",
    "captionbias.images.anonymousbench": "anonymousbench",
    "captionbias.analysis.compare": "compare",
    "captionbias.studies.consistency": "consistency",
    "captionbias.analysis.audit": "audit",
    "captionbias.analysis.intersections": "intersections",
    "captionbias.analysis.caption_quality": "caption_quality",
    "captionbias.studies.power": "power",
    "captionbias.analysis.sensitivity": "sensitivity",
    "captionbias.analysis.sentences": "by_sentence",
    "captionbias.studies.resampling": "predicted_effect resampling_weights",
    "captionbias.report.html": "write_report",
    "captionbias.report.picture": "picture",
    "captionbias.synthetic": "plant",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from collections.abc import Mapping

    from captionbias.analysis.audit import audit as audit
    from captionbias.analysis.caption_quality import caption_quality as caption_quality
    from captionbias.analysis.compare import compare as compare
    from captionbias.analysis.intersections import intersections as intersections
    from captionbias.analysis.sensitivity import sensitivity as sensitivity
    from captionbias.analysis.sentences import by_sentence as by_sentence
    from captionbias.bench.measurement import Measurement as Measurement
    from captionbias.bench.measurement import Metric
    from captionbias.captions import CaptionBiasWarning as CaptionBiasWarning
    from captionbias.captions import Captions as Captions
    from captionbias.captions import captioned_labels as captioned_labels
    from captionbias.captions import check_captions as check_captions
    from captionbias.captions import cross as cross
    from captionbias.captions import read_captions as read_captions
    from captionbias.images.anonymousbench import anonymousbench as anonymousbench
    from captionbias.images.imagecaptioner2 import imagecaptioner2 as imagecaptioner2
    from captionbias.metrics import *  # noqa: F403
    from captionbias.report.html import write_report as write_report
    from captionbias.report.picture import picture as picture
    from captionbias.studies.consistency import consistency as consistency
    from captionbias.studies.power import power as power
    from captionbias.studies.resampling import predicted_effect as predicted_effect
    from captionbias.studies.resampling import resampling_weights as resampling_weights
    from captionbias.synthetic import plant as plant
    from captionbias.text import Lexicon as Lexicon
    from captionbias.text import load_lexicon as load_lexicon


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name == "__all__":
        return sorted((*_MODULES, *_metrics()))
    if name.startswith("_") or name not in _metrics():
        raise AttributeError(f"module 'captionbias' has no attribute {name!r}")
    return _metrics()[name]


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]


def _metrics() -> Mapping[str, Metric[Any]]:
    """The metrics, a user's own among them."""
    defined: Mapping[str, Metric[Any]] = import_module("captionbias.metrics").DEFINED
    return defined
