"""The task of Inspect: inspect eval captionbias/caption_bias -T images=val2014 -T references=people.parquet"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, scorer
from inspect_ai.scorer import metric as metric_of_inspect
from inspect_ai.solver import TaskState

from captionbias.harnesses.rows import PROMPT, WORST, flat_scores, images_of


@metric_of_inspect(scores="unreduced")  # several epochs are several captions of an image
def caption_sway() -> Metric:
    def scores_of(scores: list[SampleScore]) -> dict[str, float]:
        return flat_scores([{**(each.sample_metadata or {}), "caption": each.score.answer} for each in scores])

    return scores_of


@scorer(metrics=[caption_sway()])
def caption() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=state.output.completion, answer=state.output.completion)

    return score


@task
def caption_bias(images: str, attribute: str = "gender", prompt: str = PROMPT, **people: str) -> Task:
    """Captions of a folder of images, scored by sway; arguments of `captionbias.harnesses.rows.images_of`."""
    samples = []
    for row in images_of(images, **people, attribute=attribute):
        asked = ChatMessageUser(content=[ContentText(text=prompt), ContentImage(image=row["file"])])
        samples.append(Sample([asked], id=row["id"], metadata=row))
    return Task(samples, scorer=caption(), headline_metric=HeadlineMetric(metric=WORST))
