"""Studies as tables for a terminal."""

from __future__ import annotations

from dataclasses import replace

from captionbias.statistics.samples import Estimate
from captionbias.studies.power import Power, Seen
from captionbias.studies.tables import power_table


def test_the_terminal_shows_from_which_share_on_a_bias_is_seen():
    seen = Seen("value follows tasks", "sway_t_to_a", 0.005, 0.16, Estimate(1.04, 0.62, 1.47))
    unseen = replace(seen, score="sway_t_to_a_lost", share=None, estimate=None)
    first, second = power_table(Power([seen, unseen], 100, "")).rows
    assert first[2:] == ["0.5%", "1.0 [0.6, 1.5]"]
    assert second[2:] == ["not at 16.0%", "-"]
