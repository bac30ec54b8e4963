"""The consistency study: every captioner with every encoder, as measured one by one, and how far encoders agree."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import pearsonr

from captionbias.analysis.consistency import consistency
from captionbias.attackers import engine
from captionbias.metrics import dbac, lic
from captionbias.report.plots import consistency_plot, write_html
from captionbias.synthetic import plant
from tests.patience import PATIENCE

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # a few images suffice here

DIALS = {"faithful": {}, "biased": {"a_to_t": 0.8}, "blind": {"naming": 0.4}}
CHOSEN = {"trials": 2, "bootstrap": 0}
ENCODERS = ["bow", "linear"]


@pytest.fixture(scope="module")
def captioners():
    return {name: vars(plant(200, captions=2, **dials)) for name, dials in DIALS.items()}


@pytest.fixture(scope="module")
def study(captioners, tmp_path_factory):
    return consistency(captioners, ENCODERS, **CHOSEN, cache=tmp_path_factory.mktemp("cache"))


def test_every_cell_is_the_metric_s_own_score(study, captioners):
    assert study.captioners == list(DIALS)
    for row, name in enumerate(DIALS):
        for column, encoder in enumerate(ENCODERS):
            assert study.scores["lic"][row, column] == lic(**captioners[name], **CHOSEN, encoder=encoder)["lic"]
            both = dbac(**captioners[name], **CHOSEN, encoder=encoder)
            for score in ("dbac_a_to_t", "dbac_a_to_t_matched", "dbac_t_to_a", "dbac_t_to_a_matched"):
                assert study.scores[score][row, column] == both[score]


def test_the_summary_is_that_of_the_papers(study):
    for name, found in study.consistency().items():
        values = study.scores[name]
        each = values.std(axis=1, ddof=1) / abs(values.mean(axis=1))
        assert list(found["coefficient_of_variation"].values()) == pytest.approx(each.tolist())
        assert found["mean_coefficient_of_variation"] == pytest.approx(each.mean())
        assert found["conflict_score"] == pytest.approx(((values[:, 0] > 0) != (values[:, 1] > 0)).mean())
        assert found["ranking_consistency"] == pytest.approx(pearsonr(values[:, 0], values[:, 1]).statistic)


def test_everything_goes_into_a_file(study):
    written = json.loads(json.dumps(study.as_dict()))
    assert written["scores"]["lic"]["biased"]["bow"] == study.scores["lic"][1, 0]
    assert len(written["results"]) == len(DIALS) * len(ENCODERS) * 2
    assert all("signature" in cell["scores"] for cell in written["results"])


def test_again_nothing_is_trained_and_one_encoder_more_trains_its_own_only(captioners, tmp_path, monkeypatch):
    trained = []
    attackers = engine._finished

    def counted(jobs, attacker, *rest):
        for job, scores in attackers(jobs, attacker, *rest):
            trained.append(attacker.name)
            yield job, scores

    def train_only_missing(encoders):
        return consistency(captioners, encoders, **CHOSEN, metrics=["lic"], cache=tmp_path)

    first = train_only_missing(ENCODERS)
    kept = len(list(tmp_path.glob("trial-*.npz")))
    again = train_only_missing(ENCODERS)
    assert np.array_equal(first.scores["lic"], again.scores["lic"])
    assert len(list(tmp_path.glob("trial-*.npz"))) == kept
    monkeypatch.setattr(engine, "_finished", counted)
    more = train_only_missing([*ENCODERS, "rnn"])
    assert np.array_equal(more.scores["lic"][:, :2], first.scores["lic"])
    assert len(list(tmp_path.glob("trial-*.npz"))) == kept * 3 // 2
    assert set(trained) == {"bow", "linear", "rnn"}


def test_both_metrics_attack_with_the_same_network(captioners, tmp_path):
    one = {"faithful": captioners["faithful"]}
    study = consistency(
        one, ["lstm", "bow"], metrics=["lic", "dbac"], directions=["a_to_t"], trials=1, bootstrap=0, cache=tmp_path
    )
    signatures = [found.signature for cell, found in study.measurements.items() if cell.encoder == "lstm"]
    assert len(signatures) == 2
    assert all("attacker:lstm-dbac|" in signature for signature in signatures)


def test_a_captioner_without_a_score_from_every_encoder_is_left_out_of_the_summary(study):
    values = study.scores["lic"].copy()
    values[0, 1] = np.nan
    partly = type(study)(study.captioners, study.encoders, {"lic": values}, {})
    found = partly.consistency()["lic"]
    assert found["captioners"] == 2
    assert math.isnan(found["coefficient_of_variation"]["faithful"])
    assert found["ranking_consistency"] == pytest.approx(pearsonr(values[1:, 0], values[1:, 1]).statistic)


@pytest.mark.parametrize(
    ("encoders", "options", "message"),
    [
        (["bow"], {}, "two encoders"),
        (["bow", "gru"], {}, "encoder 'gru' is unknown"),
        (["bow", "linear"], {"metrics": ["cider"]}, "metric 'cider' is unknown"),
        (["bow", "linear"], {"metrics": []}, "metrics is empty"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_trained(encoders, options, message, captioners):
    def watch(left):
        raise AssertionError("measured")

    with pytest.raises(ValueError, match=message):
        consistency(captioners, encoders, watch=watch, **CHOSEN, **options)


def test_the_plot_holds_every_score_and_needs_no_network(study, tmp_path):
    figure = consistency_plot(study)
    shown = sorted(float(value) for trace in figure.data for value in trace.y)
    assert shown == sorted(float(value) for values in study.scores.values() for value in values.ravel())
    write_html(figure, tmp_path / "study.html")
    page = (tmp_path / "study.html").read_text()
    assert "<script src=" not in page
    assert "faithful" in page


# The command


@pytest.fixture(scope="module")
def files(captioners, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    ids = list(range(200))
    for name, given in captioners.items():
        pq.write_table(pa.table({"image_id": ids, "caption": given["predictions"]}), folder / f"{name}.parquet")
    given = captioners["faithful"]
    people = {
        "image_id": ids,
        "references": given["references"],
        "gender": given["attributes"],
        "tasks": given["tasks"],
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    return folder


def run(folder, *arguments):
    script = Path(sys.executable).with_name("captionbias")
    command = [script, "consistency", *arguments, "--references", "people.parquet", "--tasks", "people.parquet"]
    environment = {**os.environ, "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)


def test_the_command_prints_tables_and_writes_json_and_a_plot(files, study):
    given = [part for name in DIALS for part in ("--predictions", f"{name}.parquet")]
    finished = run(
        files,
        *given,
        "--encoder",
        "bow",
        "--encoder",
        "plain=linear",
        "--trials",
        "2",
        "--output",
        "study.json",
        "--plot",
        "study.html",
    )
    assert finished.returncode == 0, finished.stderr
    written = json.loads((files / "study.json").read_text())
    for row, name in enumerate(DIALS):
        assert list(written["scores"]["lic"][name].values()) == study.scores["lic"][row].tolist()
    assert written["encoders"] == ["bow", "plain"]
    assert (files / "study.html").stat().st_size > 1_000_000
    for text in ("LIC x 100", "DBAC T to A, matched", "coefficient of", "conflicts", "correlation", "variation"):
        assert text in finished.stdout
    assert f"{study.scores['lic'][1, 0]:.1f} (3)" in finished.stdout
    assert "12 left: lic of faithful by bow" in finished.stderr
    assert "to go" in finished.stderr


def test_two_captioners_of_one_name_are_refused(files):
    finished = run(files, "--predictions", "faithful.parquet", "--predictions", "faithful.parquet")
    assert finished.returncode == 2
    assert "two are called 'faithful'" in finished.stderr
