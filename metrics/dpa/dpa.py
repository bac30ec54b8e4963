"""DPA as an `evaluate` module; the computation is `captionbias.metrics.dpa`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{tokas2025dpa,
  title     = {DPA: A one-stop metric to measure bias amplification in classification datasets},
  author    = {Tokas, Bhanu and Nair, Rahul and Kerner, Hannah},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year      = {2025}
}
"""


class DPA(modules.CaptionMetric):
    """DPA (directional predictability amplification) asks whether labels can be guessed better from each other when a
    model gives them. From attribute to task (A->T): small attackers guess the model's tasks, and the true ones, from
    the gender, say. From task to attribute (T->A): they guess the model's genders, and the true ones, from the tasks.
    True labels are first made wrong as often as the model's are, so that it is bias that is compared and not accuracy.
    For captions the words that they name are the model's labels.

    Args:
        References are not needed if tasks are given.
        Labels instead of captions: attributes and tasks, with predicted_tasks, predicted_attributes or both; each a
            list of names or of lists of names, or a 0/1 array of shape (images, labels).
        trials (int): attackers trained a side and direction, each on its own split; 10 by default.
        quality (str): "inverse_cross_entropy", "accuracy" or "confidence", of the attackers' guesses.
        seed (int): the seed of the first trial, 0 by default. The same seed gives the same score.
    Returns:
        dpa_a_to_t, dpa_t_to_a (float): in [-1, 1]. Above 0 predictions amplify in that direction, below 0 they
            mitigate. A direction without predictions is absent.
        dpa_a_to_t_human and so on (float): the same of one human caption of each image against its others, if
            references has two or more.
        dpa_a_to_t_excess and so on (float): the captioner's against these others, minus the person's: 0 is one more
            person.
        predictability_m_a_to_t, predictability_d_a_to_t, and so on (float): how well the model's labels (m) and the
            data's (d) are guessed.
        signature (str): everything that changes the score; report it with the score.
        Each score also has a deviation, ..._std, and a 95% confidence interval, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> dpa = evaluate.load("dpa")
        >>> result = dpa.compute(
        ...     predictions=["a woman with an umbrella", "a man with a skateboard"] * 30,
        ...     references=[["a woman with an umbrella"], ["a man with an umbrella"]] * 15
        ...     + [["a woman with a skateboard"], ["a man with a skateboard"]] * 15,
        ...     attributes=["female", "male"] * 30,
        ...     trials=2,
        ... )
        >>> result["dpa_a_to_t"] > 0
        True
        >>> result = dpa.compute(
        ...     attributes=["female", "male"] * 50,
        ...     tasks=[["knife"], ["knife"], ["ball"], ["ball"]] * 25,
        ...     predicted_tasks=[["knife"], ["ball"]] * 50,
        ...     trials=2,
        ... )
        >>> result["dpa_a_to_t"] > 0
        True
    """

    _score = staticmethod(metrics.dpa)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/2412.11060"
