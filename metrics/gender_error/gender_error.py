"""Gender error as an `evaluate` module; the computation is `captionbias.metrics.gender_error`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@inproceedings{hendricks2018women,
  title     = {Women Also Snowboard: Overcoming Bias in Captioning Models},
  author    = {Hendricks, Lisa Anne and Burns, Kaylee and Saenko, Kate and Darrell, Trevor and Rohrbach, Anna},
  booktitle = {European Conference on Computer Vision (ECCV)},
  year      = {2018}
}
"""


class GenderError(modules.CaptionMetric):
    """Gender ratio and error ask how many captions are about a man for each that is about a woman, and how many say the
    wrong one. A caption is male if it has male words and no female ones, female the other way round; the others count
    for neither but stay in the whole. Any attribute with two values can take gender's place.

    Args:
        References only compare with one more person, tasks are not used; the labels are the two of attribute_lexicon,
            "female" and "male" by default.
        bootstrap (int): replicates for the intervals, 1000 by default; 0 for none.
    Returns:
        ratio (float): male captions for each female one, in [0, inf); compare it with that of the images. Absent when
            there are no female captions.
        error (float): percent of all captions that have the wrong gender, in [0, 100]; lower is better.
        unnamed (float): percent of all captions that name neither gender, or both.
        error_human, unnamed_human (float): the same of one human caption of each image against its others, if
            references has two or more.
        error_excess, unnamed_excess (float): the captioner's against these others, minus the person's: 0 is one more
            person.
        signature (str): everything that changes the score; report it with the score.
        Each score also has a 95% confidence interval over images, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> gender_error = evaluate.load("gender_error")
        >>> result = gender_error.compute(
        ...     predictions=["a woman", "a man", "a man and his dog", "a dog"],
        ...     attributes=["female", "male", "female", "female"],
        ... )
        >>> result["ratio"], result["error"]
        (2.0, 25.0)
    """

    _score = staticmethod(metrics.gender_error)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/1803.09797"
