"""ArtEmis' CSV files: votes and utterances."""

from captionbias.datasets.artemis_emotions import ArtemisEmotions
from tests.datasets.conftest import artemis, write
from tests.refusals import refuses


def test_paintings_get_the_emotion_that_most_people_felt(folder):
    refuses("CSV", ArtemisEmotions, folder)
    source = ArtemisEmotions(write(folder, artemis()))
    rows = list(source.rows("paintings"))
    assert [row["image_id"] for row in rows] == ["Baroque/joaqu\u00e3\u00adn_3", "Cubism/zebra_1", "Realism/zebra_1"]
    assert rows[2] == {
        **{"image_id": "Realism/zebra_1", "art_style": "Realism", "painting": "zebra_1"},
        "references": ['It is, so to say, "grand".', "two\nlines", "dark"],
        **{"attribute": "awe", "emotions": ["awe", "awe", "fear"]},
    }
    assert source.left_out["paintings"] == {"empty utterances": 1, "without a most frequent emotion": 1}
