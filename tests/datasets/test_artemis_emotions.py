"""ArtEmis' CSV files: votes, utterances, and the first bad cell by name."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets.artemis_emotions import EMOTIONS, ArtemisEmotions
from tests.datasets.conftest import artemis, records_of, write

HEADER = "art_style,painting,emotion,utterance\n"


def read(folder, configuration="paintings"):
    return records_of(ArtemisEmotions, folder, configuration)


def test_paintings_get_the_emotion_that_most_people_felt(folder):
    source = ArtemisEmotions(write(folder, artemis()))
    rows = list(source.rows("paintings"))
    assert [row["image_id"] for row in rows] == ["Baroque/joaqu\u00e3\u00adn_3", "Cubism/zebra_1", "Realism/zebra_1"]
    assert rows[2] == {
        "image_id": "Realism/zebra_1",
        "art_style": "Realism",
        "painting": "zebra_1",
        "references": ['It is, so to say, "grand".', "two\nlines", "dark"],
        "attribute": "awe",
        "emotions": ["awe", "awe", "fear"],
    }
    assert source.left_out["paintings"] == {"empty utterances": 1, "without a most frequent emotion": 1}


WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=6)
CELLS = st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from(EMOTIONS), WORDS)


@settings(max_examples=30, deadline=None)
@given(cells=st.lists(CELLS, min_size=1))
def test_any_cells_are_read_as_the_csv_module_wrote_them(cells, tmp_path_factory):
    folder = tmp_path_factory.mktemp("artemis")
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER.strip().split(","), *cells])
    felt = defaultdict(list)
    for style, painting, emotion, words in cells:
        if words.strip():
            felt[f"{style}/{painting}"].append((words, emotion))
    utterances = [(row["image_id"], row["references"][0], row["attribute"]) for row in read(folder, "utterances")]
    voted = {row["image_id"]: row["attribute"] for row in read(folder)}
    assert utterances == [(key, *pair) for key in sorted(felt) for pair in felt[key]]
    expected = {}
    for key, pairs in felt.items():
        (emotion, most), *others = Counter(emotion for _, emotion in pairs).most_common()
        if not others or others[0][1] < most:
            expected[key] = emotion
    assert voted == expected


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (HEADER + "a,b,awe,x\na,b,joy,x\na,b,Awe,y\n", "emotion[1]"),
        ("art_style,painting,utterance\na,b,x\n", "emotion"),
    ],
)
def test_what_is_wrong_is_named(content, named, folder):
    with pytest.raises(ValueError, match="CSV"):
        ArtemisEmotions(folder)
    write(folder, {"a.csv": content})
    with pytest.raises(ValueError, match=re.escape(named)):
        read(folder)
