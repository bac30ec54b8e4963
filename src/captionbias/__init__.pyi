from captionbias.analysis.audit import audit as audit
from captionbias.analysis.caption_quality import caption_quality as caption_quality
from captionbias.analysis.compare import compare as compare
from captionbias.analysis.intersections import intersections as intersections
from captionbias.bench.measurement import Measurement as Measurement
from captionbias.captions import CaptionBiasWarning as CaptionBiasWarning
from captionbias.captions import Captions as Captions
from captionbias.captions import check_captions as check_captions
from captionbias.captions import cross as cross
from captionbias.captions import read_captions as read_captions
from captionbias.captions.captioned import captioned_labels as captioned_labels
from captionbias.images.imagecaptioner2 import imagecaptioner2 as imagecaptioner2
from captionbias.metrics import *  # noqa: F403
from captionbias.report.html import write_report as write_report
from captionbias.report.svg import picture as picture
from captionbias.synthetic import plant as plant
from captionbias.text import Lexicon as Lexicon
from captionbias.text import lexicon_of as lexicon_of
from captionbias.text import load_lexicon as load_lexicon

__version__: str
__all__: list[str]
