"""DBAC as an `evaluate` module; the computation is `captionbias.metrics.dbac`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@article{nair2026woman,
  title   = {A Woman with a Knife or A Knife with a Woman? Measuring Directional Bias Amplification in Image Captions},
  author  = {Nair, Rahul and Tokas, Bhanu and Kerner, Hannah},
  journal = {arXiv preprint arXiv:2503.07878},
  year    = {2026}
}
"""


class DBAC(modules.CaptionMetric):
    """DBAC (directional bias amplification in captioning) asks in which direction a captioner makes its data's bias
    worse. From attribute to task (A->T): does the person's gender, say, shape which objects the caption names? From
    task to attribute (T->A): do the objects shape which gender it names? Attackers are trained on captions with the
    attribute words, or the task words, masked; their quality is weighted by how often attributes and tasks are named,
    and the model captions are compared with the human ones. The matched score, beside the published one, does not
    depend on how often a captioner names things at all.

    Args:
        Without predictions only the data's bias is measured, without references only the captioner's.
        preset (str): "dbac-2026", the paper's protocol, or "fast", whose convex attacker trains in a moment without a
            GPU.
        trials (int, optional): attackers trained a side and direction, each on its own split; the preset's number when
            left out.
        seed (int): the seed of the first trial, 0 by default. The same seed gives the same score.
    Returns:
        dbac_a_to_t, dbac_t_to_a (float): the published scores, in (-1, 1). Above 0 the captioner amplifies the data's
            bias in that direction, below 0 it mitigates it.
        dbac_a_to_t_matched, dbac_t_to_a_matched (float): the same with both sides weighted to name the same things
            equally often.
        dbac_a_to_t_blind, dbac_t_to_a_blind (float): matched, of attackers that see neither attribute nor task words.
        dbac_a_to_t_net, dbac_t_to_a_net (float): matched minus blind, in (-2, 2); judge a captioner by it.
        dbac_a_to_t_prior, dbac_t_to_a_prior (float): the published scores if the attackers were perfect.
        signature (str): everything that affects the score; report it with the score.
        Each score also has a deviation, ..._std, and a 95% confidence interval, ..._ci_low and ..._ci_high. The omegas
            of both sides and their parts are there too.
    Examples:
        >>> import evaluate
        >>> dbac = evaluate.load("dbac")
        >>> result = dbac.compute(
        ...     predictions=["a woman with an umbrella", "a man with a skateboard"] * 30,
        ...     references=[
        ...         ["a woman with an umbrella", "a woman with an umbrella in the rain"],
        ...         ["a man with a skateboard", "a man with a skateboard in the sun"],
        ...         ["a woman with a skateboard", "a woman with a skateboard in the sun"],
        ...         ["a man with an umbrella", "a man with an umbrella in the rain"],
        ...         ["a woman with an umbrella", "a lady with an umbrella"],
        ...         ["a man with a skateboard", "a guy with a skateboard"],
        ...     ]
        ...     * 10,
        ...     attributes=["female", "male"] * 30,
        ...     preset="fast",
        ...     trials=2,
        ... )
        >>> result["dbac_a_to_t"] > 0, result["dbac_a_to_t_matched"] > 0
        (True, True)
    """

    _score = staticmethod(metrics.dbac)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/2503.07878"
