"""Counts of captions that add: those of shards, on any engine, are those of all captions, to the last bit."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captionbias.counting.counts import count as count
    from captionbias.counting.counts import draw_images as draw_images
    from captionbias.counting.counts import learn_filters as learn_filters
    from captionbias.counting.counts import merge_counts as merge_counts
    from captionbias.counting.counts import read_counts as read_counts


def __getattr__(name: str) -> Any:  # metrics are slow to import, and the command's help needs none
    if name not in ("count", "draw_images", "learn_filters", "merge_counts", "read_counts"):
        raise AttributeError(f"module 'captionbias.counting' has no attribute {name!r}")
    from captionbias.counting import counts

    return getattr(counts, name)
