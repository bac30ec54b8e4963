"""Folders that `build_dataset` writes: the same bytes again, whole or not at all, read by load_dataset."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias import metrics
from captionbias.datasets import build, build_dataset, dataset_names
from captionbias.hub.modules import install_metrics
from captionbias.synthetic import Planted, plant
from tests.datasets.conftest import ALL, artemis, coco, lic, state, verbs, write

ROOT = Path(__file__).parents[2]
ROWS = {
    "artemis_emotions": {"paintings": 3, "utterances": 7},
    "coco_caption_bias": {"gender": 3, "race": 3, "age": 4},
    "controlled_verbs": dict.fromkeys(("C1", "C2", "C3", "C4"), 300),
    "lic_captions": {"gender": 3, "race": 2},
}
SPLITS = {"artemis_emotions": "train", "controlled_verbs": "train"}  # others have validation


@pytest.fixture(autouse=True)
def own_datasets_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path_factory.mktemp("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return cache


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("originals")
    return {name: write(folder / name, files()) for name, files in ALL.items()}


@pytest.fixture(scope="module")
def built(originals: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("built")
    return {name: build_dataset(name, source, folder / name).folder for name, source in originals.items()}


def test_there_are_four_datasets() -> None:
    assert dataset_names() == sorted(ALL)


@pytest.mark.parametrize("name", ALL)
def test_load_dataset_reads_every_configuration(name: str, built: dict[str, Path]) -> None:
    folder, split = built[name], SPLITS.get(name, "validation")
    assert sorted(datasets.get_dataset_config_names(str(folder))) == sorted(ROWS[name])
    for configuration, rows in ROWS[name].items():
        table = datasets.load_dataset(str(folder), configuration, split=split)
        streamed = datasets.load_dataset(str(folder), configuration, split=split, streaming=True)
        assert len(table) == rows
        assert list(streamed) == list(table)
        assert streamed.features == table.features
    default = datasets.load_dataset(str(folder))[split]
    assert default.info.config_name == next(iter(ROWS[name]))
    assert default[:] == datasets.load_dataset(str(folder), next(iter(ROWS[name])), split=split)[:]


@pytest.mark.parametrize("name", ALL)
def test_the_card_agrees_with_the_parquet(name: str, built: dict[str, Path]) -> None:
    folder, split = built[name], SPLITS.get(name, "validation")
    for configuration, rows in ROWS[name].items():
        [file] = (folder / configuration).iterdir()
        assert file.name == f"{split}-00000-of-00001.parquet"
        info = datasets.load_dataset_builder(str(folder), configuration).info
        assert info.features == datasets.Features.from_arrow_schema(pq.read_schema(file))
        assert info.splits[split].num_examples == pq.read_metadata(file).num_rows == rows
        assert info.download_size == file.stat().st_size
        assert info.dataset_size == info.splits[split].num_bytes > 0


@pytest.mark.parametrize("name", ALL)
def test_another_build_has_the_same_bytes(
    name: str, originals: dict[str, Path], built: dict[str, Path], tmp_path: Path
) -> None:
    again = build_dataset(name, originals[name], tmp_path / "again")
    assert again.rows == ROWS[name]
    assert state(again.folder) == state(built[name])


@pytest.mark.parametrize("seed", "01")
def test_the_hash_seed_changes_no_byte(
    seed: str, originals: dict[str, Path], built: dict[str, Path], tmp_path: Path
) -> None:
    code = (
        "import sys; from captionbias.datasets import build_dataset\n"
        "for name in sys.argv[3:]: build_dataset(name, f'{sys.argv[1]}/{name}', f'{sys.argv[2]}/{name}')"
    )
    subprocess.run(
        [sys.executable, "-c", code, originals["coco_caption_bias"].parent, tmp_path, *ALL],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(build.__file__).parents[2])},
        capture_output=True,
        check=True,
    )
    for name in ALL:
        assert state(tmp_path / name) == state(built[name])


def test_a_build_is_replaced_and_never_stale(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    build_dataset("coco_caption_bias", write(folder, coco()), to)
    before = state(to)
    files = coco()
    files["captions_val2014.json"]["annotations"][0]["caption"] = "A man folds an umbrella."
    built = build_dataset("coco_caption_bias", write(folder, files), to)
    assert built.folder == to
    rows = datasets.load_dataset(str(to), "gender", split="validation")
    assert rows[1]["references"][0] == "A man folds an umbrella."
    build_dataset("coco_caption_bias", write(folder, coco()), to)
    assert state(to) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original", "to"]


def test_only_the_named_configurations_are_written(folder: Path, tmp_path: Path) -> None:
    write(folder, coco())
    built = build_dataset("coco_caption_bias", folder, tmp_path / "to", ["race", "age", "race"])
    assert built.rows == {"race": 3, "age": 4}
    assert list(built.left_out) == ["race", "age"]
    assert sorted(path.name for path in built.folder.iterdir()) == ["README.md", "age", "eval.yaml", "race"]
    assert len(datasets.load_dataset(str(built.folder))["validation"]) == 3  # the first is the default
    build_dataset("coco_caption_bias", folder, tmp_path / "to", ["gender"])
    assert sorted(path.name for path in built.folder.iterdir()) == ["README.md", "eval.yaml", "gender"]


def test_one_attribute_of_the_lic_study_is_built_alone(folder: Path, tmp_path: Path) -> None:
    files = {place: content for place, content in lic().items() if "race" not in place}
    write(folder, files)
    with pytest.raises(ValueError, match="leave 'race' out"):
        build_dataset("lic_captions", folder, tmp_path / "to")
    assert build_dataset("lic_captions", folder, tmp_path / "to", ["gender"]).rows == {"gender": 3}


def test_a_configuration_without_rows_is_refused_with_the_reasons(folder: Path, tmp_path: Path) -> None:
    files = {**coco(), "images_val2014.csv": "id,bb_gender,bb_skin\n9,Both,Light\n5,Both,\n"}
    write(folder, files)
    with pytest.raises(ValueError, match=r"'gender' of coco_caption_bias has no rows: .*2 labelled both.* left out"):
        build_dataset("coco_caption_bias", folder, tmp_path / "to")
    assert not (tmp_path / "to").exists()
    assert build_dataset("coco_caption_bias", folder, tmp_path / "to", ["race"]).rows == {"race": 1}


def planted_coco(planted: Planted) -> dict[str, Any]:
    """Planted captions as COCO's files, Zhao's labels and a captioner's results."""
    images = [{"id": row, "file_name": f"{row}.jpg", "height": 9, "width": 9} for row in range(len(planted.tasks))]
    said = [(row, words) for row, captions in enumerate(planted.references) for words in captions]
    names = ["person", *sorted({task for tasks in planted.tasks for task in tasks})]
    shown = [(row, task) for row, tasks in enumerate(planted.tasks) for task in tasks]
    own = {"bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0, "segmentation": [[0, 0, 1, 1, 0, 1]]}
    labels = [f"{row},{label.capitalize()},\n" for row, label in enumerate(planted.attributes)]
    return {
        "captions_val2014.json": {
            "annotations": [{"id": key, "image_id": row, "caption": words} for key, (row, words) in enumerate(said)],
            "images": images,
        },
        "instances_val2014.json": {
            "annotations": [
                {"id": key, "image_id": row, "category_id": names.index(task), **own}
                for key, (row, task) in enumerate(shown)
            ],
            "categories": [{"id": key, "name": name} for key, name in enumerate(names)],
        },
        "images_val2014.csv": "id,bb_gender,bb_skin\n" + "".join(labels),
        "results/nic.json": [{"image_id": row, "caption": words} for row, words in enumerate(planted.predictions)],
    }


THREE_LINES = """
import json
import evaluate
from datasets import load_dataset
{readme}
print(json.dumps([images["nic"][:], images["tasks"][:], result]))
"""


@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 120 images are few
def test_from_a_folder_to_a_score_in_the_three_lines_of_the_readme(folder: Path, tmp_path: Path) -> None:
    planted = plant(images=120, captions=3, a_to_t=0.6)
    build_dataset("coco_caption_bias", write(folder, planted_coco(planted)), tmp_path / "coco-caption-bias", ["gender"])
    install_metrics(["dbac"], cache=tmp_path / "modules")
    [lines] = re.findall(r"```python\n(images = load_dataset.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert lines.count("\n") == 3
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HF_MODULES_CACHE": str(tmp_path / "modules")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", THREE_LINES.format(readme=lines)],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said, tasks, scores = json.loads(done.stdout.splitlines()[-1])
    assert said == planted.predictions
    assert tasks == planted.tasks
    assert scores == metrics.dbac(**vars(planted), preset="fast")
    assert scores["dbac_a_to_t"] > 0


Change = Callable[[dict[str, Any]], None]


def put(place: str, content: Any) -> Change:
    return lambda files: files.__setitem__(place, content)


def cut(place: str) -> Change:
    def change(files: dict[str, Any]) -> None:
        content = files[place]
        whole = pickle.dumps(content) if place.endswith(".pkl") else json.dumps(content).encode()
        files[place] = whole[: len(whole) * 2 // 3]

    return change


def field(place: str, member: str, row: int, **values: Any) -> Change:
    return lambda files: files[place][member][row].update(values)


LIC_HUMAN = "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl"
MALFORMED = [
    ("coco_caption_bias", cut("captions_val2014.json"), r"captions_val2014\.json is not whole JSON"),
    ("coco_caption_bias", cut("instances_val2014.json"), r"instances_val2014\.json is not whole JSON"),
    ("coco_caption_bias", cut("results/nic.json"), r"nic\.json is not whole JSON"),
    ("coco_caption_bias", put("captions_val2014.json", "PK"), r"captions_val2014\.json is not whole JSON"),
    ("coco_caption_bias", put("instances_val2014.json", {}), 'an object with "categories"'),
    ("coco_caption_bias", field("captions_val2014.json", "images", 1, id=9), r"images\[1\]"),
    ("coco_caption_bias", field("captions_val2014.json", "images", 1, file_name="../x"), r"images\[1\]"),
    ("coco_caption_bias", field("captions_val2014.json", "images", 1, width=2**40), r"images\[1\]"),
    ("coco_caption_bias", field("captions_val2014.json", "annotations", 1, image_id=1), r"annotations\[1\]"),
    ("coco_caption_bias", field("captions_val2014.json", "annotations", 1, caption=None), r"annotations\[1\]"),
    (
        "coco_caption_bias",
        field("instances_val2014.json", "annotations", 0, segmentation=[[1, 2]]),
        r"annotations\[0\]",
    ),
    ("coco_caption_bias", field("instances_val2014.json", "annotations", 0, id=107), r"annotations\[1\]"),
    ("coco_caption_bias", field("instances_val2014.json", "annotations", 0, bbox=[1e300] * 4), r"annotations\[0\]"),
    ("coco_caption_bias", put("images_val2014.csv", "id,bb_gender,bb_skin\n9,Male\n"), "but line 2 has 2"),
    ("coco_caption_bias", put("images_val2014.csv", "id,bb_gender,bb_skin\n9,Male,X\n"), r"bb_skin\[0\] is 'X'"),
    ("coco_caption_bias", put("results/tasks.json", []), "another column 'tasks'"),
    ("coco_caption_bias", put("results/a b.json", []), "rename the file"),
    ("lic_captions", cut(LIC_HUMAN), "no whole pickle"),
    ("lic_captions", put(LIC_HUMAN, b"cos\nsystem\n(Vtrue\ntR."), "may run code"),
    ("lic_captions", put(LIC_HUMAN, [{"img_id": 1}]), r'\[0\] has no "caption_list"'),
    ("artemis_emotions", put("b.csv", "art_style,painting,emotion,utterance\na,../b,awe,x\n"), r"painting\[0\]"),
    ("artemis_emotions", put("b.csv", "a,b\n"), "has no column 'art_style'"),
    ("controlled_verbs", cut("annotations/captions_val2014.json"), "is not whole JSON"),
    ("controlled_verbs", lambda files: files.update(verbs(40)), "and 45 are needed"),
]


@pytest.mark.parametrize(("name", "change", "message"), MALFORMED, ids=[message for _, _, message in MALFORMED])
def test_a_malformed_file_leaves_all_as_it_was(
    name: str, change: Change, message: str, folder: Path, tmp_path: Path, built: dict[str, Path]
) -> None:
    files = ALL[name]()
    change(files)
    write(folder, files)
    with pytest.raises(ValueError, match=message):
        build_dataset(name, folder, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original"]
    before = state(built[name].parent)
    with pytest.raises(ValueError, match=message):
        build_dataset(name, folder, built[name])
    assert state(built[name].parent) == before


@settings(max_examples=15, deadline=None)
@given(share=st.floats(0, 0.999), name=st.sampled_from(["captions_val2014.json", "instances_val2014.json"]))
def test_json_cut_off_anywhere_leaves_nothing(
    share: float, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    beside, files = tmp_path_factory.mktemp("cut"), coco()
    whole = json.dumps(files[name])
    source = write(beside / "original", {**files, name: whole[: int(len(whole) * share)]})
    with pytest.raises(ValueError, match=rf"{name} is not whole JSON"):
        build_dataset("coco_caption_bias", source, beside / "to")
    assert sorted(path.name for path in beside.iterdir()) == ["original"]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("results/dangling.json", "coco_caption_bias"),
        ("gender_val_x_cap_mw_entries.pkl", "lic_captions"),
        ("dangling.csv", "artemis_emotions"),
    ],
)
@pytest.mark.parametrize("kind", ["link to nothing", "folder"])
def test_a_file_that_cannot_be_read_is_named(place: str, name: str, kind: str, folder: Path, tmp_path: Path) -> None:
    path = write(folder, ALL[name]()) / place
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "nothing")
    with pytest.raises(ValueError, match=rf"{path} cannot be read \(.*\): put the file there"):
        build_dataset(name, folder, tmp_path / "to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
def test_files_without_permission_are_named(folder: Path, tmp_path: Path) -> None:
    write(folder, artemis())
    (folder / "b.csv").chmod(0)
    with pytest.raises(ValueError, match=r"b\.csv cannot be read \(Permission denied\)"):
        build_dataset("artemis_emotions", folder, tmp_path / "to")
    (folder / "b.csv").chmod(0o600)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(ValueError, match=r"to cannot be written \(Permission denied\): name a folder that can"):
        build_dataset("artemis_emotions", folder, locked / "to")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that not even root writes to")
def test_a_read_only_place_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"/proc/to cannot be written \(.*\): name a folder that can"):
        build_dataset("artemis_emotions", write(folder, artemis()), "/proc/to")


def test_a_place_that_is_no_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    write(folder, artemis())
    (tmp_path / "file").write_text("mine")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for to, message in (
        ("file", "is a file: name a folder"),
        ("file/to", r"cannot be written \(.*\): name a folder"),
        ("circle", r"circle cannot be written \(.*\): name a folder|is a file"),
        ("circle/to", r"cannot be written \(.*\): name a folder"),
    ):
        with pytest.raises(ValueError, match=message):
            build_dataset("artemis_emotions", folder, tmp_path / to)
    with pytest.raises(ValueError, match="cannot be written"):
        build_dataset("artemis_emotions", folder, "~nobody-has-this-name/to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "file", "original"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ALL)
def test_the_source_is_never_written_over(name: str, folder: Path) -> None:
    write(folder, ALL[name]())
    before = state(folder)
    for to in (folder, folder.parent):
        with pytest.raises(ValueError, match=r"which no earlier build of .* wrote: name another folder"):
            build_dataset(name, folder, to)
    assert state(folder) == before


@pytest.mark.parametrize(
    "other",
    [
        "notes.txt",
        "gender/notes.txt",
        ".git/config",
        "gender.parquet",
        "gender/my.parquet",
        "mine/deep/validation-00000-of-00001.parquet",
        "README.md/x",
    ],
)
def test_other_files_are_never_removed(other: str, folder: Path, tmp_path: Path) -> None:
    write(folder, coco())
    to = tmp_path / "to"
    if not other.startswith("README"):
        build_dataset("coco_caption_bias", folder, to, ["gender"])
    write(to, {other: "mine"})
    before = state(to)
    with pytest.raises(ValueError, match=rf"has .*{other.split('/')[-1]}|has README\.md"):
        build_dataset("coco_caption_bias", folder, to)
    assert state(to) == before


def test_another_dataset_and_another_card_are_never_removed(
    folder: Path, tmp_path: Path, built: dict[str, Path]
) -> None:
    write(folder, coco())
    before = state(built["lic_captions"])
    with pytest.raises(ValueError, match=r"has README\.md, which no earlier build of coco_caption_bias wrote"):
        build_dataset("coco_caption_bias", folder, built["lic_captions"])
    assert state(built["lic_captions"]) == before
    write(tmp_path, {"mine/README.md": "# My project"})
    with pytest.raises(ValueError, match=r"has README\.md"):
        build_dataset("coco_caption_bias", folder, tmp_path / "mine")


def test_an_empty_folder_is_filled_and_a_link_is_followed(folder: Path, tmp_path: Path) -> None:
    write(folder, artemis())
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for _ in range(2):
        assert build_dataset("artemis_emotions", folder, tmp_path / "link").folder == tmp_path / "empty"
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "empty" / "README.md").is_file()
    assert build_dataset("artemis_emotions", folder, tmp_path / "a" / "b" / "c").folder.is_dir()


def test_a_link_to_other_files_is_not_followed_into_them(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    before = state(write(folder, artemis()))
    with pytest.raises(ValueError, match="which no earlier build"):
        build_dataset("artemis_emotions", folder, tmp_path / "link")
    assert state(folder) == before


@pytest.mark.parametrize("at", ["old", "folder"])
def test_ctrl_c_at_the_moves_leaves_the_earlier_build_or_the_new_one(
    at: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old folder has moved away, and the new one has not yet come, or just has."""
    write(folder, artemis())
    to = build_dataset("artemis_emotions", folder, tmp_path / "to").folder
    before, rename = state(to), Path.rename
    write(folder, {"b.csv": "art_style,painting,emotion,utterance\na,b,awe,x\n"})

    def interrupted(self: Path, target: Path) -> Path:
        moved = rename(self, target)
        if Path(target).name == "old" if at == "old" else Path(target) == to and self.name == "new":
            raise KeyboardInterrupt
        return moved

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_dataset("artemis_emotions", folder, to)
    assert (state(to) == before) == (at == "old")
    assert len(state(to)) == len(before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original", "to"]


def test_ctrl_c_in_the_middle_leaves_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from captionbias.datasets import coco_caption_bias

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(coco_caption_bias, "read_objects", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_dataset("coco_caption_bias", write(folder, coco()), tmp_path / "to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original"]


def test_a_full_disk_is_told_as_such(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from captionbias.datasets import coco_caption_bias

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(coco_caption_bias, "read_objects", full)
    with pytest.raises(ValueError, match=r"to cannot be written \(No space left on device\)"):
        build_dataset("coco_caption_bias", write(folder, coco()), tmp_path / "to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original"]


def test_wrong_arguments_are_named(folder: Path, tmp_path: Path) -> None:
    write(folder, coco())
    with pytest.raises(
        ValueError, match=r"there is no dataset 'coco': choose from artemis_emotions, coco_caption_bias"
    ):
        build_dataset("coco", folder, tmp_path / "to")
    for name in ("../coco_caption_bias", "", "."):
        with pytest.raises(ValueError, match="there is no dataset"):
            build_dataset(name, folder, tmp_path / "to")
    with pytest.raises(ValueError, match=r"configurations\[1\] is 'C1', which coco_caption_bias has not"):
        build_dataset("coco_caption_bias", folder, tmp_path / "to", ["race", "C1"])
    for source in (tmp_path / "none", folder / "images_val2014.csv"):
        with pytest.raises(ValueError, match=rf"{source} is no folder: name the one with the original files"):
            build_dataset("coco_caption_bias", source, tmp_path / "to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original"]


def test_nothing_is_left_in_the_folder_for_temporary_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gc

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    write(folder, coco())
    build_dataset("coco_caption_bias", folder, tmp_path / "to")
    gc.collect()
    assert not list(scratch.iterdir())
