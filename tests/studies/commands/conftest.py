"""The files of the command line's tests."""

from tests.cli.conftest import files, folder, planted  # noqa: F401
