"""Regions from real models of transformers with random weights, saved to folders."""

import shutil

import numpy as np
import pytest
import torch

from captionbias.images.detectors import detect_regions
from captionbias.images.reading import read_images
from tests.refusals import refuses

LABELS = {"id2label": {0: "person", 1: "dog"}, "label2id": {"person": 0, "dog": 1}}
SHAPES = [(40, 60, 3), (60, 40, 3), (40, 60, 3), (33, 77, 3)]


@pytest.fixture(scope="module")
def images():
    generator = np.random.default_rng(0)
    return read_images([generator.integers(256, size=shape).astype(np.uint8) for shape in SHAPES])


@pytest.fixture(scope="module")
def semantic(tmp_path_factory):
    from transformers import AutoImageProcessor, SegformerConfig, SegformerForSemanticSegmentation
    from transformers.models.segformer.image_processing_pil_segformer import SegformerImageProcessorPil

    torch.manual_seed(0)
    small = {"depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 8], "patch_sizes": [3, 3], "strides": [2, 2]}
    small |= {"num_attention_heads": [1, 1], "mlp_ratios": [1, 1], "decoder_hidden_size": 8, "num_encoder_blocks": 2}
    folder = tmp_path_factory.mktemp("segformer")
    SegformerForSemanticSegmentation(SegformerConfig(**small, **LABELS)).save_pretrained(folder)
    SegformerImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    try:
        AutoImageProcessor.from_pretrained(folder)
    except (ImportError, ValueError):
        pytest.skip("before transformers 5.22 the processor of SegFormer needs torchvision")
    return str(folder)


@pytest.fixture(scope="module")
def instances(tmp_path_factory):
    """A model of instance segmentation that calls everything a person."""
    from transformers import DetrConfig, MaskFormerConfig, MaskFormerForInstanceSegmentation, ResNetConfig, SwinConfig
    from transformers.models.maskformer.image_processing_pil_maskformer import MaskFormerImageProcessorPil

    torch.manual_seed(0)
    stages = {"depths": [1] * 4, "out_features": [f"stage{number}" for number in range(1, 5)]}
    swin = SwinConfig(image_size=32, patch_size=4, embed_dim=8, num_heads=[1] * 4, window_size=2, **stages)
    small = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    small |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "num_queries": 4}
    decoder = DetrConfig(**small, backbone_config=ResNetConfig(embedding_size=8, hidden_sizes=[8] * 4, depths=[1] * 4))
    sizes = {"fpn_feature_size": 32, "mask_feature_size": 32, "num_queries": 4}
    model = MaskFormerForInstanceSegmentation(
        MaskFormerConfig(**sizes, backbone_config=swin, decoder_config=decoder.to_dict(), **LABELS)
    )
    with torch.no_grad():
        model.class_predictor.bias.copy_(torch.tensor([9.0, 0.0, 0.0]))
    folder = tmp_path_factory.mktemp("maskformer")
    model.save_pretrained(folder)
    size = {"shortest_edge": 32, "longest_edge": 64}
    MaskFormerImageProcessorPil(size=size, size_divisor=32).save_pretrained(folder)
    return str(folder)


def test_boxes_and_segments_fit_the_images_and_nothing_is_printed(images, tiny_detector, semantic, instances, capfd):
    for model, form in ((tiny_detector, "box"), (semantic, "segment"), (instances, "segment")):
        regions = detect_regions(model, images, form=form, threshold=0.1)[:]
        assert [region.shape for region in regions] == [shape[:2] for shape in SHAPES]
        assert all(region.any() for region in regions)
        assert 0 < np.mean([region.mean() for region in regions]) < 1
    assert capfd.readouterr() == ("", "")


def test_a_segment_is_the_models_own(images, semantic):
    from transformers import AutoImageProcessor, SegformerForSemanticSegmentation

    model = SegformerForSemanticSegmentation.from_pretrained(semantic)
    processor = AutoImageProcessor.from_pretrained(semantic)
    with torch.no_grad():
        answer = model(**processor(images=[images[1]], return_tensors="pt"))
    labels = processor.post_process_semantic_segmentation(answer, target_sizes=[SHAPES[1][:2]])[0].numpy()
    both = detect_regions(semantic, images, ["person", "dog"])[1]
    np.testing.assert_array_equal(detect_regions(semantic, images)[1], labels == 0)
    np.testing.assert_array_equal(both, np.ones_like(labels, bool))


def test_what_a_detector_cannot_do_is_an_error(images, tiny_detector, tmp_path):
    from transformers import YolosConfig, YolosModel

    refuses("finds boxes, not segments: mask boxes", detect_regions, tiny_detector, images)
    unknown = "does not know the label 'cat': choose from person, dog"
    refuses(unknown, detect_regions, tiny_detector, images, ["cat"], form="box")
    refuses(r"lacks config\.json", detect_regions, str(tmp_path), images, form="box")
    shutil.copytree(tiny_detector, tmp_path, dirs_exist_ok=True)
    YolosModel(YolosConfig.from_pretrained(tiny_detector)).save_pretrained(tmp_path)
    other = "is a YolosModel: give one of object detection, or of seg"
    refuses(other, detect_regions, str(tmp_path), images, form="box")
