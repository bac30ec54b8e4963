"""One signature, one number: a score does not depend on the processor that it was measured on."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from captionbias.metrics.catalogue import SCORES
from tests.patience import PATIENCE

MEASURE = """
import json, warnings
from threadpoolctl import threadpool_info
from captionbias.metrics import find_metric
from captionbias.metrics.catalogue import METRICS
from captionbias.synthetic import plant

warnings.simplefilter("ignore")
options = {"preset": "fast", "trials": 3, "cache": False, "alignment": "constant"}
scores = {}
for name in sorted(METRICS.keys() - {"imagecaptioner2"}):
    metric = find_metric(name)
    chosen = {option: options[option] for option in options.keys() & metric.options()}
    result = metric(**vars(plant(300, a_to_t=0.3, t_to_a=0.2, captions=2)), **chosen, bootstrap=100)
    scores[name] = {key: value for key, value in result.items() if isinstance(value, float)}
print(json.dumps([[one["architecture"] for one in threadpool_info() if "architecture" in one], scores]))
"""
# Other instructions for numpy's and scipy's linear algebra and for numpy's functions, and another number of threads.
OLD = {
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX",
}
NEWER = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"}


def test_fast_scores_and_their_intervals_are_the_same_on_other_processors():
    """Within a twentieth of a printed digit: only what lies on the edge of one can be printed otherwise."""
    measuring = [
        subprocess.Popen([sys.executable, "-c", MEASURE], env=os.environ | processor, stdout=subprocess.PIPE)
        for processor in (OLD, NEWER)
    ]
    (old, measured), (newer, again) = (json.loads(one.communicate(timeout=PATIENCE)[0]) for one in measuring)
    if old == newer:
        pytest.skip("the linear algebra here has one set of instructions")
    for name, scores in measured.items():
        digits = max(score.digits for score in SCORES.values() if score.metric == name)
        assert again[name] == pytest.approx(scores, rel=0, abs=0.05 * 10**-digits, nan_ok=True), name
