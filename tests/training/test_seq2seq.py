"""`compute_metrics` of a real Seq2SeqTrainer that generates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from captionbias.training import bias_metrics, bias_scores, caption_images, human_vectors

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")


def human(planted):
    return {"references": planted.references, "attributes": planted.attributes, "tasks": planted.tasks}


def evaluation(predictions):
    from transformers import EvalPrediction

    return EvalPrediction(predictions=predictions, label_ids=None)


def padded(tokenizer, captions):
    """Tokens as the Trainer hands them over: a start, the words, an end, -100 up to the longest."""
    rows = [[2, *tokenizer(text)["input_ids"]] for text in captions]
    table = np.full((len(rows), max(map(len, rows))), -100)
    for row, tokens in enumerate(rows):
        table[row, : len(tokens)] = tokens
    return table


def test_the_scores_are_those_of_the_captions(planted, tokenizer):
    compute = bias_metrics(tokenizer, **human(planted), trials=2, seed=1)
    tokens = padded(tokenizer, planted.predictions)
    wanted = bias_scores(planted.predictions, **human(planted), trials=2, seed=1)
    assert compute(evaluation(tokens)) == wanted
    assert compute(evaluation((tokens, "encoder states"))) == wanted


def test_a_seq2seq_trainer_logs_what_its_captioner_says(learner, planted, images, processor, tokenizer, tmp_path):
    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

    pixels = [torch.tensor(image, dtype=torch.float32) for image in images]
    rows = [{"pixel_values": one, "labels": torch.tensor([4, 5, 3])} for one in pixels]
    args = Seq2SeqTrainingArguments(
        tmp_path,
        predict_with_generate=True,
        generation_max_length=9,
        per_device_eval_batch_size=50,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    compute = bias_metrics(tokenizer, **human(planted), trials=1)
    trainer = Seq2SeqTrainer(learner, args, eval_dataset=rows, compute_metrics=compute)
    found = trainer.evaluate()
    captions = caption_images(learner, processor, images, tokenizer=tokenizer, generation={"max_new_tokens": 8})
    wanted = bias_scores(captions, **human(planted), trials=1, vectors=human_vectors(planted.references))
    assert {name: found[f"eval_{name}"] for name in wanted} == wanted
    assert "empty_captions" in wanted


def test_other_images_than_the_references_and_logits_are_refused(planted, tokenizer):
    compute = bias_metrics(tokenizer, **human(planted), trials=1)
    for captions in ([*planted.predictions, planted.predictions[0]], planted.predictions[:299]):
        with pytest.raises(ValueError, match=f"predictions has length {len(captions)} and references has length 300"):
            compute(evaluation(padded(tokenizer, captions)))
    with pytest.raises(ValueError, match="predict_with_generate=True, or BiasCallback"):
        compute(evaluation(np.zeros((300, 5))))


def test_errors_come_before_the_training(planted, tokenizer):
    with pytest.raises(ValueError, match="preset 'quick' is unknown"):
        bias_metrics(tokenizer, **human(planted), preset="quick")
    with pytest.raises(ValueError, match=r"references\[1\] is empty"):
        bias_metrics(tokenizer, references=[["a man"], []], attributes=["male", "female"])
    with pytest.raises(ValueError, match="tokenizer: str has no batch_decode"):
        bias_metrics("gpt2", **human(planted))
