"""The page on which somebody uploads captions and sees their bias, with gradio."""

from __future__ import annotations

import os

# Before gradio is imported: nothing is told to anybody, and no browser keeps what was uploaded.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_RUN_HISTORY", "False")
