"""The commands that look at images."""

from __future__ import annotations

import typer

from captionbias.cli.options import command
from captionbias.images.commands import attribution, caption, mask, masking


def add(app: typer.Typer) -> None:
    command(app, "caption", caption.OPTIONS, caption.caption)
    command(app, "audit", caption.AUDIT_OPTIONS, caption.audit)
    command(app, "attribution", attribution.OPTIONS, attribution.attribution)
    command(app, "mask", mask.OPTIONS, mask.mask)
    command(app, "masking", masking.OPTIONS, masking.masking)
