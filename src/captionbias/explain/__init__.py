"""Why a score is what it is: which words give the attribute, or the tasks, away."""

from __future__ import annotations

from captionbias.explain.attributions import Attributions, explain

__all__ = ["Attributions", "explain"]
