"""BA (MALS) as an `evaluate` module; the computation is `captionbias.metrics.ba_mals`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{zhao2017men,
  title     = {Men Also Like Shopping: Reducing Gender Bias Amplification using Corpus-level Constraints},
  author    = {Zhao, Jieyu and Wang, Tianlu and Yatskar, Mark and Ordonez, Vicente and Chang, Kai-Wei},
  booktitle = {Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  year      = {2017}
}
"""


class BaMals(modules.CaptionMetric):
    """BA (MALS), of "Men Also Like Shopping", asks whether predictions strengthen the lean that each task has in the
    data. Of the captions, or images, that name a task and a value of the attribute, such as a gender, some share names
    this value. Where the data's share is above an even one, BA takes how much the predictions' share is above the
    data's; its mean over tasks is above 0 when predictions amplify the bias of the data.

    Args:
        With captions, attributes are checked only and tasks are not used.
        Labels instead of captions: attributes and tasks, with predicted_tasks, predicted_attributes or both; each a
            list of names or of lists of names, or a 0/1 array of shape (images, labels). And, if the pairs that belong
            together are known from other images, training_attributes and training_tasks.
        words (bool): take for tasks the frequent words of the human captions, as the paper of LIC does; False by
            default.
        bootstrap (int): replicates for the interval, 1000 by default; 0 for none.
    Returns:
        ba_mals (float): in [-1, 1]. Above 0 predictions amplify the lean of the data, below 0 they mitigate it.
        ba_mals_ci_low, ba_mals_ci_high (float): its 95% interval over images.
        ba_mals_human (float): the same of one human caption of each image against its others, if references has two or
            more.
        ba_mals_excess (float): the captioner's against these others, minus the person's: 0 is one more person.
        tasks_ba_mals (int): how many tasks count.
        undefined_pairs_ba_mals (int): pairs whose task never occurs with a value, in the data or in the predictions.
        signature (str): everything that changes the score; report it with the score.
    Examples:
        >>> import evaluate
        >>> ba_mals = evaluate.load("ba_mals")
        >>> result = ba_mals.compute(
        ...     predictions=["a woman with a knife"] * 4,
        ...     references=[["a woman with a knife"], ["a lady, a knife"], ["a girl, a knife"], ["a man, a knife"]],
        ...     attributes=["female", "female", "female", "male"],
        ... )
        >>> result["ba_mals"]
        0.25
        >>> result = ba_mals.compute(
        ...     attributes=["female", "female", "female", "male"],
        ...     tasks=[["knife"]] * 4,
        ...     predicted_attributes=["female"] * 4,
        ... )
        >>> result["ba_mals"]
        0.25
    """

    _score = staticmethod(metrics.ba_mals)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/1707.09457"
