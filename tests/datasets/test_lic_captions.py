"""The LIC study's pickles: rows, captioners by file name, and each bad entry by name."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from captionbias.datasets.lic_captions import LicCaptions
from tests.datasets.conftest import lic, records_of, write

HUMAN = "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl"
RACE = "bias_data/Human_Ann/race_val_obj_cap_entries.pkl"
NIC = "bias_data/Show-Tell/gender_val_st10_cap_mw_entries.pkl"


def read(folder: Path, configuration: str = "gender") -> list[dict[str, Any]]:
    return records_of(LicCaptions, folder, configuration)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_rows_of_both_configurations_in_every_protocol(protocol: int, folder: Path) -> None:
    source = LicCaptions(write(folder, lic(), protocol))
    assert source.captioners == ("nic", "nic_equalizer")
    assert read(folder) == [
        {
            "image_id": 5,
            "references": ["a woman"],
            "attribute": "female",
            "tasks": ["cat"],
            "gender": "Female",
            "skin": None,
            "nic": "a woman",
            "nic_equalizer": "a woman",
        },
        {
            "image_id": 7,
            "references": ["a person"],
            "attribute": "male",
            "tasks": [],
            "gender": "Male",
            "skin": "Dark",
            "nic": "a man",
            "nic_equalizer": None,
        },
        {
            "image_id": 9,
            "references": ["a man", "a guy"],
            "attribute": "male",
            "tasks": ["umbrella", "dog"],
            "gender": "Male",
            "skin": "Light",
            "nic": "a dog",
            "nic_equalizer": None,
        },
    ]
    race = read(folder, "race")
    assert [(row["image_id"], row["attribute"], row["tasks"], row["nic"]) for row in race] == [
        (7, "dark", [], "a dog"),
        (9, "light", [], None),
    ]
    assert "nic_equalizer" not in race[0]


def test_files_may_be_anywhere(folder: Path, tmp_path: Path) -> None:
    flat = {Path(place).name: content for place, content in lic().items()}
    assert read(write(folder, flat)) == read(write(tmp_path / "nested", lic()))


def test_other_files_are_passed_over(folder: Path) -> None:
    more = {"x/gender_train_st10_cap_mw_entries.pkl": b"", "gender_val_obj_cap_mw_entries.pkl": b"", "a.pkl": b""}
    assert LicCaptions(write(folder, {**lic(), **more})).captioners == ("nic", "nic_equalizer")


def test_one_attribute_is_enough(folder: Path) -> None:
    files = lic()
    del files[RACE]
    write(folder, files)
    assert len(read(folder)) == 3
    with pytest.raises(ValueError, match=r"no race_val_obj_cap_entries\.pkl: put it there, or leave 'race' out"):
        read(folder, "race")
    (folder / HUMAN).unlink()
    with pytest.raises(ValueError, match=r"has none of gender_obj.*they come from https://github\.com/rebnej"):
        LicCaptions(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Tasks", "names a column 'Tasks', and there is another one"),
        ("NIC", r"gender_val_\w+\.pkl names a column '(nic|NIC)', and there is another one"),
        ("st10_th10", "names a column 'nic', and there is another one: rename the file"),
        ("my nic", "names a column 'my nic': use letters, digits and _ only"),
    ],
)
def test_a_captioner_needs_a_column_name_of_its_own(name: str, message: str, folder: Path) -> None:
    write(folder, {**lic(), f"x/gender_val_{name}_cap_mw_entries.pkl": []})
    with pytest.raises(ValueError, match=message):
        LicCaptions(folder)


def test_two_files_of_people_are_refused(folder: Path) -> None:
    write(folder, {**lic(), f"again/{Path(HUMAN).name}": []})
    with pytest.raises(
        ValueError,
        match=r"Human_Ann/.* and .*again/.* are both gender_obj.*: keep one of the two|again/.* and .*Human_Ann/.*",
    ):
        LicCaptions(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"img_id": 7.0}, r'\[1\]: "img_id" must be a whole number, 0 or above, not 7\.0'),
        ({"img_id": "9"}, r'\[1\]: "img_id" 9 is also at \[0\]'),
        ({"caption_list": "a man"}, r'\[1\]: "caption_list" must be a list of strings'),
        ({"caption_list": ["a", None]}, r'\[1\]: "caption_list" must be a string, not None'),
        ({"caption_list": ["a\ud83d"]}, r'\[1\]: "caption_list" must not have half of a surrogate pair'),
        ({"bb_gender": ["Male"]}, r": bb_gender\[1\] must be .*, not \['Male'\]"),
        ({"bb_skin": "Male"}, r": bb_skin\[1\] must be .*, not 'Male'"),
        ({"rmdup_object_list": [["dog"]]}, r'\[1\]: "rmdup_object_list" must be a string'),
    ],
)
def test_a_bad_entry_of_people_is_named(change: dict[str, Any], message: str, folder: Path) -> None:
    files = lic()
    files[HUMAN][1] |= change
    with pytest.raises(ValueError, match=r"^gender_obj_cap_mw_entries\.pkl" + message):
        read(write(folder, files))
    [field] = change
    del files[HUMAN][1][field]
    if field != "rmdup_object_list":
        with pytest.raises(ValueError, match=rf'^gender_obj_cap_mw_entries\.pkl\[1\] has no "{field}"'):
            read(write(folder, files))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"img_id": 1}, "must be a list of entries: check that it is the right file"),
        ([], "must be a list of entries"),
        ([[]], r"\[0\] must be an object with img_id, pred"),
        ([{"img_id": 9, "pred": "a"}, {"img_id": "9", "pred": "b"}], r'\[1\]: "img_id" 9 is also at \[0\]'),
        ([{"img_id": 9, "pred": "a"}, {"img_id": 1, "pred": "b"}], r'\[1\]: "img_id" 1 is not in the COCO file'),
        ([{"img_id": 9, "pred": None}], r'\[0\]: "pred" must be a string, not None'),
        (b"\x80\x04]", "not a whole pickle"),
    ],
)
def test_a_bad_file_of_a_captioner_is_named(content: Any, message: str, folder: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{Path(NIC).name}.*{message}"):
        read(write(folder, {**lic(), NIC: content}))


def test_a_pickle_that_runs_code_is_refused_unrun(folder: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "trap"),)

    for place in (HUMAN, NIC):
        write(folder, {**lic(), place: [{"img_id": 9, "pred": Trap()}]})
        with pytest.raises(ValueError, match=rf"^{Path(place).name}: it is not a whole pickle of plain data .it names"):
            read(folder)
    assert not (tmp_path / "trap").exists()
