"""Label leakage as an `evaluate` module; the computation is `captionbias.metrics.label_leakage`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{wang2019balanced,
  title     = {Balanced Datasets Are Not Enough: Estimating and Mitigating Gender Bias in Deep Image Representations},
  author    = {Wang, Tianlu and Zhao, Jieyu and Yatskar, Mark and Chang, Kai-Wei and Ordonez, Vicente},
  booktitle = {IEEE/CVF International Conference on Computer Vision (ICCV)},
  year      = {2019}
}
"""


class LabelLeakage(modules.CaptionMetric):
    """Label leakage asks how well an attribute, such as gender, can be read from the tasks that a model predicts, and
    how well from the tasks that images show, made wrong as often as the predictions are. The difference is above 0 when
    predictions give away more than the data does at the same accuracy. For captions the tasks that they name are the
    predictions; their other words are not seen (LIC and its leakage read those).

    Args:
        References are not needed if tasks are given.
        Labels instead of captions: attributes, tasks and predicted_tasks; each a list of names or of lists of names, or
            a 0/1 array of shape (images, labels).
        trials (int): attackers trained a side, each on its own split; 10 by default.
        seed (int): the seed of the first trial, 0 by default. The same seed gives the same score.
    Returns:
        label_leakage (float): label_leakage_m - label_leakage_d, in [-100, 100]. Above 0 predictions amplify.
        label_leakage_m, label_leakage_d (float): percent of right guesses from the model's tasks and from the data's,
            in [0, 100]; lower is better. With two values of the attribute, 50 is chance.
        label_leakage_human (float): the same of one human caption of each image against its others, if references has
            two or more.
        label_leakage_excess (float): the captioner's against these others, minus the person's: 0 is one more person.
        signature (str): everything that changes the score; report it with the score.
        Each score also has a deviation, ..._std, and a 95% confidence interval, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> label_leakage = evaluate.load("label_leakage")
        >>> result = label_leakage.compute(
        ...     predictions=["a woman with an umbrella", "a man with a skateboard"] * 30,
        ...     references=[["a woman with an umbrella"], ["a man with an umbrella"]] * 15
        ...     + [["a woman with a skateboard"], ["a man with a skateboard"]] * 15,
        ...     attributes=["female", "male"] * 30,
        ...     trials=2,
        ... )
        >>> result["label_leakage"] > 0
        True
        >>> result = label_leakage.compute(
        ...     attributes=["female", "male"] * 50,
        ...     tasks=[["knife"], ["knife"], ["ball"], ["ball"]] * 25,
        ...     predicted_tasks=[["knife"], ["ball"]] * 50,
        ...     trials=2,
        ... )
        >>> result["label_leakage_m"]
        100.0
    """

    _score = staticmethod(metrics.label_leakage)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/1811.08489"
