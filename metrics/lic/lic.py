"""LIC as an `evaluate` module; the computation is `captionbias.metrics.lic`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{hirota2022quantifying,
  title     = {Quantifying Societal Bias Amplification in Image Captioning},
  author    = {Hirota, Yusuke and Nakashima, Yuta and Garcia, Noa},
  booktitle = {IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  year      = {2022}
}
"""


class LIC(modules.CaptionMetric):
    """LIC (leakage for image captioning) asks how much captions give away about a protected attribute of the person in
    the image, such as gender, when the words that name the attribute are masked. An attacker learns to guess the
    attribute from the masked caption; its confidence where it is right, on images it has not seen, is the leakage. LIC
    is the leakage of the model captions (LIC_M) minus that of the human captions (LIC_D): above 0, the captioner
    amplifies its data's bias.

    Args:
        Without predictions only the data's leakage, lic_d, is measured, without references only the captioner's, lic_m;
            tasks are not used.
        preset (str): "lic-2022", the paper's protocol, or "fast", whose convex attacker trains in a moment without a
            GPU.
        trials (int, optional): attackers trained a side, each on its own split; the preset's number when left out.
        seed (int): the seed of the first trial, 0 by default. The same seed gives the same score.
    Returns:
        lic (float): lic_m - lic_d, times 100 as in the paper; in [-100, 100]. Above 0 the captioner amplifies.
        lic_m, lic_d (float): the leakage of the model captions and of the human captions, times 100; in [0, 100], lower
            is better. With two balanced labels, 25 is chance.
        signature (str): everything that changes the score; report it with the score.
        Each score also has a deviation, ..._std, and a 95% confidence interval, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> lic = evaluate.load("lic")
        >>> result = lic.compute(
        ...     predictions=["a woman in a kitchen", "a man with a surfboard"] * 30,
        ...     references=[["a woman is cooking"], ["a man is cooking"]] * 30,
        ...     attributes=["female", "male"] * 30,
        ...     preset="fast",
        ...     trials=2,
        ... )
        >>> result["lic"] > 0
        True
    """

    _score = staticmethod(metrics.lic)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/2203.15395"
