"""ImageCaptioner2 as an `evaluate` module; the computation is `captionbias.metrics.imagecaptioner2`."""

from captionbias import metrics
from captionbias.hub import modules

_CITATION = """
@article{bakr2023imagecaptioner2,
  title   = {ImageCaptioner2: Image Captioner for Image Captioning Bias Amplification Assessment},
  author  = {Bakr, Eslam Mohamed and Sun, Pengzhan and Li, Li Erran and Elhoseiny, Mohamed},
  journal = {arXiv preprint arXiv:2304.04874},
  year    = {2023}
}
"""


class Imagecaptioner2(modules.CaptionMetric):
    """ImageCaptioner2 asks how much captions, together with the images they describe, give away about a protected
    attribute of the person in the image, such as gender, when the person is masked in the image and the words for the
    attribute in the caption. A judge, itself an image captioner, goes on after the caption and a prompt, "Therefore,
    the gender is"; its probability of the true answer, on images that it has not seen, is the score. That of the model
    captions minus that of the human captions is the amplification: above 0, the captioner amplifies its data's bias.

    Args:
        images: one for each caption: a folder, a dataset's column, or a list of paths, PIL images or pixels.
        masks (optional): what of each image shows the person: a file of COCO's annotations or arrays of flags. Leave
            out if the images are masked already.
        judge (str): "sat", a small one that is trained from scratch, or an image-to-text model, a name on the Hub or a
            folder, which is fine-tuned.
        as_is (bool): take that model as it is and train nothing.
        preset (str): "imagecaptioner2-2023", the paper's protocol, or "fast", with half the epochs and fewer trials.
        trials (int, optional): judges trained a side, each on its own split; the preset's number when left out.
        seed (int): the seed of the first trial, 0 by default. The same seed gives the same score.
    Returns:
        imagecaptioner2 (float): imagecaptioner2_m - imagecaptioner2_d, times 100; in [-100, 100]. Above 0 the captioner
            amplifies.
        imagecaptioner2_m, imagecaptioner2_d (float): the judge's mean probability of the true answer, from the model
            captions and from the human captions, times 100; in [0, 100], lower is better. With two labels, 50 is
            chance.
        signature (str): everything that changes the score; report it with the score.
        Each score also has a deviation, ..._std, and a 95% confidence interval, ..._ci_low and ..._ci_high.
    Examples:
        >>> import evaluate
        >>> from captionbias.synthetic import draw, plant
        >>> imagecaptioner2 = evaluate.load("imagecaptioner2")
        >>> planted = plant(images=60)
        >>> images, persons = draw(planted)
        >>> result = imagecaptioner2.compute(**vars(planted), images=images, masks=persons, trials=1, epochs=1)
        >>> 0 < result["imagecaptioner2_m"] < 100
        True
    """

    _score = staticmethod(metrics.imagecaptioner2)
    _citation = _CITATION
    _url = "https://arxiv.org/abs/2304.04874"
