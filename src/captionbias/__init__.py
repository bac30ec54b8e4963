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
    "captionbias.metrics": "ba_mals dbac directional_ba dpa gender_error label_leakage lic multi_directional_ba sway",
    "captionbias.bench.measurement": "Measurement",
    "captionbias.captions": "CaptionBiasWarning Captions check_captions cross read_captions",
    "captionbias.captions.captioned": "captioned_labels",
    "captionbias.images.imagecaptioner2": "imagecaptioner2",
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
    from captionbias.analysis.audit import audit as audit
    from captionbias.analysis.caption_quality import caption_quality as caption_quality
    from captionbias.analysis.compare import compare as compare
    from captionbias.analysis.intersections import intersections as intersections
    from captionbias.analysis.sensitivity import sensitivity as sensitivity
    from captionbias.analysis.sentences import by_sentence as by_sentence
    from captionbias.captions import CaptionBiasWarning as CaptionBiasWarning
    from captionbias.captions import Captions as Captions
    from captionbias.captions import captioned_labels as captioned_labels
    from captionbias.captions import check_captions as check_captions
    from captionbias.captions import cross as cross
    from captionbias.captions import read_captions as read_captions
    from captionbias.images.anonymousbench import anonymousbench as anonymousbench
    from captionbias.images.imagecaptioner2 import imagecaptioner2 as imagecaptioner2
    from captionbias.metrics import Measurement as Measurement
    from captionbias.metrics.ba_mals import ba_mals as ba_mals
    from captionbias.metrics.dbac import dbac as dbac
    from captionbias.metrics.directional_ba import directional_ba as directional_ba
    from captionbias.metrics.dpa import dpa as dpa
    from captionbias.metrics.gender_error import gender_error as gender_error
    from captionbias.metrics.label_leakage import label_leakage as label_leakage
    from captionbias.metrics.lic import lic as lic
    from captionbias.metrics.multi_directional_ba import multi_directional_ba as multi_directional_ba
    from captionbias.metrics.sway import sway as sway
    from captionbias.report.html import write_report as write_report
    from captionbias.report.picture import picture as picture
    from captionbias.studies.consistency import consistency as consistency
    from captionbias.studies.power import power as power
    from captionbias.studies.resampling import predicted_effect as predicted_effect
    from captionbias.studies.resampling import resampling_weights as resampling_weights
    from captionbias.synthetic import plant as plant
    from captionbias.text import Lexicon as Lexicon
    from captionbias.text import load_lexicon as load_lexicon

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'captionbias' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
