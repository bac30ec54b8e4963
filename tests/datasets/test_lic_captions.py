"""The LIC study's pickles: rows, and captioners by file name."""

from captionbias.datasets.lic_captions import LicCaptions
from tests.datasets.conftest import LIC_PEOPLE, LIC_RACE, lic, records_of, write
from tests.refusals import refuses


def test_rows_of_both_configurations(folder):
    rows = records_of(LicCaptions, write(folder, lic()), "gender")
    assert [(row["image_id"], row["attribute"], row["skin"], row["nic"], row["nic_equalizer"]) for row in rows] == [
        (5, "female", None, "a woman", "a woman"),
        (7, "male", "Dark", "a man", None),
        (9, "male", "Light", "a dog", None),
    ]
    people = {"references": ["a man", "a guy"], "attribute": "male", "tasks": ["umbrella", "dog"], "gender": "Male"}
    assert rows[2] == {"image_id": 9, **people, "skin": "Light", "nic": "a dog", "nic_equalizer": None}
    race = records_of(LicCaptions, folder, "race")
    assert [(row["image_id"], row["attribute"], row["nic"]) for row in race] == [
        (7, "dark", "a dog"),
        (9, "light", None),
    ]
    assert not {"nic_equalizer", "tasks"} & race[0].keys()


def test_one_attribute_is_enough(folder):
    write(folder, lic())
    (folder / LIC_RACE).unlink()
    assert len(records_of(LicCaptions, folder, "gender")) == 3
    refuses("race_val_obj_cap_entries", records_of, LicCaptions, folder, "race")
    (folder / LIC_PEOPLE).unlink()
    refuses("gender_obj", LicCaptions, folder)
