"""Small captioners on a CPU: one with random weights that learns, one that says what it is told to."""

import numpy as np
import pytest
import torch
from torch import nn

from captionbias.synthetic import plant

SIZE = 8


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """The models are tiny: threads would fight over them, and processes take longer to start than they train."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOKY_MAX_CPU_COUNT", "1")
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def planted():
    """300 images, with a captioner that amplifies from attribute to task."""
    return plant(300, a_to_t=0.7, captions=3, seed=5)


@pytest.fixture(scope="session")
def tokenizer(planted):
    """A word a token."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<unk>", "<s>", "</s>"]
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(planted.predictions, trainers.WordLevelTrainer(special_tokens=special))
    words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 3)])
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


class Processor:
    """Arrays of shape (3, SIZE, SIZE) to `pixel_values`; remembers how many it was given at a time."""

    def __init__(self):
        self.batches = []

    def __call__(self, images, return_tensors):
        assert isinstance(images, list)
        assert return_tensors == "pt"
        self.batches.append(len(images))
        return {"pixel_values": torch.tensor(np.stack(images), dtype=torch.float64)}


@pytest.fixture
def processor():
    return Processor()


@pytest.fixture(scope="session")
def images():
    """Noise: 300 images."""
    return list(np.random.default_rng(0).random((300, 3, SIZE, SIZE)))


@pytest.fixture
def learner(tokenizer):
    """A vision transformer and a GPT-2 with random weights and dropout: the same ones for every test."""
    from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    torch.manual_seed(0)
    vision = ViTConfig(
        image_size=SIZE, patch_size=4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    language = GPT2Config(
        vocab_size=len(tokenizer), n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=2, eos_token_id=3
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, language)
    config.pad_token_id, config.decoder_start_token_id, config.eos_token_id = 0, 2, 3
    model = VisionEncoderDecoderModel(config)
    model.generation_config.pad_token_id = 0
    return model


class Parrot(nn.Module):
    """Says a given caption of each image, whose number is in its first pixel; its loss falls in training."""

    def __init__(self, tokenizer, captions):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.tokens = tokenizer(captions, padding=True, return_tensors="pt")["input_ids"]

    def forward(self, pixel_values, labels=None):
        return {"loss": (self.weight**2).sum(), "logits": self.weight * pixel_values[:, 0, 0, :1]}

    def generate(self, pixel_values, **arguments):
        return self.tokens[pixel_values[:, 0, 0, 0].long()]


@pytest.fixture
def parrot(tokenizer):
    return lambda captions: Parrot(tokenizer, captions)


@pytest.fixture(scope="session")
def numbered():
    """300 images with their numbers in them, for the parrot."""
    return [np.full((3, 1, 1), float(number)) for number in range(300)]
