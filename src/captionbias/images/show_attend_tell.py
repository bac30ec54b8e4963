"""The judge, which is trained from scratch: a grid of convolutions, soft attention and an LSTM that says the answer.

Xu et al. 2015 ("Show, Attend and Tell"), at a size that trains on two cores in a minute. What it says depends on the
largest values of the state since the caption began, too, and much of the grid is dropped in training: without these it
often learned nothing from 1,000 images.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Floats, Ids, Integers
from captionbias.attackers.base import Fitted, Trial, TrialScores, score_classes, stratified_split
from captionbias.attackers.neural import fitting
from captionbias.attackers.neural.fitting import own_random_numbers
from captionbias.attackers.recipes import Schedule
from captionbias.attackers.workers import threads

Pixels = npt.NDArray[np.uint8]
State = tuple[Tensor, Tensor, Tensor]  # hidden, cell, the largest hidden values so far
CHANNELS = (16, 32, 64)  # of the convolutions, each of which halves the sides
EMBEDDING, HIDDEN, ATTENTION = 64, 128, 64
DROPOUT, GRID_DROPOUT = 0.3, 0.5
TEST_BATCH = 512
IGNORED = -100
VALIDATION_SHARE = 1 / 8  # of the training images: 10% of all


def fit(
    trial: Trial,
    pixels: Pixels,
    prompt: tuple[str, ...],
    answers: tuple[tuple[str, ...], ...],
    schedule: Schedule,
    device: torch.device,
) -> Fitted:
    """Train a judge for a trial; `pixels`: the image of each row, `(rows, side, side, 3)`."""
    with threads(1), own_random_numbers(trial.seed, device):
        words, known = fitting.vocabulary(trial)
        numbers = {word: known + number for number, word in enumerate(dict.fromkeys(chain(prompt, *answers)))}
        asked, *said = (
            torch.tensor([numbers[word] for word in text], dtype=torch.long, device=device)
            for text in (prompt, *answers)
        )
        judge = Judge(trial, pixels, words, asked, said, Network(known + len(numbers)).to(device))
        judge.train(schedule)
    return Fitted(trial, judge.scores(trial.test))


@dataclass(frozen=True, eq=False)
class Judge:
    """A network with the words that it knows: those of the training captions, of the prompt and of the answers.

    `words`: the number of each of the captions' words. `prompt`, `answers`: as numbers of words.
    """

    trial: Trial
    pixels: Pixels
    words: Ids
    prompt: Tensor
    answers: list[Tensor]
    network: Network

    def train(self, schedule: Schedule) -> None:
        """Train with Adam, and keep the weights after the epoch that answers best on the validation images."""
        classes, seed = self.trial.examples.targets[self.trial.train], self.trial.seed
        train, valid = (self.trial.train[rows] for rows in stratified_split(classes, VALIDATION_SHARE, seed))
        generator = np.random.default_rng([seed, 2])
        optimizer = torch.optim.Adam(self.network.parameters(), lr=schedule.learning_rate, fused=True)
        least, best = np.inf, dict[str, Tensor]()
        for _ in range(schedule.epochs):
            self.network.train()
            order = generator.permutation(train)
            for start in range(0, len(order), schedule.batch):
                optimizer.zero_grad()
                self._loss(order[start : start + schedule.batch]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            self.network.eval()
            loss = -float(self.scores(valid).log_probability.mean())
            if loss < least:
                least = loss
                best = {name: value.cpu().clone() for name, value in self.network.state_dict().items()}
        self.network.load_state_dict(best)

    def scores(self, rows: Integers) -> TrialScores:
        """Scores of the true answers, with probabilities that add up to 1 over the answers."""
        answered = self._answer(rows)
        normalised = answered - np.logaddexp.reduce(answered, axis=1, keepdims=True)
        return score_classes(normalised, self.trial.examples.targets[rows])

    def _loss(self, rows: Integers) -> Tensor:
        """The cross-entropy of the true answer's words, summed over them (Eq. 1)."""
        classes = self.trial.examples.targets[rows]
        grid, state = self._asked(rows)
        padded = nn.utils.rnn.pad_sequence(self.answers, batch_first=True, padding_value=IGNORED)
        padded = padded[torch.as_tensor(classes, device=self.prompt.device)]
        total = functional.cross_entropy(self.network.say(grid, state), padded[:, 0])
        for place in range(1, padded.shape[1]):
            state = self.network.read(grid, state, padded[:, place - 1].clamp(min=0))
            each = functional.cross_entropy(
                self.network.say(grid, state), padded[:, place], reduction="sum", ignore_index=IGNORED
            )
            total = total + each / len(rows)
        return total

    @torch.no_grad()
    def _answer(self, rows: Integers) -> Floats:
        """The log-probability of each answer, `(rows, answers)`."""
        answered = np.empty((len(rows), len(self.answers)))
        order = np.argsort(self.trial.examples.tokens.lengths[rows], kind="stable")
        for start in range(0, len(rows), TEST_BATCH):
            places = order[start : start + TEST_BATCH]
            grid, asked = self._asked(rows[places])
            first = self.network.say(grid, asked).log_softmax(1)
            for number, answer in enumerate(self.answers):
                total, state = first[:, answer[0]], asked
                for word, following in pairwise(answer):
                    state = self.network.read(grid, state, word.expand(len(places)))
                    total = total + self.network.say(grid, state).log_softmax(1)[:, following]
                answered[places, number] = total.cpu().double().numpy()
        return answered

    def _asked(self, rows: Integers) -> tuple[Grid, State]:
        """The grid of the images, and the LSTM's state after the captions and the prompt."""
        device, padded = self.prompt.device, fitting.pad(self.trial, self.words, rows)
        tokens, lengths = (torch.as_tensor(table, device=device) for table in padded)
        grid = self.network.look(torch.as_tensor(self.pixels[rows], device=device))
        state = self.network.start(grid)
        for place, column in enumerate(tokens.T):
            before, after, ended = state, self.network.read(grid, state, column), (lengths <= place)[:, None]
            hidden, cell, largest = (torch.where(ended, old, new) for old, new in zip(before, after, strict=True))
            state = hidden, cell, largest
        for word in self.prompt:
            state = self.network.read(grid, state, word.expand(len(rows)))
        return grid, state


@dataclass(frozen=True, eq=False)
class Grid:
    """Images as cells `(images, cells, channels)`, and as the keys that attention compares."""

    cells: Tensor
    keys: Tensor


class Network(nn.Module):
    """Convolutions, an LSTM that attends to their grid at each word, and an output over all words."""

    def __init__(self, words: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip((3, *CHANNELS), CHANNELS, strict=False):
            convolution = nn.Conv2d(before, after, 3, stride=2, padding=1)
            nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")  # as the paper, by He et al. 2015
            layers += [convolution, nn.GroupNorm(8, after), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        self.embedding = nn.Embedding(words, EMBEDDING)
        self.first_state = nn.Linear(CHANNELS[-1], 2 * HIDDEN)
        self.key, self.query = nn.Linear(CHANNELS[-1], ATTENTION), nn.Linear(HIDDEN, ATTENTION, bias=False)
        self.score, self.gate = nn.Linear(ATTENTION, 1), nn.Linear(HIDDEN, CHANNELS[-1])
        self.cell = nn.LSTMCell(EMBEDDING + CHANNELS[-1], HIDDEN)
        with torch.no_grad():  # or the caption's words would be forgotten by the end of the prompt, for thirty epochs
            nn.init.xavier_uniform_(self.cell.weight_ih)
            for gate in self.cell.weight_hh.chunk(4):
                nn.init.orthogonal_(gate)
            self.cell.bias_ih[HIDDEN : 2 * HIDDEN] += 1
        self.output = nn.Linear(2 * HIDDEN + CHANNELS[-1], words)
        self.dropout, self.grid_dropout = nn.Dropout(DROPOUT), nn.Dropout(GRID_DROPOUT)

    def look(self, pixels: Tensor) -> Grid:
        """The grid to attend to in images `(images, side, side, 3)` of bytes."""
        features = self.convolutions(pixels.permute(0, 3, 1, 2).float() / 127.5 - 1)
        cells = self.grid_dropout(features.flatten(2).transpose(1, 2))
        return Grid(cells, self.key(cells))

    def start(self, grid: Grid) -> State:
        hidden, cell = self.first_state(grid.cells.mean(1)).tanh().chunk(2, 1)
        return hidden, cell, hidden

    def read(self, grid: Grid, state: State, words: Tensor) -> State:
        """The state after one word more."""
        context = self.attended(grid, state) * self.gate(state[0]).sigmoid()
        hidden, cell = self.cell(torch.cat((self.dropout(self.embedding(words)), context), 1), state[:2])
        return hidden, cell, torch.maximum(state[2], hidden)

    def attended(self, grid: Grid, state: State) -> Tensor:
        scores = self.score((grid.keys + self.query(state[0])[:, None]).tanh())
        context: Tensor = scores.softmax(1).transpose(1, 2) @ grid.cells
        return context[:, 0]

    def say(self, grid: Grid, state: State) -> Tensor:
        """Logits of the next word."""
        logits: Tensor = self.output(self.dropout(torch.cat((state[0], state[2], self.attended(grid, state)), 1)))
        return logits
