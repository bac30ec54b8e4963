"""Commands that `accelerate launch` starts in several processes share the attackers out."""

import pytest

from captionbias.attackers import engine, ranks
from tests.cli.conftest import invoke

QUICK = ["--trials", "1", "--bootstrap", "0", "--no-cache"]


@pytest.mark.parametrize(
    "command",
    [
        ["measure", "lic", "--preset", "fast"],
        ["compare", "--metric", "lic", "--preset", "fast"],
        ["report", "--metric", "lic", "--output", "{folder}/report.html"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_that_trains_attackers_shares_them(command, files, tmp_path, monkeypatch):
    asked = []

    def share(keys, train, *, distributed=False):
        asked.append(distributed)
        return ranks.share(keys, train)

    monkeypatch.setattr(engine, "share", share)
    invoke(*(word.format(folder=tmp_path) for word in command), *files, *QUICK)
    assert set(asked) == {True}
