"""The tables of an audit: its numbers in their columns, and nothing where there is none."""

from captionbias.metrics import catalogue
from captionbias.report import views

BY_LABEL = {score.label: score for score in catalogue.SCORES.values()}


def test_scores_of_every_metric_have_their_intervals_p_values_and_verdicts(every_metric):
    expected = []
    for captioner in every_metric.captioners:
        for score in [score for name in catalogue.of_captions() for score in catalogue.scores_of(name)]:
            measured = every_metric.measurement(score.metric, captioner)
            if score.in_tables and score.key in measured.estimates:
                p = every_metric.comparisons[score.metric].p_values[captioner].get(score.key)
                judged = [p, every_metric.verdicts.get((captioner, score.key), "-")] if score.judged else [None, None]
                seen = measured.estimates[score.key].detectable if score.judged else None
                value = (measured.estimates[score.key], score.digits)
                expected.append([captioner, score.label, value, seen, *judged])
    assert sorted(views.scores(every_metric).rows, key=str) == sorted(expected, key=str)
    assert {BY_LABEL[row[1]].metric for row in expected} == set(catalogue.of_captions())


def test_differences_are_those_of_the_comparisons_of_every_metric(every_metric):
    pairs = [one for comparison in every_metric.comparisons.values() for one in comparison.differences]
    rows = views.differences(every_metric.comparisons.values()).rows
    assert {catalogue.SCORES[one.score].metric for one in pairs} == set(catalogue.of_captions())
    for one, row in zip(pairs, rows, strict=True):
        assert row[:3] == ["nic", "sat", catalogue.label(one.score)]
        assert row[3:] == [(one.estimate, catalogue.SCORES[one.score].digits), one.p, one.p_holm]


def test_of_many_values_a_word_is_told_of_its_own_and_of_the_others():
    uses = {"a": 10.0, "b": 0.0, "c": 2.0, "d": 0.0, "e": 2.0}
    row = {"word": "smiling", "attribute": "a", "kind": "more", "captioner": 9.0, "beyond": 9.0, "scaled": True}
    grid = views.sway_words({"words": [row | {"uses_captioner": uses}]})
    assert [column.name for column in grid.columns][-2:] == ["of it: captioner", "of the others: captioner"]
    assert grid.rows[0][-2:] == [10.0, 1.0]
