"""The page on which somebody uploads captions and sees their bias, with gradio."""

from __future__ import annotations

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported: nothing is told to anybody
