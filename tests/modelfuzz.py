"""Damage to the values of small model files, and what using a damaged file comes to.

``python tests/modelfuzz.py 20000`` tries that many random cases, each with one to three changes.
"""

import copy
import json
import random
import signal
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np
from modelfiles import ModelFile
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, explore, load
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer

LONGEST_MESSAGE = 600  # characters, with the path
SECONDS = 20  # of the processor, for one file; a sound one takes far less than one

_TEXTS = ["green tea leaves", "steep the tea leaves", "roast <b>coffee</b> beans", "coffee beans"]
_LABELS = ["tea", "tea", "coffee", "coffee"]
_SEVERAL = [["tea", "green"], ["tea"], ["coffee"], ["coffee", "green"]]


@cache
def files():
    """Small sound files of every kind of model, by name."""
    few = {"random_state": 0, "max_iter": 2, "n_jobs": 1}
    labelled = {"generative": 1, "components": 15, "words and components": 15}
    text = DocumentVectorizer(stem="english", ngram_range=(1, 2), stop_words=["the"])
    models = {
        name: DocumentModel(SupervisedVBNMF(3, classifier=name, **few)).fit(
            _TEXTS * times, _LABELS * times
        )
        for name, times in labelled.items()
    }
    tree = SupervisedVBNMF(3, label_tree={"tea": "hot", "coffee": "hot"}, **few)
    models["several"] = DocumentModel(tree).fit(_TEXTS * 2, _SEVERAL * 2)
    batches = DocumentModel(SupervisedVBNMF(3, classifier="components", **few))
    models["updated"] = batches.partial_fit(_TEXTS * 2, _LABELS * 2)
    models["text"] = DocumentModel(VBNMF(2, **few), text).fit(_TEXTS)
    X = np.array([[3, 1, 0], [2, 0, 0], [0, 1, 4], [0, 0, 2]], dtype=np.float64)
    models["matrix"] = DocumentModel(VBNMF(2, **few)).fit(X, terms=["a", "b", "c"])
    models["estimator"] = SupervisedVBNMF(2, **few).fit(X, _LABELS)
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            model.save(Path(folder) / "model")
            made[name] = ModelFile((Path(folder) / "model").read_bytes())
    return made


def header_values(value):
    """What may stand in the place of an entry of a header."""
    other = [None, True, "", "x" * 3000, [], {}, [value], 0, -1, 1, 2**31, 10**30]
    if isinstance(value, bool):
        return [*other, not value]
    if isinstance(value, int | float):
        return [*other, 0.0, -1.0, 0.5, 1.5, 1e-308, 1e308, 1e999, float(value) * 1e9, value + 1]
    if isinstance(value, str):
        return [*other, "(z+)+!", value + "x", "\0"]
    if isinstance(value, list):
        longer = [*value, value[-1]] if value else [1]
        return [*other, value[:-1], longer, value[::-1], value * 3]
    if value is None:
        return other
    return [*other, dict(list(value.items())[1:]), {**value, "other": 1}]


def array_values(array):
    """What may stand in the place of an array."""
    made = []
    if array.dtype.kind == "f":
        top = float(np.finfo(array.dtype).max)
        tiny = float(np.finfo(array.dtype).tiny)
        for value in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e9, -1e9, 1e30, -1e30, top, -top, tiny):
            for at in (slice(None), slice(0, 1), slice(-1, None)):
                other = array.copy()
                with np.errstate(over="ignore"):  # of half precision
                    other.reshape(-1)[at] = value
                made.append(other)
    else:
        for value in (0, 1, 2, 255, np.iinfo(array.dtype).max, np.iinfo(array.dtype).min):
            other = array.copy()
            other.reshape(-1)[-1:] = np.array(value).astype(array.dtype)
            made.append(other)
    made += [array[:-1], np.concatenate([array, array]), array[None], array.reshape(-1)[:0]]
    made += [array.astype(np.float64), array.astype(np.float32), array.astype(np.int64)]
    return [np.ascontiguousarray(one) for one in made]


def places(header, at=()):
    """All places in a header, as keys that lead there."""
    if at:
        yield at
    inner = header.items() if isinstance(header, dict) else enumerate(header)
    for key, value in inner:
        if isinstance(value, dict | list) and len(at) < 6:
            yield from places(value, (*at, key))
        else:
            yield (*at, key)


def changed(header, at, value):
    """Put a value into a place of a header."""
    inside = header
    for key in at[:-1]:
        inside = inside[key]
    inside[at[-1]] = value


def value_at(header, at):
    """What stands in a place of a header."""
    for key in at:
        header = header[key]
    return header


def cases(file):
    """Every single change of a header's entry or of an array, as a name and a file."""
    for at in places(file.header):
        for value in header_values(value_at(file.header, at)):
            header = copy.deepcopy(file.header)
            changed(header, at, value)
            yield f"{at} = {value!r:.60}", put_together(file, header, arrays(file))
    for name, array in arrays(file).items():
        for number, value in enumerate(array_values(array)):
            yield (
                f"{name}: {number}",
                put_together(file, file.header, {**arrays(file), name: value}),
            )


def random_case(file, rng):
    """A few changes at once."""
    header, tensors, told = copy.deepcopy(file.header), dict(arrays(file)), []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.5:
            at = rng.choice(list(places(header)))
            value = rng.choice(header_values(value_at(header, at)))
            changed(header, at, value)
            told.append(f"{at} = {value!r:.60}")
        else:
            name = rng.choice(list(tensors))
            made = array_values(tensors[name])
            number = rng.randrange(len(made))
            tensors[name] = made[number]
            told.append(f"{name}: {number}")
    return "; ".join(told), put_together(file, header, tensors)


def arrays(file):
    return dict(sorted(load_tensors(file.raw).items()))  # their order in a file is random


def put_together(file, header, tensors):
    text = json.dumps(header).replace("Infinity", "1e999")
    return save_tensors(tensors, metadata={**file.metadata, "vbnmf": text})


def outcome(path):
    """Load a file and use it: "refused" or "works"; what is wrong raises ``AssertionError``."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError as error:
            return "refused" if len(str(error)) <= LONGEST_MESSAGE else "a long message"
        use(model)
    return "works"


def use(model):
    """Use a model in all ways; its results must be sound."""
    whole = isinstance(model, DocumentModel)
    estimator = model.estimator_ if whole else model
    n_terms = estimator.n_features_in_
    X = np.zeros((4, n_terms))  # a document of all terms, two of one term, one of none
    X[0], X[1, 0], X[2, -1] = 1, 1, 50
    given = [X, X.astype(np.float32)]
    if whole and model.vectorizer_ is not None:
        given.append(["green tea tea", "coffee", "z" * 40, "leaves " * 300])
    for documents in given:
        V = model.transform(documents)
        assert V.shape == (4, estimator.n_components_)
        assert np.isfinite(V).all(), "coefficients are not finite"
        assert (V >= 0).all(), "coefficients are negative"
        if hasattr(estimator, "classes_"):
            use_labels(model, documents, estimator)
    if whole:
        assert explore(model).html.endswith("</html>\n")
        assert "NaN" not in json.dumps([float(m) for m in estimator.component_mass_])
    use_batch(estimator, X[:3])


def use_labels(model, documents, estimator):
    P = model.predict_proba(documents)
    assert P.shape == (4, len(estimator.classes_))
    assert np.isfinite(P).all(), "probabilities are not finite"
    assert ((P >= 0) & (P <= 1)).all(), "probabilities are outside [0, 1]"
    if not estimator.multilabel_:
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    assert len(model.predict(documents)) == 4
    for explanations in model.explain(documents):
        for why in explanations:
            parts = [part for _, part, _ in why.components] + [part for _, part in why.terms]
            assert np.isfinite(parts).all(), "an explanation is not finite"
            assert 0 <= why.component_share <= 1, "a share is outside [0, 1]"


def use_batch(estimator, X):
    """Learn from a batch: with sound results, or an error after which the model is as before."""
    labels = [None] * len(X)
    if hasattr(estimator, "classes_"):
        labels[:2] = [estimator.classes_.tolist()[-1]] * 2
        labels = [[x] for x in labels] if estimator.multilabel_ else labels
    with suppress(ValueError):
        estimator.partial_fit(X, labels)
    assert np.isfinite(estimator.transform(X)).all(), "coefficients are not finite after a batch"
    if hasattr(estimator, "classes_"):
        assert np.isfinite(estimator.predict_proba(X)).all(), "probabilities are not finite"


@contextmanager
def limited(seconds=SECONDS):
    """Raise ``AssertionError`` where the block takes too much time of the processor."""

    def end(*_):
        raise AssertionError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def tried(path, content):
    """Write a file and return "refused", "works" or what is wrong with it."""
    path.write_bytes(content)
    try:
        with limited():
            return outcome(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


def main(number, seed):
    """Try random cases, or with the number 0 every single change."""
    rng, counts = random.Random(seed), Counter()  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.model"
        if number == 0:
            made = ((name, *case) for name, file in files().items() for case in cases(file))
        else:
            names = list(files())
            made = ((n, *random_case(files()[n], rng)) for n in rng.choices(names, k=number))
        for name, told, content in made:
            result = tried(path, content)
            counts[result if result in ("refused", "works") else "wrong"] += 1
            if result not in ("refused", "works"):
                print(f"{name}: {told}: {result}", flush=True)  # noqa: T201
    print(dict(counts))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
