"""The offline corpus: real, sensible, fixed in its split, silent, and sound on other releases."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from vbnmf.data import docstrings, load_corpus


def test_docstrings_are_a_sensible_corpus() -> None:
    corpus = load_corpus("scipy-docs", subset="all")
    assert 2000 <= len(corpus) <= 3500
    assert 15 <= len(corpus.label_names) <= 25
    assert {"numpy.random", "scipy.stats", "sklearn.cluster"} <= set(corpus.label_names)
    assert min(Counter(corpus.labels).values()) >= 30
    assert len(set(corpus.texts)) == len(set(corpus.ids)) == len(corpus)
    assert 0.25 < np.mean(corpus.split == "test") < 0.35
    for text in corpus.texts:
        assert len(text.split()) >= 20
        assert ">>>" not in text
        assert "\n---" not in text
    # A text that names a sub-package would give its label away.
    assert not any("scipy.stats." in text or "sklearn.cluster." in text for text in corpus.texts)
    assert "numpy" in corpus.source


def test_docstrings_split_is_fixed() -> None:
    parts = [load_corpus("scipy-docs", subset=subset) for subset in ("train", "test", "all")]
    train, test, whole = (set(part.ids) for part in parts)
    assert not train & test
    assert train | test == whole
    assert parts[0].label_names == parts[1].label_names == parts[2].label_names
    assert {docstrings.in_test(name) for name in parts[1].ids} == {True}
    # By the name's SHA-256, so that no release or run of Python changes it.
    assert [docstrings.in_test(f"scipy.stats.{n}") for n in ("skew", "norm", "zscore", "mode")] == [
        int(hashlib.sha256(f"scipy.stats.{n}".encode()).hexdigest()[:8], 16) / 2**32 < 0.3
        for n in ("skew", "norm", "zscore", "mode")
    ]


def test_docstrings_can_be_learned() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    train, test = (load_corpus("scipy-docs", subset=subset) for subset in ("train", "test"))
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    model = LinearSVC().fit(vectorizer.fit_transform(train.texts), train.labels.astype(str))
    accuracy = model.score(vectorizer.transform(test.texts), test.labels.astype(str))
    assert accuracy > 0.85


def test_docstrings_come_without_warnings() -> None:
    code = "from vbnmf.data import load_corpus; load_corpus('scipy-docs')"
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_clean_docstring() -> None:
    doc = """
        Do it as `scipy.stats.norm` and :func:`numpy.linalg.solve` do.

        >>> before(1)
        output
        of it

        Parameters
        ----------
        a : int
            The a.

            .. versionadded:: 1.2

        Examples
        --------
        Prose of the example.

        >>> import it

        Notes
        -----
        It works.
        """
    want = (
        "Do it as `norm` and `solve` do.\n\nParameters\n\na : int\n    The a.\n\nNotes\n\nIt works."
    )
    assert docstrings.clean_docstring(doc) == want


def test_docstrings_of_other_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is not there, and attributes that raise, are passed over."""

    class Lazy:
        __name__ = "scipy.lazy"
        __all__ = ("broken", "gone", "fine", "_hidden")

        def __getattr__(self, name: str) -> object:
            if name == "broken":
                raise ImportError(name)
            if name == "gone":
                raise AttributeError(name)
            function = SimpleNamespace.__class__("fine", (), {"__doc__": "word " * 30})
            function.__module__ = "scipy.lazy"
            return function

    monkeypatch.setattr(docstrings, "MODULES", ("scipy.lazy", "scipy.no_such_module"))
    monkeypatch.setattr(docstrings, "MIN_DOCUMENTS", 1)
    monkeypatch.setitem(sys.modules, "scipy.lazy", Lazy())
    docstrings.read_docstrings.cache_clear()
    try:
        got = docstrings.read_docstrings()
    finally:
        docstrings.read_docstrings.cache_clear()
    assert [(name, label) for name, label, _ in got] == [("scipy.lazy.fine", "scipy.lazy")]
