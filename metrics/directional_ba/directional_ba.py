"""Directional BA as an `evaluate` module; the computation is `captionbias.metrics.directional_ba`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{wang2021directional,
  title     = {Directional Bias Amplification},
  author    = {Wang, Angelina and Russakovsky, Olga},
  booktitle = {International Conference on Machine Learning (ICML)},
  year      = {2021}
}
"""


class DirectionalBA(modules.CaptionMetric):
    """Directional bias amplification asks, from counts alone, in which direction predictions make the bias of the data
    worse. From attribute to task (A->T): is a task predicted more often than it is there for the gender, say, that it
    goes with? From task to attribute (T->A): is a gender predicted more often than it is there for a task that it goes
    with? For captions the words that they name are the predictions; the scores are then known as DBA_O and DBA_G.

    Args:
        References are not needed if tasks are given.
        Labels instead of captions: attributes and tasks, with predicted_tasks, predicted_attributes or both; each a
            list of names or of lists of names, or a 0/1 array of shape (images, labels). And, if the pairs that belong
            together are known from other images, training_attributes and training_tasks.
        bootstrap (int): replicates for the intervals, 1000 by default; 0 for none.
    Returns:
        directional_ba_a_to_t, directional_ba_t_to_a (float): in [-1, 1]. Above 0 predictions amplify in that direction,
            below 0 they mitigate. A direction without predictions is absent.
        directional_ba_a_to_t_human and so on (float): the same of one human caption of each image against its others,
            if references has two or more.
        directional_ba_a_to_t_excess and so on (float): the captioner's against these others, minus the person's: 0 is
            one more person.
        undefined_pairs_a_to_t, undefined_pairs_t_to_a (int): pairs left out, since no image has the value or the task.
        signature (str): everything that changes the score; report it with the score.
        Each score also has a 95% confidence interval over images, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> directional_ba = evaluate.load("directional_ba")
        >>> result = directional_ba.compute(
        ...     predictions=["a woman with a knife", "a woman with a knife", "a man", "a man"],
        ...     references=[["a woman with a knife"], ["a woman"], ["a man"], ["a man"]],
        ...     attributes=["female", "female", "male", "male"],
        ... )
        >>> result["directional_ba_a_to_t"], result["directional_ba_t_to_a"]
        (0.25, 0.0)
        >>> result = directional_ba.compute(
        ...     attributes=[[1, 0], [1, 0], [0, 1], [0, 1]],
        ...     tasks=[[1], [0], [0], [0]],
        ...     predicted_tasks=[[1], [1], [0], [0]],
        ... )
        >>> result["directional_ba_a_to_t"]
        0.25
    """

    _score = staticmethod(metrics.directional_ba)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/2102.12594"
