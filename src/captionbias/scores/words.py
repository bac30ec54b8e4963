"""Words that follow an attribute more in a captioner's captions than in people's, where pictures show the same. Pure
functions on sparse tables of images and words; the third question of the portrait.

A word's *tie* with a value is how many more of 100 captions use it where the picture is of that value: the slope of a
partially linear model (Robinson 1988), in which the other human captions of an image say what it shows. With `r` what
cross-fitted ridge regressions on these leave of the value and of the word, `tie = sum r_a r_w / sum r_a^2`. A score is
the captioner's tie beyond that of one drawn person. Of images in scenes, which show the same but for the person, `r` is
what the mean of the scene leaves, and a score is beyond 0.

The sum over any group of images is linear in the captions: `sum_g r_a r_w = influence_g . w`. One Cholesky factor a
fold, of references and values alone, gives an influence that serves every word of every captioner, by a product with a
table that is nearly empty.

Of two values, ties with the second are those with the first, negated: only the first is a *contrast*. Of more, each is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats, Floats32, Integers, sparse
from captionbias.hashes import Hashes, seeded
from captionbias.scores.sway import within_scenes
from captionbias.statistics.significance import benjamini_hochberg

FOLDS, PENALTY = 5, 30.0  # of the ridge regressions
CONTEXT_USES, CONTEXTS = 30, 500  # a word's uses in human captions to be contents; how many words at most
LEAST_USES = 20  # of a word, by the captioner or by a person, to be tested
FALSE_SHARE, LEAST_BEYOND = 0.05, 1.0  # of the words listed; of 100 captions
Z, SCALED_Z, ALPHA = 1.959963984540054, 2.5, 0.025  # of intervals; of what is also more when scaled; of one side
# Of the columns that one half of the images chooses: standard errors, what these are more of common columns, uses.
CHOSEN_Z, COMMON, LEAST_CHOSEN = 1.5, 4.0, 3
SELECTION = 1.25  # what choosing adds to the standard error, which takes the chosen columns as given
RARITIES = ((0, 0), (1, 2), (3, 5), (6, 10), (11, 20), (21, 40))  # uses by human captions that are not drawn
LEAST_SCORED = 500  # pictures, or scenes
# Four quarters of the pictures can be halved in three ways. A quarter's share of a fold has so many groups, whose sums
# give standard errors: 200 of all images.
QUARTERS, GROUPS = 4, 10
UNITS = FOLDS * QUARTERS * GROUPS
HALVES = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
HALVINGS = len(HALVES)
INJECTED, RUNS, POWER = (1, 2, 3, 5, 10, 15, 20, 30, 50), 20, 0.8  # of 100 captions; a word is seen in so many runs

WordTable = Any  # a sparse table, images x words


class Fit(NamedTuple):
    """The regressions on some images, all that a tie needs of references and values."""

    images: Integers
    influences: tuple[
        Any, ...
    ]  # of each draw, of a half one, (images, contrasts * groups), float32; sparse within scenes
    spread: Floats  # of each contrast, the sum of what is left of it squared, the mean over draws
    groups: Integers  # the number of each group, of `UNITS`
    size: Floats  # what each group weighs, of all that its images weigh


@dataclass(frozen=True, eq=False)
class References:
    """What is fitted once for any number of captioners of the same images."""

    value: Integers
    values: int
    weights: Floats
    pictures: Integers  # the number of each image's
    drawn: tuple[WordTable, ...]  # of each draw, the words that the drawn person uses
    whole: Fit
    halves: tuple[tuple[Fit, Fit], ...]  # none where there are too few pictures for a score
    scene: Integers | None = None  # the number of each image's, if no people describe them

    @property
    def contrasts(self) -> int:
        return 1 if self.values == 2 else self.values


class Ties(NamedTuple):
    """In captions of 100, `(contrasts, words)`: of the captioner, of the person, their difference, and the same of the
    person's times how often the captioner uses the word for each time that people do; with standard errors."""

    captioner: Floats
    person: Floats
    beyond: Floats
    error: Floats
    scaled: Floats
    scaled_error: Floats

    @property
    def more(self) -> Flags:
        """Where the captioner's tie is the larger one; elsewhere it lacks a tie that people have."""
        return np.abs(self.captioner) > np.abs(self.person)

    @property
    def also_scaled(self) -> Flags:
        """Where it is more than saying the word more often explains."""
        return (np.abs(self.scaled) > SCALED_Z * self.scaled_error) & (self.scaled * self.beyond > 0)


class Amount(NamedTuple):
    """An amount and how far each group moves it, `(UNITS,)`: with groups drawn anew `m` times each it is `value + pull
    @ (m - 1)`."""

    value: float
    pull: Floats

    @property
    def error(self) -> float:
        """Its standard error."""
        return float(np.sqrt((self.pull**2).sum() * UNITS / (UNITS - 1)))


# What people say


def context_words(human: WordTable, may: Flags, weights: Floats) -> Integers:
    """The words that say what a picture shows: the commonest in human captions, `(captions, words)`, of those that
    `may`, which are not the attribute's. `weights`: of each caption's image."""
    uses = _uses(human, weights)
    kept = np.flatnonzero(may & (uses >= CONTEXT_USES))
    return np.sort(kept[np.argsort(-uses[kept], kind="stable")[:CONTEXTS]])


def distinct_draws(image: Integers, keys: Hashes, draws: int, seed: int = 0) -> list[Integers]:
    """Of each draw the row of the human caption drawn of each image; `image`: of each caption, in order; `keys`: what
    they are drawn by. All captions of an image are drawn once before any is again: others tell more than the same."""
    captions = np.bincount(image)
    first = np.cumsum(captions) - captions
    order = np.lexsort((seeded(keys, seed), image))
    return [order[(first + number % np.maximum(captions, 1))[captions > 0]] for number in range(draws)]


def people_draws(
    human: WordTable, image: Integers, drawn: Sequence[Integers], columns: Integers, tasks: WordTable | None = None
) -> tuple[tuple[WordTable, WordTable], ...]:
    """Of each draw the contents of each image, which are the shares of its captions that were not drawn which use each
    of the words `columns`, and the `tasks` it shows, where all are given; and the words that the drawn caption uses.

    `human`: captions x words, of the images `image`. `drawn`: of each draw the row of the caption drawn of each.
    """
    from scipy.sparse import csr_array, hstack

    images = int(image.max()) + 1
    human = human.astype(np.float64).tocsr()
    said, captions = human[:, columns], np.bincount(image, minlength=images)
    together = sparse(np.ones(len(image)), (image, np.arange(len(image))), (images, len(image)))
    every = together @ said
    draws = []
    for rows in drawn:
        of_image = sparse(np.ones(len(rows)), (image[rows], rows), together.shape)
        left = captions - np.bincount(image[rows], minlength=images)
        contents = (every - of_image @ said).multiply(1 / np.maximum(left, 1)[:, None]).tocsr()
        contents.eliminate_zeros()
        contents.sort_indices()
        person = csr_array(of_image @ human)
        np.minimum(person.data, 1.0, out=person.data)
        known = [contents, *([] if tasks is None else [tasks])]
        nothing = [csr_array((images, 1))] * (not columns.size and tasks is None)  # for a regression on nothing
        draws.append((hstack(known + nothing, format="csr"), person))
    return tuple(draws)


def fit_references(
    value: Integers,
    draws: Sequence[tuple[WordTable, WordTable]],
    weights: Floats,
    pictures: Integers,
    seed: int,
    values: int,
    scene: Integers | None = None,
) -> References:
    """The regressions of all images, on every draw, and for a score those of halves, on one draw a halving.

    `value`: the number of each image's, `(images,)`, of so many `values`. `draws`: as `people_draws` gives them.
    `weights`: how many images each counts as. `pictures`: of copies, the number of each image's: they are in one fold,
    one half and one group. `scene`: the number of each image's, within which it is compared; draws then have no
    contents.
    """
    number = int(pictures.max()) + 1
    place = np.random.default_rng([seed, 9]).permutation(number)[pictures]
    quarter, fold = place % QUARTERS, place // QUARTERS % FOLDS
    cell = fold * QUARTERS + quarter
    group = cell * GROUPS + place // (QUARTERS * FOLDS) % GROUPS
    ordered = np.lexsort((place, group))  # by pictures, so that sums are the same in whatever order images are given
    indicators = (value[:, None] == np.arange(1 if values == 2 else values)).astype(np.float64)
    parts = [tuple(range(QUARTERS)), *(half for both in HALVES for half in both if number >= LEAST_SCORED)]
    images = [ordered[np.isin(quarter[ordered], part)] for part in parts]
    numbered = [np.unique(group[rows], return_inverse=True) for rows in images]
    groups = [own for _, own in numbered]
    influences: list[list[Any]] = [[] for _ in parts]
    spreads = np.zeros((len(parts), indicators.shape[1]))
    for draw, (contents, _) in enumerate(draws):
        own_parts = [0, *(at for at in range(1, len(parts)) if (at - 1) // 2 % len(draws) == draw)]
        if scene is None:
            squares = _squares(contents, weights, cell).reshape(FOLDS, QUARTERS, *contents.shape[1:] * 2)
        for at in own_parts:
            part, rows = parts[at], images[at]
            if scene is not None:
                influence, spread = _within(indicators[rows], scene[rows], weights[rows], groups[at])
                influences[at].append(influence)
                spreads[at] += spread / (1 if at else len(draws))
                continue
            of_folds = reduce(np.add, (squares[:, number] for number in part))
            influence, spread = _influence(
                contents[rows], indicators[rows], weights[rows], fold[rows], groups[at], of_folds
            )
            influences[at].append(influence)
            spreads[at] += spread / (1 if at else len(draws))
    sizes = [np.bincount(own, weights[rows]) / weights[rows].sum() for own, rows in zip(groups, images, strict=True)]
    units = [of_part for of_part, _ in numbered]
    whole, *halves = (Fit(*each) for each in zip(images, map(tuple, influences), spreads, units, sizes, strict=True))
    people = tuple(person for _, person in draws)
    by_halves = tuple(zip(halves[::2], halves[1::2], strict=True))
    return References(value, values, weights, pictures, people, whole, by_halves, scene)


def _squares(contents: WordTable, weights: Floats, cell: Integers) -> Floats:
    """The products of contents, each with each, summed over the images of each cell: `(cells, contents, contents)`."""
    squares = np.empty((FOLDS * QUARTERS, *contents.shape[1:] * 2))
    for number, square in enumerate(squares):
        rows = np.flatnonzero(cell == number)
        own = contents[rows]
        (own.T @ own.multiply(weights[rows, None]).tocsr()).toarray(out=square)
    return squares


def _influence(
    contents: WordTable, indicators: Floats, weights: Floats, fold: Integers, group: Integers, squares: Floats
) -> tuple[Floats32, Floats]:
    """How much each image's words count in each group's sum, `(images, contrasts * groups)`, and what is left of each
    contrast, squared and summed. Images are in the order of folds and groups. `squares`: each fold's, see `_squares`.

    By regression on the images `j` of other folds, what is left of a word `w` in image `i` is `w_i - mean w - (x_i -
    mean x) B`, with `B = A^-1 sum_j (x_j - mean x) w_j`: a sum over the words of `i` and of every `j`.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.linalg.blas import dsyr

    def sums(rows: slice) -> tuple[Floats, ...]:
        weighted = weights[rows, None] * indicators[rows]
        return weights[rows].sum(), weights[rows] @ contents[rows], weighted.sum(axis=0), contents[rows].T @ weighted

    influence = np.zeros((len(fold), indicators.shape[1], group.max() + 1), np.float32)
    spread, single, total = np.zeros(indicators.shape[1]), contents.astype(np.float32), squares.sum(axis=0)
    everywhere = sums(slice(None))
    for number in np.unique(fold):
        tests = slice(*np.searchsorted(fold, [number, number + 1]))
        mass, mean, share, product = (every - own for every, own in zip(everywhere, sums(tests), strict=True))
        mean, share = mean / mass, share / mass
        normal = dsyr(-mass, mean, lower=1, a=(total - squares[number]).T, overwrite_a=1)
        normal[np.diag_indices(len(mean))] += PENALTY
        factor = cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)
        slope = cho_solve(factor, product - mass * np.outer(mean, share), check_finite=False)
        left = indicators[tests] - share - (contents[tests] @ slope - mean @ slope)
        spread += weights[tests] @ left**2
        own = slice(group[tests].min(), group[tests].max() + 1)
        places = group[tests] - own.start, np.arange(len(left))
        for contrast, weighted in enumerate((weights[tests, None] * left).T):
            by_group = sparse(weighted, places, (own.stop - own.start, len(left)))
            each = by_group.sum(axis=1)
            pull = (by_group @ contents[tests]).toarray() - np.outer(each, mean)
            pull = cho_solve(factor, pull.T, check_finite=False)
            block = influence[:, contrast, own]
            block[:] = single @ -pull.astype(np.float32) + (mean @ pull - each / mass).astype(np.float32)
            block *= weights[:, None].astype(np.float32)
            block[tests] = 0
            block[tests][places[::-1]] = weighted
    return influence.reshape(len(fold), -1), spread


def _within(indicators: Floats, scene: Integers, weights: Floats, group: Integers) -> tuple[Any, Floats]:
    """As `_influence`, where the mean of the scene takes the place of the regression. Scenes are whole in a group, so
    that its sum is free of their means; a single one, of all images, is not."""
    scenes, number = np.unique(scene, return_inverse=True)
    left = weights[:, None] * within_scenes(indicators, number, weights)
    groups, (images, contrasts) = int(group.max()) + 1, left.shape
    places = np.repeat(np.arange(images), contrasts), (group[:, None] + groups * np.arange(contrasts)).ravel()
    influence = sparse(left.ravel().astype(np.float32), places, (images, contrasts * groups))
    if len(scenes) == 1:
        influence = influence.toarray() - np.outer(weights / weights.sum(), influence.sum(axis=0)).astype(np.float32)
    return influence, (left**2 / weights[:, None]).sum(axis=0)


# A captioner beside them


def level(captioner: WordTable, references: References, content: Flags) -> Floats:
    """How many content words the captioner's captions of each value have for each of people's, without people for each
    caption, over the same of all, `(values,)`. A captioner that says less of one value is so compared with people who
    say less; it is a bias of its own. `content`: which columns are content words."""
    people = np.mean([person @ content.astype(np.float64) for person in references.drawn], axis=0)
    lengths = captioner @ content.astype(np.float64), people if people.any() else np.ones_like(people)
    said, human = (
        np.bincount(references.value, references.weights * np.ravel(length), references.values) for length in lengths
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((said / human) / (said.sum() / human.sum()))


def frequent_words(captioner: WordTable, references: References, may: Flags) -> Integers:
    """The words that the captioner or people use often enough, of those that `may` be tested."""
    uses = _uses(captioner, references.weights), _people_uses(references)
    return np.flatnonzero(may & (np.maximum(*uses) >= LEAST_USES))


class Listed(NamedTuple):
    """Which words follow which values beyond people's, surely and by one caption of 100 or more, `(contrasts, words)`,
    and the share of false words in the shortest such list that has each (Benjamini and Hochberg 1995)."""

    listed: Flags
    q: Floats


def list_words(ties: Ties) -> Listed:
    """The list, of all words and values that were tested."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.nan_to_num(ties.beyond / ties.error)  # the same in all images is surest, unless it is nothing
    q = benjamini_hochberg(2 * ndtr(-np.abs(z)))
    return Listed((q <= FALSE_SHARE) & (np.abs(ties.beyond) >= LEAST_BEYOND), q)


def find_ties(captioner: WordTable, references: References, words: Integers, level: Floats) -> Ties:
    """The ties of these words, by all images. `captioner`: images x words, flags or, of several captions of an image,
    shares. `level`: see `level`."""
    by_level = np.nan_to_num(level, nan=1.0)[references.value][:, None]
    people = [person[:, words].multiply(by_level).tocsr() for person in references.drawn]
    sides = _sides(references, references.whole, captioner.tocsr()[:, words], people)
    uses = _uses(captioner, references.weights)[words], _people_uses(references)[words]
    said, people = (side.sum(axis=1) for side in sides)
    forms = sides[0] - sides[1], sides[0] - uses[0] / np.maximum(uses[1], 0.5) * sides[1]
    (beyond, error), (scaled, scaled_error) = ((form.sum(axis=1), _errors(references.whole, form)) for form in forms)
    if references.scene is not None:
        error = np.maximum(error, _error_of_no_tie(captioner.tocsr()[:, words], references, references.scene))
    return Ties(said, people, beyond, error, scaled, scaled_error)


def _error_of_no_tie(said: WordTable, references: References, scene: Integers) -> Floats:
    """The standard error of ties that are none, `(contrasts, words)`: that of groups is by the uses of the value's own
    images, which of a rare word may be none by chance. Beside people theirs are as rare."""
    weights = references.weights / references.weights.mean()
    together = sparse(weights, (scene, np.arange(len(scene))), (int(scene.max()) + 1, len(scene)))
    of_scenes = (together @ said).power(2).multiply(1 / together.sum(axis=1)[:, None])
    left = np.ravel(weights @ said.power(2)) - np.ravel(of_scenes.sum(axis=0))
    spread = references.whole.spread[:, None] / references.weights.mean()
    return np.asarray(100 * np.sqrt(np.maximum(left, 0.0) / ((len(scene) - together.shape[0]) * spread)))


@dataclass(frozen=True, eq=False)
class Candidates:
    """What the captioner and the drawn person of one draw use of the columns that may be chosen, words and pools of
    words, `(images, columns)`; the person's in the captioner's measure."""

    captioner: WordTable
    person: WordTable


class Followed(NamedTuple):
    """Of one value: in how many more of 100 of its captions than people's the captioner uses any of the columns that
    the other half of the images chose; and in how many of the choices each column was."""

    amount: Amount
    columns: Counter[int]


def rarities(left: Floats, may: Flags) -> list[Flags]:
    """The words of each pool of as rare ones, of those that `may` be pooled. `left`: how often human captions that are
    not drawn use each word: neither side's own caption is among them."""
    return [may & (left >= least) & (left <= most) for least, most in RARITIES]


def any_of(table: WordTable, columns: Flags) -> WordTable:
    """Which images use any of the columns, `(images, 1)`; of several captions of an image the share, at most 1."""
    from scipy.sparse import csr_array

    return csr_array(np.minimum(table @ columns.astype(np.float64), 1.0)[:, None])


def largest_of(table: WordTable, columns: Flags) -> WordTable:
    """The largest of the columns, `(images, 1)`: whether any is used, where uses are measured."""
    from scipy.sparse import csr_array

    if not columns.any():
        return csr_array((table.shape[0], 1))
    return csr_array(table[:, np.flatnonzero(columns)].max(axis=1).toarray().reshape(-1, 1))


def followed(references: References, halvings: Sequence[Candidates]) -> list[Followed]:
    """Of each value; `halvings`: the candidates of each halving. Nothing with too few pictures."""
    if not references.halves:
        return []
    amounts: list[list[Amount]] = [[] for _ in range(references.values)]
    columns: list[Counter[int]] = [Counter() for _ in range(references.values)]
    for both, candidates in zip(references.halves, halvings, strict=True):
        for chooser, counter in (both, both[::-1]):
            for value, flags in enumerate(_choose(references, chooser, candidates)):
                columns[value].update(np.flatnonzero(flags).tolist())
                own, other = any_of(candidates.captioner, flags), largest_of(candidates.person, flags)
                place, sign = _contrast(references, value)
                sums = _sums(references, counter, [own]) - _sums(references, counter, [other])
                amounts[value].append(_amount(counter, sign * sums[place, :, 0]))
    return [Followed(_mean(of_value), of) for of_value, of in zip(amounts, columns, strict=True)]


def _contrast(references: References, value: int) -> tuple[int, int]:
    """The number of the contrast that tells of a value, and its sign."""
    return (0, 1 - 2 * value) if references.contrasts == 1 else (value, 1)


def _choose(references: References, fit: Fit, candidates: Candidates) -> list[Flags]:
    """The columns that half of the images chooses for each value: those that are surely tied with it more than the
    person's, by the captions that no surer one is in, so that a phrase is one and a common word does not come along."""
    of_half = Candidates(*(side[fit.images] for side in (candidates.captioner, candidates.person)))
    uses = np.ravel(of_half.captioner.sum(axis=0))
    tried = np.flatnonzero(uses >= LEAST_CHOSEN)
    own, other = (_sums(references, fit, [side[:, tried]]) for side in (candidates.captioner, candidates.person))
    # Groups without a use make the error of a rare word too small: it is at least that of uses dealt out at random.
    error = np.maximum(_errors(fit, own - other), _error_by_chance(references, fit, uses[tried]))
    ties = own.sum(axis=1), other.sum(axis=1)
    more, share = np.abs(ties[0]) > np.abs(ties[1]), uses[tried] / len(fit.images)
    chosen = []
    for value in range(references.values):
        place, sign = _contrast(references, value)
        beyond = sign * (ties[0] - ties[1])[place]
        sure = np.flatnonzero(more[place] & _is_sure(beyond, error[place], share))
        order = sure[np.argsort(-beyond[sure] / error[place, sure], kind="stable")]
        flags = np.zeros(len(uses), bool)
        kept = _without_overlap(fit, of_half, tried[order], error[place, order], place, sign)
        flags[kept] = True
        chosen.append(flags)
    return chosen


def _error_by_chance(references: References, fit: Fit, uses: Floats) -> Floats:
    """The standard error of the tie of a column whose uses are dealt out at random, `(contrasts, columns)`."""
    return np.asarray(100 * np.sqrt(uses * references.weights.mean() / (len(fit.images) * fit.spread[:, None])))


def _is_sure(beyond: Any, error: Any, share: Any) -> Any:
    """Whether a column is chosen; `share`: of the captions of the half that use it. A common one adds more chance than
    a rare one."""
    return beyond > (CHOSEN_Z + COMMON * np.sqrt(share)) * error


def _without_overlap(
    fit: Fit, of_half: Candidates, order: Integers, error: Floats, contrast: int, sign: int
) -> list[int]:
    """Of columns, the surest first, those that are sure by the captions which no surer one is in."""
    [influence], groups, images = fit.influences, len(fit.size), len(fit.images)
    pull = np.ravel(influence[:, contrast * groups : (contrast + 1) * groups].sum(axis=1))
    own, other = (side[:, order].toarray() for side in (of_half.captioner, of_half.person))
    covered, kept = [np.zeros(images, bool), np.zeros(images, bool)], []
    for place, column in enumerate(order.tolist()):
        new = [side[:, place] * ~before for side, before in zip((own, other), covered, strict=True)]
        left = max(new[0].sum(), 1.0)
        beyond = 100 * sign * (pull @ (new[0] - new[1])) / fit.spread[contrast]
        if _is_sure(beyond, error[place] * np.sqrt(left / own[:, place].sum()), left / images):
            kept.append(column)
            covered = [before | (side > 0) for before, side in zip(covered, new, strict=True)]
    return kept


def _amount(fit: Fit, sums: Floats) -> Amount:
    """The total of sums of groups."""
    total, pull = float(sums.sum()), np.zeros(UNITS)
    pull[fit.groups] = SELECTION * (sums - fit.size * total)
    return Amount(total, pull)


def _mean(amounts: Sequence[Amount]) -> Amount:
    """The mean of amounts of the same groups."""
    values, pulls = zip(*amounts, strict=True)
    return Amount(float(np.mean(values)), np.mean(pulls, axis=0))


def detectable_share(references: References, words: int, seed: int = 0) -> Floats:
    """The least share of each value's captions, of 100, in which so many words that nobody else says, one a caption,
    would be seen, in four of five runs; nan if in none: `(values,)`."""
    from scipy.special import ndtri

    generator = np.random.default_rng([seed, 10])
    z, seen = -ndtri(ALPHA / references.values), np.full(references.values, np.nan)
    for value in range(references.values if references.halves else 0):
        images = np.flatnonzero(references.value == value)
        copies, pictures = references.pictures[images], np.unique(references.pictures[images])
        place, sign = _contrast(references, value)
        for share in INJECTED:
            often = round(share / 100 * len(pictures))
            chosen = [generator.permutation(pictures)[:often] for _ in range(RUNS)]
            word = np.arange(often) % words
            rows, columns = [], []
            for run, some in enumerate(chosen):
                number = dict(zip(some.tolist(), word.tolist(), strict=True))
                own = np.flatnonzero(np.isin(copies, some))
                rows.append(images[own])
                columns.append(run * words + np.array([number[copy] for copy in copies[own].tolist()], np.int64))
            injected = sparse(
                np.ones(sum(map(len, rows))),
                (np.concatenate(rows), np.concatenate(columns)),
                (len(references.value), RUNS * words),
            )
            pulls, totals = np.zeros((UNITS, RUNS)), np.zeros(RUNS)
            for chooser, counter in (pair for both in references.halves for pair in (both, both[::-1])):
                sums = sign * _sums(references, chooser, [injected])[place]
                uses = np.ravel(injected[chooser.images].sum(axis=0))
                by_chance = _error_by_chance(references, chooser, np.maximum(uses, 1))[place]
                error = np.maximum(_errors(chooser, sums), by_chance)
                sure = (uses >= LEAST_CHOSEN) & _is_sure(sums.sum(axis=0), error, uses / len(chooser.images))
                other = sign * _sums(references, counter, [injected])[place] * sure
                by_run = other.reshape(len(other), RUNS, words).sum(axis=2)
                totals += by_run.sum(axis=0) / (2 * HALVINGS)
                pulls[counter.groups] += (
                    SELECTION * (by_run - counter.size[:, None] * by_run.sum(axis=0)) / (2 * HALVINGS)
                )
            low = totals - z * np.sqrt((pulls**2).sum(axis=0) * UNITS / (UNITS - 1))
            if (low > LEAST_BEYOND).mean() >= POWER:
                seen[value] = share
                break
    return seen


def _sides(references: References, fit: Fit, said: WordTable, people: Sequence[WordTable]) -> tuple[Floats, Floats]:
    """The sums of both sides, the captioner's and the drawn person's."""
    return _sums(references, fit, [said] * len(people)), _sums(references, fit, people)


def _sums(references: References, fit: Fit, words: Sequence[WordTable]) -> Floats:
    """Each group's part of the ties of words, the mean over draws: `(contrasts, groups, words)`; `words`: of each draw,
    images x words."""
    products = (
        table[fit.images].astype(np.float32).T @ influence
        for table, influence in zip(words, fit.influences, strict=True)
    )
    by_draw = [product.toarray() if hasattr(product, "toarray") else product for product in products]
    shape = (references.contrasts, len(fit.size), words[0].shape[1])
    spread = fit.spread[:, None, None] * len(by_draw)
    return np.asarray(100 * np.sum(by_draw, axis=0, dtype=np.float64).T.reshape(shape) / spread)


def _errors(fit: Fit, sums: Floats) -> Floats:
    """The standard error of a total, from sums of groups on the axis before the last."""
    spread = sums - fit.size[:, None] * sums.sum(axis=-2, keepdims=True)
    return np.asarray(np.sqrt((spread**2).sum(axis=-2) * len(fit.size) / (len(fit.size) - 1)))


def _people_uses(references: References) -> Floats:
    return np.asarray(np.mean([_uses(person, references.weights) for person in references.drawn], axis=0))


def _uses(table: WordTable, weights: Floats) -> Floats:
    return np.ravel(weights @ table)
