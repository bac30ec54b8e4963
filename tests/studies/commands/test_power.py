"""`captionbias power`: the library's numbers, as a table and in a file."""

import json

from captionbias.studies.power import power
from tests.cli.conftest import ran


def test_biases_are_put_into_people_s_captions(planted, folder, tmp_path):
    chosen = ["--seed", "2", "--bootstrap", "60", "--json", tmp_path / "o.json"]
    shown, notes = ran("power", "--references", folder / "people.parquet", *chosen)
    given = planted["nic"]
    expected = power(references=given.references, attributes=given.attributes, tasks=given.tasks, seed=2, bootstrap=60)
    written = json.loads((tmp_path / "o.json").read_text())
    assert written == {"version": written["version"], **json.loads(json.dumps(expected.as_dict()))}
    assert all(text in shown for text in ("What would sway have seen", "not at 2"))
    assert "value follows tasks" in notes
