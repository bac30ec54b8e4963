"""ArtEmis' CSV files: votes, utterances, and each bad cell by name."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets.artemis_emotions import EMOTIONS, ArtemisEmotions
from tests.datasets.conftest import artemis, records_of, write

HEADER = "art_style,painting,emotion,utterance\n"


def read(folder: Path, configuration: str = "paintings") -> list[dict[str, Any]]:
    return records_of(ArtemisEmotions, folder, configuration)


def test_paintings_get_the_emotion_that_most_people_felt(folder: Path) -> None:
    source = ArtemisEmotions(write(folder, artemis()))
    assert list(source.rows("paintings")) == [
        {
            "image_id": "Baroque/joaqu\u00e3\u00adn_3",
            "art_style": "Baroque",
            "painting": "joaqu\u00e3\u00adn_3",
            "references": ["fine"],
            "attribute": "something else",
            "emotions": ["something else"],
        },
        {
            "image_id": "Cubism/zebra_1",
            "art_style": "Cubism",
            "painting": "zebra_1",
            "references": ["another zebra"],
            "attribute": "awe",
            "emotions": ["awe"],
        },
        {
            "image_id": "Realism/zebra_1",
            "art_style": "Realism",
            "painting": "zebra_1",
            "references": ['It is, so to say, "grand".', "two\nlines", "dark"],
            "attribute": "awe",
            "emotions": ["awe", "awe", "fear"],
        },
    ]
    assert source.left_out["paintings"] == {"empty utterances": 1, "without a most frequent emotion": 1}


def test_utterances_have_their_own_emotion(folder: Path) -> None:
    rows = read(write(folder, artemis()), "utterances")
    assert [(row["image_id"], row["references"], row["attribute"]) for row in rows][1:3] == [
        ("Cubism/apple_2", ["why"], "anger"),
        ("Cubism/apple_2", ["why not"], "sadness"),
    ]
    assert len(rows) == 7
    assert "emotions" not in rows[0]


WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=6)
CELLS = st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from(EMOTIONS), WORDS)


@settings(max_examples=50, deadline=None)
@given(cells=st.lists(CELLS, min_size=1))
def test_any_cells_are_read_as_the_csv_module_wrote_them(
    cells: list[tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("artemis")
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER.strip().split(","), *cells])
    felt: dict[str, list[tuple[str, str]]] = defaultdict(list)
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
    ("body", "message"),
    [
        ("a,b,joy,x\na,b,awe,y\n", r"emotion\[2\] must be one of amusement, .*, not 'joy'"),
        ("a,b,Awe,x\n", r"emotion\[2\] must be one of .*, not 'Awe'"),
        ("a,../b,awe,x\n", r"painting\[2\] must be the name of a file, without folders, not '\.\./b'"),
        ("/a,b,awe,x\n", r"art_style\[2\] must be the name of a file"),
        ("a,,awe,x\n", r"painting\[2\] must be the name of a file"),
        (f"a,b,awe,{'x' * 10_001}\n", r"utterance\[2\] must have at most 10,000 characters"),
    ],
)
def test_the_first_bad_cell_is_named(body: str, message: str, folder: Path) -> None:
    write(folder, {"a.csv": HEADER + "a,b,awe,x\n" * 2 + body * 2})
    with pytest.raises(ValueError, match=r"^a\.csv: " + message):
        read(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"a\.csv has only blank lines"),
        ("art_style,painting,utterance\n", "each once: 'emotion' is not"),
        ("art_style,painting,emotion,utterance,emotion\n", "each once: 'emotion' is not"),
        (HEADER + "a,b,awe\n", r"a\.csv has 4 columns, but line 2 has 3"),
        (HEADER + 'a,b,awe,"x\n', r"a\.csv is broken at line 2"),
    ],
)
def test_a_malformed_file_is_named(content: str | bytes, message: str, folder: Path) -> None:
    write(folder, {"a.csv": content})
    with pytest.raises(ValueError, match=message):
        read(folder)


def test_no_files_and_no_rows(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"has no CSV file: .* they come from https://www\.artemisdataset\.org"):
        ArtemisEmotions(folder)
    assert read(write(folder, {"a.csv": HEADER})) == []
    assert read(write(folder, {"a.csv": HEADER + "a,b,awe, \n"})) == []
