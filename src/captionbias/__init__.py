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
    "captionbias.metrics": (
        *("ba_mals", "dbac", "directional_ba", "dpa", "gender_error", "label_leakage", "lic"),
        "multi_directional_ba",
        "sway",
        "Measurement",
    ),
    "captionbias.captions": (
        "CaptionBiasWarning",
        "Captions",
        "captions_from_table",
        "check_captions",
        "cross",
        "read_captions",
    ),
    "captionbias.images.imagecaptioner2": ("imagecaptioner2",),
    "captionbias.text": ("Lexicon", "load_lexicon"),
    "captionbias.images.anonymousbench": ("anonymousbench",),
    "captionbias.analysis.compare": ("compare",),
    "captionbias.analysis.consistency": ("consistency",),
    "captionbias.analysis.audit": ("audit",),
    "captionbias.analysis.intersections": ("intersections",),
    "captionbias.analysis.caption_quality": ("caption_quality",),
    "captionbias.analysis.power": ("power",),
    "captionbias.analysis.sensitivity": ("sensitivity",),
    "captionbias.analysis.resampling": ("predicted_effect", "resampling_weights", "write_weights"),
    "captionbias.explain": ("attribute_captions",),
    "captionbias.report.html": ("write_report",),
    "captionbias.report.picture": ("picture",),
    "captionbias.synthetic": ("plant",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from captionbias.analysis.audit import audit
    from captionbias.analysis.caption_quality import caption_quality
    from captionbias.analysis.compare import compare
    from captionbias.analysis.consistency import consistency
    from captionbias.analysis.intersections import intersections
    from captionbias.analysis.power import power
    from captionbias.analysis.resampling import predicted_effect, resampling_weights, write_weights
    from captionbias.analysis.sensitivity import sensitivity
    from captionbias.captions import (
        CaptionBiasWarning,
        Captions,
        captions_from_table,
        check_captions,
        cross,
        read_captions,
    )
    from captionbias.explain import attribute_captions
    from captionbias.images.anonymousbench import anonymousbench
    from captionbias.images.imagecaptioner2 import imagecaptioner2 as imagecaptioner2
    from captionbias.metrics import Measurement
    from captionbias.metrics.ba_mals import ba_mals as ba_mals
    from captionbias.metrics.dbac import dbac as dbac
    from captionbias.metrics.directional_ba import directional_ba as directional_ba
    from captionbias.metrics.dpa import dpa as dpa
    from captionbias.metrics.gender_error import gender_error as gender_error
    from captionbias.metrics.label_leakage import label_leakage as label_leakage
    from captionbias.metrics.lic import lic as lic
    from captionbias.metrics.multi_directional_ba import multi_directional_ba as multi_directional_ba
    from captionbias.metrics.sway import sway as sway
    from captionbias.report.html import write_report
    from captionbias.report.picture import picture
    from captionbias.synthetic import plant
    from captionbias.text import Lexicon, load_lexicon

__all__ = [
    "CaptionBiasWarning",
    "Captions",
    "Lexicon",
    "Measurement",
    "anonymousbench",
    "attribute_captions",
    "audit",
    "ba_mals",
    "caption_quality",
    "captions_from_table",
    "check_captions",
    "compare",
    "consistency",
    "cross",
    "dbac",
    "directional_ba",
    "dpa",
    "gender_error",
    "imagecaptioner2",
    "intersections",
    "label_leakage",
    "lic",
    "load_lexicon",
    "multi_directional_ba",
    "picture",
    "plant",
    "power",
    "predicted_effect",
    "read_captions",
    "resampling_weights",
    "sensitivity",
    "sway",
    "write_report",
    "write_weights",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'captionbias' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
