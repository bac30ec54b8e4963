"""The LIC study's pickles: rows, captioners by file name, and each bad entry by name."""

from pathlib import Path

import pytest

from captionbias.datasets.lic_captions import LicCaptions
from tests.datasets.conftest import lic, records_of, write
from tests.refusals import refuses

HUMAN = "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl"
RACE = "bias_data/Human_Ann/race_val_obj_cap_entries.pkl"
NIC = "bias_data/Show-Tell/gender_val_st10_cap_mw_entries.pkl"


def read(folder, configuration="gender"):
    return records_of(LicCaptions, folder, configuration)


def test_rows_of_both_configurations(folder):
    rows = read(write(folder, lic()))
    assert [(row["image_id"], row["attribute"], row["skin"], row["nic"], row["nic_equalizer"]) for row in rows] == [
        (5, "female", None, "a woman", "a woman"),
        (7, "male", "Dark", "a man", None),
        (9, "male", "Light", "a dog", None),
    ]
    people = {"references": ["a man", "a guy"], "attribute": "male", "tasks": ["umbrella", "dog"], "gender": "Male"}
    assert rows[2] == {"image_id": 9, **people, "skin": "Light", "nic": "a dog", "nic_equalizer": None}
    race = read(folder, "race")
    assert [(row["image_id"], row["attribute"], row["nic"]) for row in race] == [
        (7, "dark", "a dog"),
        (9, "light", None),
    ]
    assert not {"nic_equalizer", "tasks"} & race[0].keys()


def test_one_attribute_is_enough(folder):
    files = lic()
    del files[RACE]
    write(folder, files)
    assert len(read(folder)) == 3
    refuses("race_val_obj_cap_entries", read, folder, "race")
    (folder / HUMAN).unlink()
    refuses("gender_obj", LicCaptions, folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [("img_id", "9"), ("caption_list", "a man"), ("bb_gender", ["Male"]), ("bb_skin", "Male")],
)
def test_a_bad_entry_of_people_is_named(field, value, folder):
    files = lic()
    files[HUMAN][1][field] = value
    with pytest.raises(ValueError, match=r"^gender_obj_cap_mw_entries\.pkl") as error:
        read(write(folder, files))
    assert "[1]" in str(error.value)
    assert field in str(error.value)


@pytest.mark.parametrize(
    "content", [{"img_id": 1}, [{"img_id": 9}], [{"img_id": 9, "pred": "a"}, {"img_id": 1, "pred": "b"}]]
)
def test_a_bad_file_of_a_captioner_is_named(content, folder):
    refuses(rf"^{Path(NIC).name}", read, write(folder, {**lic(), NIC: content}))
