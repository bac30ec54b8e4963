"""Small folders in the formats of the original files."""

import copy
import io
import json
import pickle
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

CARDS = Path(__file__).parents[2] / "datasets_scripts"
HEIGHT, WIDTH = 20, 30

_IMAGES = (9, 5, 42, 7, 11, 13)  # in no order, as in COCO's files; 7 has no captions, 11 no annotations, 13 no label
_CAPTIONS = (
    (3, 9, "A man holds an umbrella."),
    (1, 5, "A woman walks, with a dog"),
    (8, 42, "a couple"),
    (2, 9, "A guy in the rain"),
    (4, 5, "  "),
    (5, 11, 'A young girl, "lying" on a bed\n'),
    (7, 13, "A little boy\u2028and his caf\u00e9"),
    (6, 5, "a lady"),
)
_CATEGORIES = ((18, "dog"), (1, "person"), (28, "umbrella"))
_SQUARE, _TRIANGLE = [2.0, 3.0, 8.5, 3.0, 8.5, 9.25, 2.0, 9.25], [12, 4, 20, 4.5, 16, 15]
_RUNS = {"counts": [25, 10, 30, 5, 0, 7, HEIGHT * WIDTH - 77], "size": [HEIGHT, WIDTH]}
_OBJECTS = (
    (101, 9, 1, [_SQUARE, _TRIANGLE], 0),
    (107, 5, 18, [_TRIANGLE], 0),
    (104, 9, 28, [_SQUARE], 0),
    (103, 9, 28, [_TRIANGLE], 0),
    (900100000005, 5, 1, _RUNS, 1),
    (106, 42, 1, [_TRIANGLE], 0),
    (102, 42, 1, [_SQUARE], 0),
)
_LABELS = """\
id,bb_gender,bb_skin,skin,ratio,split
9,Male,Light,2.0,0.5,val
42,Both,Unsure,,0.25,val
5,Female,Dark,5.5,1.0,val
7,Male,,1,0.1,val
11,Female,Light,1,0.1,val
"""
_PEOPLE = "id,bb_gender,bb_skin\n106,Female,Dark\n101,Male,Light\n12345,Male,Light\n102,,Unsure\n"


def coco():
    """The files of a COCO folder, by path."""
    captions = {
        "info": {"year": 2014, "nested": {"annotations": [1]}},
        "images": [
            {"license": 3, "file_name": f"COCO_val2014_{image:012d}.jpg", "height": HEIGHT, "width": WIDTH, "id": image}
            for image in _IMAGES
        ],
        "licenses": [],
        "annotations": [{"image_id": image, "id": key, "caption": said} for key, image, said in _CAPTIONS],
    }
    instances = {
        **{key: captions[key] for key in ("info", "images", "licenses")},
        "annotations": [
            {"id": key, "image_id": image, "category_id": kind, "segmentation": shape, "iscrowd": crowd}
            | {"area": 31.5 + key % 10, "bbox": [1, 2.5, 10, 12.25]}
            for key, image, kind, shape, crowd in _OBJECTS
        ],
        "categories": [{"supercategory": "any", "id": key, "name": name} for key, name in _CATEGORIES],
    }
    files = {
        "captions_val2014.json": captions,
        "instances_val2014.json": instances,
        "images_val2014.csv": _LABELS,
        "instances_val2014.csv": _PEOPLE,
        "results/nic.json": [{"image_id": 9, "caption": "a man"}, {"image_id": 5, "caption": "a woman"}],
        "results/sat.json": [{"image_id": "5", "caption": "a dog"}, {"image_id": 9, "caption": " "}],
    }
    return copy.deepcopy(files)


LIC_PEOPLE = "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl"
LIC_RACE = "bias_data/Human_Ann/race_val_obj_cap_entries.pkl"
LIC_NIC = "bias_data/Show-Tell/gender_val_st10_cap_mw_entries.pkl"


def lic():
    """The files of a folder of the LIC study, by path: folders as in its archive."""
    people = [
        {"img_id": 9, "caption_list": ["a man", " ", "a guy"], "bb_gender": "Male", "bb_skin": "Light"},
        {"img_id": 5, "caption_list": ["a woman"], "bb_gender": "Female", "bb_skin": float("nan")},
        {"img_id": 7, "caption_list": ["a person"], "bb_gender": "Male", "bb_skin": "Dark"},
        {"img_id": 8, "caption_list": ["two people"], "bb_gender": "Both", "bb_skin": "Both"},
    ]
    tasks = (["umbrella", "person", "dog", "dog"], ["cat"], [], [])
    shown = [{**entry, "rmdup_object_list": names} for entry, names in zip(people, tasks, strict=True)]

    def said(*captions):
        return [{"img_id": image, "pred": words} for image, words in zip((7, 5, 9), captions, strict=False)]

    captioners = {
        LIC_NIC: said("a man", "a woman", "a dog"),
        "bias_data/Show-Tell/race_val_st10_th10_cap_entries.pkl": said("a dog", "a cat"),
        "bias_data/Woman-Snowboard/gender_val_snowboard_cap_mw_entries.pkl": said("", "a woman"),
    }
    return {LIC_PEOPLE: shown, LIC_RACE: people} | captioners


def artemis():
    """The files of an ArtEmis folder, by path."""
    one = """\
art_style,painting,emotion,utterance,repetition
Realism,zebra_1,awe,"It is, so to say, ""grand"".",3
Realism,zebra_1,awe,"two
lines",3
Realism,zebra_1,fear,dark,3
Cubism,apple_2,anger,why,2
Cubism,apple_2,sadness,why not,2
"""
    two = ["emotion,painting,art_style,utterance", "something else,joaqu\u00e3\u00adn_3,Baroque,fine"]
    two += ["awe,zebra_1,Cubism,another zebra", "awe,zebra_1,Cubism,", ""]
    return {"artemis_dataset_release_v0.csv": one, "b.csv": "\n".join(two)}


def verbs(count=45):
    """A captions file with `count` captions, each of another image, for each task, gender and verb."""
    told = {
        "bed": ("lies on the bed", "is sitting on the bed"),
        "frisbee": ("throws a frisbee", "plays with a frisbee"),
        "umbrella": ("holds an umbrella", "walks with an umbrella"),
    }
    said = [
        f"{person} {verb}, {number}."
        for pair in told.values()
        for verb in pair
        for person in ("A man", "A woman")
        for number in range(count)
    ]
    said += ["A man and a woman hold an umbrella.", "A man holds and walks with an umbrella.", "A man holds a dog."]
    images = [{"id": 1000 + row, "file_name": f"{row}.jpg"} for row in range(len(said))]
    annotations = [{"id": 7 * row + 1, "image_id": 1000 + row, "caption": words} for row, words in enumerate(said)]
    annotations += [{**annotation, "id": annotation["id"] + 1} for annotation in annotations[::5]]
    return {"annotations/captions_val2014.json": {"images": images, "annotations": annotations}}


def narratives():
    """COCO's folder with Localized Narratives, with traces and without; of image 21 nothing else is known."""
    told = [(9, "In this image I see a man. He holds an umbrella."), (9, "A person, it rains."), (5, " ")]
    told += [(5, "There is a woman."), (11, "A girl."), (21, "Trees."), (13, "A boy.")]
    lines = [json.dumps({"image_id": str(image), "annotator_id": 3, "caption": text}) for image, text in told]
    return coco() | {
        "coco_train_localized_narratives-00000-of-00004.jsonl": "\n".join([*lines[4:], ""]),
        "coco_val_localized_narratives.jsonl": "\n".join(lines[:4]),
        "coco_val_captions.jsonl": "not read beside the file with traces",
    }


_URL = "URL type (Type NA if can't find)"
_ONE_PERSON = f"""\
IDX|Occupation|Object|{_URL}|LICENSE OK?|Occupation_perceived_gender|Error codes|Annotator
OO_1|teacher|board|https://a/1.jpg|Yes|masculine||annotator 1
OO_2|lawyer|desk|https://a/2.jpg|Yes|feminine|E2|annotator 1
"""
_TWO_PEOPLE = f"""\
IDX|Occupation|Participant|Error codes|Occupation_perceived_gender|Participant_perceived_gender|{_URL}
OP_1|doctor|patient||feminine|feminine|https://a/3.jpg
OP_2|doctor|patient||feminine|masculine|https://a/4.jpg
"""
_SCENES = """\
counterfactual_set,a1a2,caption,a1_type,a1,a2_type,a2
photo_race_gender_barber_3,White_male,A photo of a White male barber,race,White,gender,male
photo_race_gender_barber_3,Latino_female,A photo of a Latino female barber,race,Latino,gender,female
physical_race_fire_fighter_0,skinny_Asian,a skinny Asian fire fighter,physical,skinny,race,Asian
"""


def label_benchmarks():
    """Files of VisoGender, PHASE, SocialCounterfactuals, FairFace and PATA, with images that have no label."""

    def asked(*genders):
        said = {"age": "adult", "skintone": "darker", "ethnicity": "Black", "emotion": "neutral", "activity": "posing"}
        answers = [{"worker": number, "gender": gender, **said} for number, gender in enumerate(genders)]
        return {"region": [0, 0, 9, 9], "annotations": answers}

    woman, man = asked("female", "female", "unsure"), asked("male", "male", "male")
    scenes = io.BytesIO()
    pd.read_csv(io.StringIO(_SCENES)).to_parquet(scenes)
    return {
        "OO/OO_Visogender_02102023.tsv": _ONE_PERSON.replace("|", "\t"),
        "OP/OP_Visogender_11012024.tsv": _TWO_PEOPLE.replace("|", "\t"),
        "phase_gcc_val_all_20221101.json": {
            "77": {"caption": "people at home", "person1": woman, "person2": asked("female", "female", "female")},
            "78": {"caption": "actor", "person1": asked("male", "female", "unsure")},
            "79": {"caption": "a couple", "person1": man, "person2": woman},
        },
        "data/train-00000-of-00045.parquet": scenes.getvalue(),
        "fairface_label_val.csv": "file,age,gender,race,service_test\nval/1.jpg,3-9,Male,East Asian,False\n",
        "pata_fairness.files.lst": "forest_eastasian_female_old|https://a/5?x=|&y\nforest_black_male_young|https://a/6\n",
    }


ALL = {
    "coco_caption_bias": coco,
    "coco_narratives": narratives,
    "label_benchmarks": label_benchmarks,
    "lic_captions": lic,
    "artemis_emotions": artemis,
    "controlled_verbs": verbs,
}


def write(folder, files):
    """The folder with these files: text and bytes as they are, other things as JSON or, in .pkl, pickled."""
    for place, content in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str | bytes):
            content = pickle.dumps(content) if path.suffix == ".pkl" else json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def state(folder):
    """All that is in a folder, hidden or not: the content of each file, None for folders."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def records_of(cls, folder, configuration):
    """The rows that a source reads, as the dataset has them."""
    source = cls(folder)
    return pa.Table.from_pylist(list(source.rows(configuration)), source.schema(configuration)).to_pylist()


@pytest.fixture
def folder(tmp_path):
    """The folder of the original files, with a neighbour for what is built."""
    path = tmp_path / "original"
    path.mkdir()
    return path
