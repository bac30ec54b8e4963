"""`captionbias reproduce`: from captioners' files to a table of a paper."""

import json

from tests.cli.conftest import ran, refused

QUICK = ("--fast", "--trials", "2", "--vectors", "captions", "--no-cache")


def test_a_table_is_printed_and_written(files, tmp_path):
    shown, notes = ran("reproduce", "dbac-2026", "table-9", *files, *QUICK, "--output", tmp_path / "table.json")
    found = json.loads((tmp_path / "table.json").read_text())
    cell = found["columns"]["T to A"]["nic"]
    assert cell["value_ci_low"] < cell["value"] < cell["value_ci_high"]
    assert cell["printed"] == 27.43
    for text in ("T to A", "printed", "What attackers learned", "Not the paper's: convex attackers", "signature"):
        assert text in shown
    assert "nic: A to T" in notes


def test_a_figure_is_a_table_and_written_as_markdown(files, tmp_path):
    ran("reproduce", "dbac-2026", "figure-1", *files, "--vectors", "captions", "--output", tmp_path / "figure.md")
    assert "| nic |" in (tmp_path / "figure.md").read_text()


def test_all_tables_are_listed_and_what_is_missing_is_said():
    shown, _ = ran("reproduce")
    for text in ("dbac-2026", "table-15b", "imagecaptioner2-2023", "lic-2022", "lic-2023"):
        assert text in shown
    assert "paper 'nosuchpaper' is unknown; choose one of dbac-2026, " in refused("reproduce", "nosuchpaper")
    asked = ["reproduce", "dbac-2026", "table-9"]
    assert "--predictions must be given" in refused(*asked)
    assert "must end in .json or .md" in refused(*asked, "--output", "a.csv")
