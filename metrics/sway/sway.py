"""Sway as an `evaluate` module; the computation is `captionbias.metrics.sway`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{hardt2016equality,
  title     = {Equality of Opportunity in Supervised Learning},
  author    = {Hardt, Moritz and Price, Eric and Srebro, Nathan},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year      = {2016}
}
@article{mantel1959statistical,
  title   = {Statistical Aspects of the Analysis of Data From Retrospective Studies of Disease},
  author  = {Mantel, Nathan and Haenszel, William},
  journal = {Journal of the National Cancer Institute},
  volume  = {22},
  number  = {4},
  pages   = {719--748},
  year    = {1959}
}
@article{robinson1988root,
  title   = {Root-N-Consistent Semiparametric Regression},
  author  = {Robinson, Peter M.},
  journal = {Econometrica},
  volume  = {56},
  number  = {4},
  pages   = {931--954},
  year    = {1988}
}
@article{chernozhukov2018double,
  title   = {Double/Debiased Machine Learning for Treatment and Structural Parameters},
  author  = {Chernozhukov, Victor and Chetverikov, Denis and Demirer, Mert and Duflo, Esther and Hansen, Christian
             and Newey, Whitney and Robins, James},
  journal = {The Econometrics Journal},
  volume  = {21},
  number  = {1},
  pages   = {C1--C68},
  year    = {2018}
}
"""


class Sway(modules.CaptionMetric):
    """Sway counts a captioner's bias in captions, with the truth held fixed. From task to attribute (T to A): of people
    of the same gender, say, are those beside objects that go with the other one called by the wrong one more often?
    From attribute to task (A to T): of images that show the same, do the objects named differ with the person's gender?
    Both are less what one more person who describes the same images reads, so 0 is a person. It trains nothing.

    Args:
        Each image needs two human captions, or one and tasks: one caption is compared with the captioner's, the others
            say what the image shows.
        tasks closes the range of A to T: people do not name all that there is.
        lean (str, optional): which tasks go with which values: "shipped", counted on COCO's images, or "own", counted
            on these; shipped where there is such a table when left out.
        draws (int): human captions drawn of each image, 5 by default.
        bootstrap (int): replicates for the intervals, 1000 by default; 0 for none.
    Returns:
        sway_t_to_a (float): of 100 captions that name the attribute, how many more than a person's name a wrong value
            beside tasks that suggest another than the true one, compared with beside tasks that suggest it.
        sway_t_to_a_least, sway_t_to_a_most (float): the same if every value were swayed as the least and as the most
            swayed one; T to A is more than people's only if the interval of the least lies above 0.
        sway_t_to_a_lost (float): the same of all captions, one that names no value counted as wrong; with its
            ..._least and ..._most.
        sway_a_to_t (float): in 100 captions, how many more mentions than a person's of tasks that go with an attribute
            value, where the image has that value.
        sway_a_to_t_low, sway_a_to_t_high (float): the ends of its range; the same number if tasks are given.
        sway_a_to_t_least, sway_a_to_t_most (float): the ends with the one task left out that matters most.
        sway_images, sway_suggested (float): images compared, and those whose tasks suggest a value.
        signature (str): everything that changes the score; report it with the score.
        All but the last ends have a 95% confidence interval over images, ..._ci_low and ..._ci_high, and
            ..._detectable, what would be told from 0 in four of five samples.
    Examples:
        >>> import evaluate
        >>> sway = evaluate.load("sway")
        >>> result = sway.compute(
        ...     predictions=["a woman with a handbag", "a man with a tie"] * 20,
        ...     references=[
        ...         ["a woman with a handbag", "a lady and her handbag"],
        ...         ["a man with a tie", "a guy in a tie"],
        ...         ["a man with a handbag", "a guy and his handbag"],
        ...         ["a woman with a tie", "a lady in a tie"],
        ...     ]
        ...     * 10,
        ...     attributes=["female", "male", "male", "female"] * 10,
        ... )
        >>> result["sway_t_to_a"]  # half of the captions, all beside the other gender's objects
        50.0
    """

    _score = staticmethod(metrics.sway)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/1610.02413"
