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


def test_files_may_stand_anywhere(folder: Path, tmp_path: Path) -> None:
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
        ("Tasks", "names a column 'Tasks': there is another column"),
        ("image_id", "names a column 'image_id': there is another column"),
        ("NIC", r"gender_val_.*pkl and .*gender_val_.*pkl are both .*'s: keep one of the two"),
        ("nic", "are both nic's"),
        ("st10_th10", "are both nic's"),
        ("my nic", "names a column 'my nic': letters, digits and _ only"),
        ("1", "names a column '1'"),
        ("n" * 64, "letters, digits and _ only"),
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
        ({"img_id": 7.0}, r'\[1\]: "img_id" is 7\.0'),
        ({"img_id": True}, r'\[1\]: "img_id" is True'),
        ({"img_id": None}, r'\[1\]: "img_id" is None'),
        ({"img_id": 10**5000}, r'\[1\]: "img_id" is a int with a number'),
        ({"img_id": "9"}, r'\[1\]: "img_id" 9 stands at \[0\] already'),
        ({"caption_list": "a man"}, r'\[1\]: "caption_list" is no list'),
        ({"caption_list": ("a man",)}, r'\[1\]: "caption_list" is no list'),
        ({"caption_list": ["a", None]}, r'\[1\]: "caption_list" is None: it must be a string'),
        ({"caption_list": ["a" * 10_001]}, r'\[1\]: "caption_list" has 10,001 characters'),
        ({"caption_list": ["a\ud83d"]}, r'\[1\]: "caption_list" .*half a letter'),
        ({"bb_gender": "man"}, r": bb_gender\[1\] is 'man'"),
        ({"bb_gender": 1}, r": bb_gender\[1\] is 1"),
        ({"bb_gender": ["Male"]}, r": bb_gender\[1\] is \['Male'\]"),
        ({"bb_skin": "Male"}, r": bb_skin\[1\] is 'Male'"),
        ({"rmdup_object_list": "dog"}, r'\[1\]: "rmdup_object_list" is no list'),
        ({"rmdup_object_list": [["dog"]]}, r'\[1\]: "rmdup_object_list" is'),
    ],
)
def test_a_bad_entry_of_people_is_named(change: dict[str, Any], message: str, folder: Path) -> None:
    files = lic()
    files[HUMAN][1] |= change
    with pytest.raises(ValueError, match=r"^gender_obj_cap_mw_entries\.pkl" + message):
        read(write(folder, files))


@pytest.mark.parametrize("field", ["img_id", "caption_list", "bb_gender", "bb_skin"])
def test_a_field_that_is_missing_is_named(field: str, folder: Path) -> None:
    files = lic()
    del files[HUMAN][1][field]
    with pytest.raises(ValueError, match=rf'^gender_obj_cap_mw_entries\.pkl\[1\] has no "{field}"'):
        read(write(folder, files))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"img_id": 1}, "holds no list of entries"),
        ([], "holds no list of entries"),
        (None, "holds no list of entries"),
        ([[]], r"\[0\] is no object"),
        ([{"img_id": 9, "pred": "a"}, {"img_id": "9", "pred": "b"}], r'\[1\]: "img_id" 9 stands at \[0\] already'),
        ([{"img_id": 9, "pred": "a"}, {"img_id": 1, "pred": "b"}], r'\[1\]: "img_id" 1 is unknown'),
        ([{"img_id": 9, "pred": None}], r'\[0\]: "pred" is None'),
        ([{"img_id": 9}], r'\[0\] has no "pred"'),
        (b"\x80\x04]", "no whole pickle"),
        (b"", "no whole pickle"),
    ],
)
def test_a_bad_file_of_a_captioner_is_named(content: Any, message: str, folder: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{Path(NIC).name}.*{message}"):
        read(write(folder, {**lic(), NIC: content}))


def tangle(depth: int) -> Any:
    value: Any = ["x"]
    for _ in range(depth):
        value = [value, value]
    return value


def circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [circle(), tangle(100), [[[[[[[[["deep"]]]]]]]]]])
@pytest.mark.parametrize("field", ["img_id", "caption_list", "bb_gender", "rmdup_object_list"])
def test_values_that_cannot_be_written_out_are_refused_at_once(value: Any, field: str, folder: Path) -> None:
    files = lic()
    files[HUMAN][1][field] = value
    with pytest.raises(ValueError, match=rf"^{Path(HUMAN).name}.*{field}.*\[1\]|^{Path(HUMAN).name}\[1\]") as caught:
        read(write(folder, files))
    assert len(str(caught.value)) < 400


def test_a_list_that_holds_itself_is_no_list_of_entries(folder: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{Path(HUMAN).name}\[0\] is no object"):
        read(write(folder, {**lic(), HUMAN: circle()}))


def test_a_pickle_that_runs_code_is_refused_unrun(folder: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "trap"),)

    for place in (HUMAN, NIC):
        write(folder, {**lic(), place: [{"img_id": 9, "pred": Trap()}]})
        with pytest.raises(ValueError, match=rf"^{Path(place).name} is a pickle that may run code"):
            read(folder)
    assert not (tmp_path / "trap").exists()
