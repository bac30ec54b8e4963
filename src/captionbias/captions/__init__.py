"""Captions in: the one input type, the one reader, and every error that bad input raises."""

from captionbias.captions.captioned import captioned_labels as captioned_labels
from captionbias.captions.captioners import check_captioners as check_captioners
from captionbias.captions.captioners import on_the_same_images as on_the_same_images
from captionbias.captions.check import CaptionBiasWarning as CaptionBiasWarning
from captionbias.captions.check import Captions as Captions
from captionbias.captions.check import Words as Words
from captionbias.captions.check import check_captions as check_captions
from captionbias.captions.check import check_sides as check_sides
from captionbias.captions.columns import guess_columns as guess_columns
from captionbias.captions.crossing import count_cells as count_cells
from captionbias.captions.crossing import cross as cross
from captionbias.captions.crossing import uncross as uncross
from captionbias.captions.entries import MAX_CHARACTERS as MAX_CHARACTERS
from captionbias.captions.labels import Labels as Labels
from captionbias.captions.labels import check_labels as check_labels
from captionbias.captions.labels import join_labels as join_labels
from captionbias.captions.reader import captions_of as captions_of
from captionbias.captions.reader import read_captioners as read_captioners
from captionbias.captions.reader import read_captions as read_captions
