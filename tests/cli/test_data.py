"""`captionbias data`: what it prints, writes and refuses."""

from pathlib import Path

from tests.cli.conftest import ran, refused
from tests.datasets.conftest import artemis, coco, write


def test_it_prints_rows_and_what_was_left_out(tmp_path: Path) -> None:
    source, to = write(tmp_path / "coco", coco()), tmp_path / "to"
    printed, _ = ran("data", "build", "coco_caption_bias", "--from", source, "--to", to)
    assert printed.splitlines() == [
        "gender: 3 rows; left out: 1 without a label of gender, 1 without a human caption, 1 labelled both, "
        "1 empty human captions",
        "race: 3 rows; left out: 2 without a label of race, 1 labelled unsure, 1 empty human captions",
        "age: 4 rows; left out: 2 without a label of age, 1 empty human captions",
        f"load_dataset({str(to)!r}, 'gender') reads it",
    ]
    chosen = ["--config", "race", "--config", "age"]
    printed, _ = ran("data", "build", "coco_caption_bias", "--from", source, "--to", tmp_path / "two", *chosen)
    assert [line.split(":")[0] for line in printed.splitlines()[:2]] == ["race", "age"]


def test_an_error_is_one_line_and_status_2(tmp_path: Path) -> None:
    source = write(tmp_path / "original", artemis())
    error = refused("data", "build", "coco_caption_bias", "--from", source, "--to", tmp_path / "to")
    assert error.startswith(f"{source} has no captions_val2014.json: put it there; it comes from http")
