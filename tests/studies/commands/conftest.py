"""The files of the command line's tests."""

from __future__ import annotations

from tests.cli.conftest import files, folder, planted  # noqa: F401
