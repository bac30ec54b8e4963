"""Results that `captionbias measure` writes are as docs/output.schema.json says, and others are not."""

import json
from pathlib import Path
from typing import Any

import pytest

from captionbias.synthetic import plant
from tests.cli.conftest import ran, write_sides

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "output.schema.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """JSON Schema as far as this schema uses it."""
    types = schema.get("type", list(TYPES))
    inside = schema.get("properties", {})
    entries = value if isinstance(value, dict) else {}
    others = schema.get("additionalProperties", {})
    return (
        isinstance(value, tuple(TYPES[name] for name in ([types] if isinstance(types, str) else types)))
        and entries.keys() >= set(schema.get("required", ()))
        and all(fits(entry, inside.get(name, others)) for name, entry in entries.items())
        and all(fits(item, schema.get("items", {})) for item in (value if isinstance(value, list) else ()))
        and ("anyOf" not in schema or any(fits(value, one) for one in schema["anyOf"]))
        and ("$ref" not in schema or fits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]))
    )


@pytest.fixture(scope="module")
def sides(tmp_path_factory) -> list[str]:
    skin = ["Light" if image % 4 < 2 else "Dark" for image in range(60)]
    return write_sides(tmp_path_factory.mktemp("schema"), plant(60, captions=2, a_to_t=0.5), skin=skin)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("gender_error", "--predictions again={}"),
        ("all", "--bootstrap 20 --trials 2"),
        ("lic", "--preset fast --trials 2 --attribute gender --attribute skin --allow-unmasked"),
    ],
)
def test_a_real_result_is_as_the_schema_says(metric, options, sides, tmp_path):
    ran("measure", metric, *sides, *options.format(sides[1]).split(), "--output", tmp_path / "result.json")
    result = json.loads((tmp_path / "result.json").read_text())
    assert fits(result, SCHEMA)
    broken = json.dumps(result).replace('"signature"', '"signed"')
    assert not fits(json.loads(broken), SCHEMA)
    assert not fits({**result, "image_set": 7}, SCHEMA)
