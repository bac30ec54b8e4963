"""Counts of captions that add: those of shards, on any engine, are those of all captions, to the last bit."""

from captionbias.counting.counts import count as count
from captionbias.counting.counts import merge_counts as merge_counts
from captionbias.counting.counts import read_counts as read_counts
