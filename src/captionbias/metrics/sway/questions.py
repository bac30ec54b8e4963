"""The questions that sway asks, in their order, as data: terminal, Markdown, report, picture, gate, callback and cards
loop over them, so that a question is added here and in no view."""

from __future__ import annotations

from typing import NamedTuple

NAMES, WORDS, IN_A_LINE = "names", "words", "in a line"  # shown with whom is named wrong, with the words, by itself
LEANS, ALL_TASKS = "leans", "all tasks"  # which tasks go with whom; all tasks that are there
OTHERS = "others"  # human captions, or captions of the same scene
MISSING = "missing"  # images without a caption
TOLERANCE = 5.0  # captions of 100, of each question; of how much is said words of 100


class Part(NamedTuple):
    """A score that answers a question, by its key.

    `asks`: what it asks, in a line of its own. `does`: what a captioner of which it says more does, verb first, with
    the words of `captionbias.report.wording.words_of` filled in, as in a title; empty where the details say who is
    worse off. `implied`: whether the first part says as much.
    """

    key: str
    asks: str
    does: str = ""
    implied: bool = False

    @property
    def name(self) -> str:
        """What it is called where sway is understood."""
        return self.key.removeprefix("sway_").removesuffix("_gap")


class Question(NamedTuple):
    """A question: the first of its parts answers it, the others where they say more; where it is shown, and what it
    takes besides captions and labels."""

    title: str
    parts: tuple[Part, ...]
    view: str = IN_A_LINE
    takes: str = ""

    @property
    def key(self) -> str:
        return self.parts[0].key


QUESTIONS = (
    Question(
        "Is one {value} worse off?",
        (
            Part("sway_wrong_gap", "is one value named wrong more often?"),
            Part("sway_unnamed_gap", "is one value left unnamed more often?"),
        ),
        NAMES,
    ),
    Question(
        "Worse beside {other} {value}'s {tasks}?",
        (
            Part(
                "sway_t_to_a",
                "do wrong names follow the surroundings?",
                "{misname} beside {other} {value}'s {tasks}",
            ),
            Part(
                "sway_t_to_a_lost",
                "do wrong names and silence follow the surroundings?",
                "fail more often to name the right {value} beside {other} {value}'s {tasks}",
                implied=True,
            ),
        ),
        NAMES,
        LEANS,
    ),
    Question(
        "Do other words follow the {value}?",
        (
            Part(
                "sway_words",
                "do other words follow the attribute?",
                "use other words that follow the {value}",
            ),
        ),
        WORDS,
    ),
    Question(
        "Is more said of one {value}?",
        (Part("sway_length_gap", "is more said of one value?", "say more of one {value} than of another"),),
        takes=OTHERS,
    ),
    Question(
        "Do the {tasks} that are named follow the {value}?",
        (
            Part(
                "sway_a_to_t",
                "do the objects named follow the attribute?",
                "name {tasks} that follow the {value}",
            ),
        ),
        takes=ALL_TASKS,
    ),
    Question(
        "Are captions of one {value} missing?",
        (
            Part(
                "sway_missing_gap",
                "are captions of one value missing more often?",
                "caption one {value} less often",
            ),
        ),
        takes=MISSING,
    ),
)
PARTS = {part.key: part for question in QUESTIONS for part in question.parts}
