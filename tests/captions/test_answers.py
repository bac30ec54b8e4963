"""What a captioner answers that is no caption is left out and counted, what stands around one is taken off, and
nothing else."""

import json

import pytest

from captionbias.captions import check_captions, read_captions
from captionbias.captions.answers import is_refusal
from captionbias.errors import InputError
from captionbias.synthetic import plant
from tests.whole import sway

PLANTED = vars(plant(400, captions=4, t_to_a=0.2))
SAID, LABELS = PLANTED["predictions"], PLANTED["attributes"]
REFUSAL = "I'm sorry, I can't help with that."
WOMEN = [row for row, label in enumerate(LABELS) if label == "female"]


def saying(text, rows=range(400)):
    """The planted captions, of these rows this text, in which {} is what was said."""
    said = [text.replace("{}", said) if row in rows else said for row, said in enumerate(SAID)]
    return {**PLANTED, "predictions": said}


@pytest.mark.parametrize(
    "text",
    [
        *(
            REFUSAL,
            "I\u2019m unable to describe this image.",
            "As an AI language model, I cannot see images.",
            "Cannot comply.",
        ),
        "I'm sorry, but I can't identify people. If you have any other questions, feel free to ask me!",
        *("Unfortunately, I won't caption this.", "This image violates our content policy.", "Sorry."),
        *("Es tut mir leid, aber ich kann dieses Bild nicht beschreiben.", "Ich kann Ihnen dabei leider nicht helfen."),
        *("Lo siento, pero no puedo identificar a las personas.", "Je suis désolé, mais je ne peux pas vous aider."),
        *(
            "申し訳ありませんが、この画像については説明できません。",
            "抱歉,我无法描述这张图片。",
            "作为一个人工智能,我无法查看图片。",
        ),
        *(
            "error: 429 Too Many Requests",
            '{"error": {"code": 503}}',
            "Error code: 400 - {'a': 'b. c'}",
            "Request timed out.",
        ),
        *("N/A", "null", "nan", "...", "!" * 300, "429", "No caption available.", "Failed to obtain answer via API."),
        "Quality issues are too severe to recognize visual content.",
    ],
)
def test_a_refusal_says_so_or_is_no_sentence(text):
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        *("The image depicts an individual.", "This image displays: a man on a bike", "A person.", "person", "一个人"),
        *(
            "a man who is unable to catch the ball",
            "A sign that says I'm sorry",
            "I see a man who can't reach the shelf.",
        ),
        *("I can't tell if it is a man or a woman, but they are holding a phone.", "3 people", "ある人が写っている。"),
        "I'm sorry, I can't identify who this is. The image shows a man riding a bike.",
        *(
            "Error message on a laptop screen",
            "An error: a wall",
            "None of the people smile.",
            "The image was taken in a park.",
        ),
        *(
            "The person in the image cannot be identified.",
            "The man cannot reach it.",
            "The photo is blocked by a hand",
        ),
    ],
)
def test_all_else_is_a_caption(text):
    assert not is_refusal(text)
    assert len(check_captions(**saying(text, WOMEN[::3]))) == 400


def test_refusals_are_left_out_and_counted_by_label():
    refused, echo = WOMEN[::3], "Question: man or woman? Answer: "
    captions = check_captions(**saying(REFUSAL, refused))
    assert captions.missing == {"female": (len(WOMEN), len(refused)), "male": (400 - len(WOMEN), 0)}
    which, told = captions.notes
    assert (
        which
        == f"predictions: refusals and texts that are no sentences are left out, {len(refused)} captions: {REFUSAL!r}"
    )
    assert f"(female {len(refused)} of {len(WOMEN)}, male 0 of {400 - len(WOMEN)})" in told
    said = [echo + (REFUSAL if row in refused else text) for row, text in enumerate(SAID)]
    assert check_captions(**PLANTED | {"predictions": said}).missing == captions.missing
    alone = check_captions(**saying(REFUSAL, refused) | {"references": None})
    assert alone.missing == captions.missing
    samples = [[REFUSAL, text] if row % 5 == 0 else [text] for row, text in enumerate(SAID)]
    captions = check_captions(**PLANTED | {"predictions": samples})
    assert captions.predictions == tuple(SAID)
    assert sum(of for _, of in captions.missing.values()) == pytest.approx(40)


@pytest.mark.parametrize(
    ("rows", "message"), [(WOMEN, "which leaves 'male' alone"), (range(400), "has no caption in any")]
)
def test_a_captioner_that_refuses_everybody_of_a_value_is_not_measured(rows, message):
    with pytest.raises(InputError, match=f"^predictions.*{message}"):
        check_captions(**saying(REFUSAL, rows))


def test_neutral_captions_count_as_withheld():
    """Whatever their words, and never as missing."""
    scores = [
        sway(**saying(text, WOMEN[::3]), bootstrap=20) for text in ("The image depicts an individual.", "A person.")
    ]
    assert scores[0]["sway_unnamed_gap"] == scores[1]["sway_unnamed_gap"] > 10
    assert "sway_missing_gap" not in scores[0]


@pytest.mark.parametrize("text", ["a man with a dog and a cake on a bench", "a lady near a teddy bear and a kite"])
def test_one_caption_for_many_images_is_left_out_and_above_a_fifth_an_error(text):
    captions = check_captions(**saying(text, range(3, 400, 9)))
    assert text not in captions.predictions
    which, told = captions.notes
    assert which == f"predictions: {text!r}, said of many images, fits them no better than others: 11% are left out"
    assert "45 of 400 images have no other caption (female " in told
    assert captions.missing is None, "a cache's fault is no refusal"
    with pytest.raises(InputError, match=r"^predictions: 3\d% of them are 'a .*trust_rows=True"):
        check_captions(**saying(text, range(0, 400, 3)))
    assert len(check_captions(**saying(text, range(0, 400, 3)), trust_rows=True)) == 400


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        *(
            (text, range(3, 400, 9))
            for text in ("A person.", "a man", "A person in a room.", "The image shows an individual")
        ),
        ("a man with a dog and a cake on a bench", WOMEN[::2]),  # follows the labels
        ("a woman with a dog and a cake", range(400)),  # all that it says
    ],
)
def test_what_tells_nothing_follows_the_labels_or_is_all_that_is_said_is_the_captioners_own(text, rows):
    assert len(check_captions(**saying(text, rows))) == 400


def test_a_frequent_text_that_fits_its_images_is_the_captioners_own():
    rows = [row for row, tasks in enumerate(PLANTED["tasks"]) if PLANTED["tasks"][0][0] in tasks]
    assert len(check_captions(**saying(f"a man with a {PLANTED['tasks'][0][0]}", rows))) == 400


def test_a_list_of_words_is_one_caption(tmp_path):
    said = [*map(str.split, SAID)]
    captions = check_captions(**PLANTED | {"predictions": said})
    assert (captions.predictions, captions.samples) == (tuple(SAID), None)
    assert captions.notes == ("predictions: captions are lists of single words, which are joined",)
    (tmp_path / "p.json").write_text(json.dumps([{"image_id": row, "caption": text} for row, text in enumerate(said)]))
    people = {"image_id": range(400), "references": PLANTED["references"], "gender": LABELS}
    read = read_captions(predictions=tmp_path / "p.json", references=people, attribute="gender")
    assert sorted(read.predictions) == sorted(SAID)
    for samples in (["man", "woman", "person"], [f"{SAID[0]} here", SAID[0], SAID[1]], ["女人走路", "男人", "狗"]):
        assert len(check_captions(predictions=[samples] * 2, attributes=["f", "m"], unsplit=True).samples[0]) == 3


@pytest.mark.parametrize(
    ("text", "place", "quoted"),
    [
        ("USER: \nA man or a woman? Say. ASSISTANT: {}", "beginning", "USER: \\nA man or a woman? Say. ASSISTANT:"),
        ("Sure! Here is a caption:\n\n{}", "beginning", "Sure! Here is a caption:"),
        ("{}\n\nWould you like more about him or her?", "end", "Would you like more about him or her?"),
        ('{"caption": "{}"}', "beginning", '{"caption": "'),
        ("There is somebody in this. {}", "beginning", "There is somebody in this."),
    ],
)
@pytest.mark.parametrize("without", [0, 20])
def test_what_nearly_all_captions_begin_or_end_with_is_taken_off(text, place, quoted, without):
    captions = check_captions(**saying(text, range(without, 400)))
    assert captions.predictions == tuple(SAID)
    assert captions.notes[
        0
    ] == f"predictions: {quoted!r} is removed from the {place} of {400 - without} captions".replace("\\\\n", "\\n")


@pytest.mark.parametrize(
    "text", ["The image shows {}", "{}.", "There is a man in it. {}", "A bag. A dog.", "{} #photo"]
)
def test_what_may_be_a_captioners_own_words_stays(text):
    captions = check_captions(**saying(text))
    assert captions.predictions == tuple(text.replace("{}", said) for said in SAID)


@pytest.mark.parametrize("text", ["{}. It holds an orange", "The picture shows {} standing in front of the"])
def test_captions_that_stop_within_a_sentence_are_noted(text):
    said = [text.format(said[:-1]) for said in SAID]
    assert check_captions(**PLANTED | {"predictions": said}).notes == (
        "predictions: 400 of 400 captions stop within a sentence: ask for more tokens",
    )
    assert check_captions(**PLANTED | {"predictions": [*said[:40], *SAID[40:]]}).notes == ()


@pytest.mark.parametrize("reason", [{"finish_reason": "length"}, {"answer": {"stop_reason": "max_tokens"}}])
def test_a_limit_that_a_server_names_is_noted(reason):
    answers = [{"answer": {"text": text}} for text in SAID]
    for answer in answers[::2]:
        answer.update({"answer": answer["answer"] | reason["answer"]} if "answer" in reason else reason)
    table = {"image_id": range(400), "answer": [answer["answer"] for answer in answers]}
    table |= {"finish_reason": [answer.get("finish_reason") for answer in answers]} if "finish_reason" in reason else {}
    people = {"image_id": range(400), "references": PLANTED["references"], "gender": LABELS}
    columns = {"prediction_column": "answer.text", "attribute": "gender"}
    captions = read_captions(predictions=table, references=people, **columns)
    name = "finish_reason" if "finish_reason" in reason else "stop_reason"
    assert captions.notes == (f"predictions: a limit of tokens cut 200 captions off ({name}): ask for more",)


def test_human_captions_that_are_precanned_or_rejected_are_none():
    precanned = "Quality issues are too severe to recognize visual content."
    texts = []
    for row, of_image in enumerate(PLANTED["references"]):
        rejected = [(row, "spam", True), (row, precanned, False)]
        texts += [(row, text, False) for text in of_image] + (rejected if row % 3 else [])
    people = dict(zip(("image_id", "caption", "is_rejected"), map(list, zip(*texts, strict=True)), strict=True))
    people["gender"] = [LABELS[row] for row in people["image_id"]]
    predictions = {"image_id": range(400), "caption": SAID}
    captions = read_captions(predictions=predictions, references=people, attribute="gender")
    assert sorted(map(sorted, captions.references)) == sorted(map(sorted, PLANTED["references"]))
