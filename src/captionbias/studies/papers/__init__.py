"""The tables of each paper, a module a paper: what is measured, with which options. What was printed: `../printed`."""

from __future__ import annotations

from captionbias.studies.papers import dbac_2026, imagecaptioner2_2023, lic_2022, lic_2023

__all__ = ["dbac_2026", "imagecaptioner2_2023", "lic_2022", "lic_2023"]
