"""ArtEmis' CSV files: votes, utterances, and the first bad cell by name."""

import re

import pytest

from captionbias.datasets.artemis_emotions import ArtemisEmotions
from tests.datasets.conftest import artemis, records_of, write
from tests.refusals import refuses

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


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (HEADER + "a,b,awe,x\na,b,joy,x\na,b,Awe,y\n", "emotion[1]"),
        ("art_style,painting,utterance\na,b,x\n", "emotion"),
    ],
)
def test_what_is_wrong_is_named(content, named, folder):
    refuses("CSV", ArtemisEmotions, folder)
    write(folder, {"a.csv": content})
    refuses(re.escape(named), read, folder)
