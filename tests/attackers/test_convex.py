"""The convex attacker is the logistic regression it says it is: scikit-learn's own answers are the measure."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from captionbias.attackers import convex as module
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.convex import L2, TASK_NGRAM_COUNT, fit_tasks, ngrams
from captionbias.text import tokenize
from tests.attackers.conftest import by_words


def bow(trial: Trial, pairs: bool = True) -> TrialScores:
    return module.fit(trial, pairs).test_scores


def count_vectorizer(**options: object) -> CountVectorizer:
    """Words and pairs of neighbours, 0/1, by another hand."""
    return CountVectorizer(
        tokenizer=str.split, token_pattern=None, lowercase=False, ngram_range=(1, 2), binary=True, **options
    )


def texts(trial: Trial, rows: np.ndarray) -> list[str]:
    return trial.examples.tokens.select(rows).texts()


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits.astype(np.float64)))


def test_ngrams_are_words_and_pairs_of_neighbours():
    captions = ["a man a man", "", "man a", "dog", "a dog man", "a"]
    found = ngrams(tokenize(captions)).toarray()
    expected = count_vectorizer().fit_transform(captions).toarray()
    assert found.shape == expected.shape
    assert sorted(map(tuple, found.T)) == sorted(map(tuple, expected.T))
    assert not found[1].any()
    assert ngrams(tokenize(["a", "b"])).shape == (2, 2), "a pair never crosses captions"
    words = ngrams(tokenize(["a man a man", "", "man a"]), with_pairs=False)
    assert words.toarray().tolist() == [[1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_fitted_as_scikit_learn_fits_them(class_trial, classes):
    trial = class_trial(classes=classes, signal=0.6)
    vectorizer = count_vectorizer().fit(texts(trial, trial.train))
    targets = trial.examples.targets
    model = LogisticRegression(C=1 / L2, tol=1e-8, max_iter=10_000)
    model.fit(vectorizer.transform(texts(trial, trial.train)).astype(float), targets[trial.train])
    expected = model.predict_proba(vectorizer.transform(texts(trial, trial.test)).astype(float))

    scores = bow(trial)
    truth = targets[trial.test]
    assert np.exp(scores.log_probability) == pytest.approx(expected[np.arange(len(truth)), truth], abs=5e-3)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-2
    assert np.array_equal(scores.correct[clear], (expected.argmax(axis=1) == truth)[clear])


def reference_tasks(features: csr_array, present: np.ndarray) -> OneVsRestClassifier:
    model = OneVsRestClassifier(LogisticRegression(C=1 / L2, tol=1e-8, max_iter=10_000))
    return model.fit(features.astype(np.float64), present)


@pytest.fixture(scope="module")
def tasks(task_trial):
    """Features and flags of training captions, and those of test captions; tasks of 10% to 50% of the captions."""
    trial = task_trial(n=600, tasks=6, signal=0.7)
    features, flags = ngrams(trial.examples.tokens), trial.examples.targets
    return features[trial.train], flags[trial.train], features[trial.test]


def test_a_few_steps_come_close_to_scikit_learn(tasks):
    features, present, test = tasks

    def objective(weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """What each task's regression minimises: the loss over captions and the penalty."""
        logits = features @ weights.astype(np.float64) + bias.astype(np.float64)
        return np.logaddexp(0, np.where(present, -logits, logits)).sum(axis=0) + L2 / 2 * (weights**2).sum(axis=0)

    weights, bias = fit_tasks(features, present)
    assert (weights.shape, bias.shape) == ((features.shape[1], 6), (6,))
    model = reference_tasks(features, present)
    assert sigmoid(test @ weights + bias) == pytest.approx(model.predict_proba(test), abs=0.1)
    best = [
        np.hstack(parts) for parts in zip(*((one.coef_.T, one.intercept_) for one in model.estimators_), strict=True)
    ]
    assert (objective(weights, bias) <= 1.05 * objective(*best)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(2))
def test_steps_beyond_the_optimum_stay_there(seed, monkeypatch):
    """Where nothing moves any more, rounding must not be taken for curvature."""
    generator = np.random.default_rng(seed)
    features = csr_array((generator.random((40, 6)) < 0.4).astype(np.float32))
    present = generator.random((40, 5)) < generator.random(5)
    fits = []
    for steps in (60, 300):
        monkeypatch.setattr(module, "TASK_STEPS", steps)
        fits.append(np.vstack(fit_tasks(features, present)))
    assert fits[1] == pytest.approx(fits[0], abs=1e-3)


@pytest.mark.filterwarnings("error")
def test_the_fit_of_a_task_does_not_depend_on_others_and_one_that_never_or_always_occurs_is_fitted_too(tasks):
    features, present, test = tasks
    always, never = np.ones((len(present), 1), bool), np.zeros((len(present), 1), bool)
    weights, bias = fit_tasks(features, np.hstack((present, always, never)))
    probability = sigmoid(test @ weights + bias)
    assert (probability[:, 6] > 0.99).all()
    assert (probability[:, 7] < 0.01).all()
    for task in range(present.shape[1]):
        alone = np.vstack(fit_tasks(features, present[:, task : task + 1]))
        assert alone[:, 0] == pytest.approx(np.vstack((weights, bias))[:, task], abs=1e-4)


def test_tasks_of_a_trial_are_scored_by_frequent_ngrams(task_trial):
    trial = task_trial(n=600, signal=0.7)
    vectorizer = count_vectorizer(min_df=TASK_NGRAM_COUNT).fit(texts(trial, trial.train))
    train, test = (vectorizer.transform(texts(trial, rows)) for rows in (trial.train, trial.test))
    p = reference_tasks(train, trial.examples.targets[trial.train]).predict_proba(test.astype(float))
    truth = trial.examples.targets[trial.test]
    product = np.where(truth, p, 1 - p).prod(axis=1)
    assert np.exp(bow(trial).log_probability) == pytest.approx(product, abs=0.1)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("kind", ["class_trial", "task_trial"])
def test_the_seed_changes_nothing_and_logits_are_those_of_the_scores(kind, pairs, request):
    trial = request.getfixturevalue(kind)()
    fitted = module.fit(trial, pairs)
    first = fitted.test_scores
    for again in (bow(replace(trial, seed=99), pairs), bow(request.getfixturevalue(kind)(), pairs)):
        assert np.array_equal(again.log_probability, first.log_probability)
        assert np.array_equal(again.correct, first.correct)
    logits, truth = fitted.logits(trial.test), trial.examples.targets[trial.test]
    wanted = -np.logaddexp(0, np.where(truth.reshape(logits.shape), -logits, logits)).sum(axis=1)
    np.testing.assert_allclose(first.log_probability, wanted, atol=1e-4)


def test_words_unseen_in_training_count_for_nothing_and_captions_without_words_have_the_shares():
    train, targets = ["a man", "a woman"] * 20, [0, 1] * 20
    scores = bow(by_words(train, targets, ["man", "man zebu", "zebu gnu", ""], [0, 0, 0, 0]))
    known, with_unseen, unseen, empty = np.exp(scores.log_probability)
    assert known == with_unseen > 0.6
    assert unseen == empty == pytest.approx(0.5, abs=0.01)
    # The one word says nothing: each class has it in half of its captions.
    train, targets = ["a", "", "a", "", "a", "", "a", ""] * 5, [0, 0, 1, 1, 1, 1, 1, 1] * 5
    scores = bow(by_words(train, targets, ["", "zebu", "a"], [0, 1, 1]))
    assert np.exp(scores.log_probability) == pytest.approx([0.25, 0.75, 0.75], abs=1e-3)


def test_a_class_absent_from_training_is_impossible():
    train, targets = ["a man", "a woman"] * 20, [0, 2] * 20
    scores = bow(by_words(train, targets, ["a man", "a woman", "a child"], [0, 2, 1], outputs=3))
    assert scores.log_probability[2] == -np.inf
    assert scores.correct.tolist() == [True, True, False]
    assert (scores.log_probability[:2] > np.log(0.7)).all()
