"""Multi-directional BA as an `evaluate` module; the computation is `captionbias.metrics.multi_directional_ba`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{zhao2023men,
  title     = {Men Also Do Laundry: Multi-Attribute Bias Amplification},
  author    = {Zhao, Dora and Andrews, Jerone T. A. and Xiang, Alice},
  booktitle = {International Conference on Machine Learning (ICML)},
  year      = {2023}
}
"""


class MultiDirectionalBA(modules.CaptionMetric):
    """Multi-attribute directional bias amplification looks at combinations of tasks, such as knife and cake, where
    directional bias amplification looks at single ones. It is the mean size of each pair's change, so that what is
    amplified and what is mitigated do not cancel, with its variance over pairs beside it. It cannot tell amplification
    from mitigation: 0 is best, and anything above it says that predictions move the associations of the data one way or
    the other.

    Args:
        References are not needed if tasks are given.
        Labels instead of captions: attributes and tasks, with predicted_tasks, predicted_attributes or both; each a
            list of names or of lists of names, or a 0/1 array of shape (images, labels). And, if the pairs that belong
            together are known from other images, training_attributes and training_tasks.
        at_least (int): how many images show just this combination of tasks for it to count, 1 by default.
        bootstrap (int): replicates for the intervals, 1000 by default; 0 for none.
    Returns:
        multi_directional_ba_a_to_t, multi_directional_ba_t_to_a (float): the mean size of the change, in [0, 1]; lower
            is better. A direction without predictions is absent.
        multi_directional_ba_a_to_t_variance, multi_directional_ba_t_to_a_variance (float): the variance of the change
            over pairs.
        multi_mals, multi_mals_variance (float): the same of the share of a combination's likelier attribute value.
        multi_directional_ba_a_to_t_human and so on (float): the same of one human caption of each image against its
            others, if references has two or more.
        multi_directional_ba_a_to_t_excess and so on (float): the captioner's against these others, minus the person's:
            0 is one more person.
        combinations (int): combinations of tasks that count.
        undefined_pairs_a_to_t, undefined_pairs_t_to_a (int): pairs left out, since no image has the value or
            combination.
        signature (str): everything that changes the score; report it with the score.
        Each mean and variance also has a 95% confidence interval over images, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> multi_directional_ba = evaluate.load("multi_directional_ba")
        >>> result = multi_directional_ba.compute(
        ...     predictions=["a woman, a knife and a cake", "a woman", "a man, a knife and a cake", "a man"],
        ...     references=[["a woman, a knife and a cake"], ["a woman, a cake"], ["a man, a knife"], ["a man"]],
        ...     attributes=["female", "female", "male", "male"],
        ... )
        >>> result["combinations"], result["multi_directional_ba_t_to_a"]
        (3, 0.0)
        >>> result = multi_directional_ba.compute(
        ...     attributes=["female"] * 4 + ["male"] * 4,
        ...     tasks=[["knife", "cake"], ["knife", "cake"], ["knife"], [], ["knife", "cake"], ["knife"], [], []],
        ...     predicted_tasks=[["knife", "cake"]] * 3 + [[], ["knife"], ["knife"], [], []],
        ... )
        >>> result["multi_directional_ba_a_to_t"]
        0.125
    """

    _score = staticmethod(metrics.multi_directional_ba)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/2210.11924"
