"""The web page on which users upload captions and see their bias, made with gradio."""

from __future__ import annotations

import os

# Before gradio is imported: no usage data are sent, and no browser keeps what was uploaded.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_RUN_HISTORY", "False")
os.environ.setdefault("MPLBACKEND", "agg")  # else gradio looks for one at the first event, which takes a second
