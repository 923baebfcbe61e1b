"""Test whether people see what a component is about: find the item that does not belong.

**Words.** Five words that describe a component are shown with one that describes another and is
less typical of this one than of the average component, in random order. Who understands the
component finds it.

**Documents.** Three documents that are mostly of a component are shown with one that is of another.

Components are drawn at random, so the share of right answers is an estimate for all of them. Its
interval is that of Wilson. An answer "I cannot tell" is not right. By chance, one in six words and
one in four documents would be found.

J. Chang, J. Boyd-Graber, S. Gerrish, C. Wang and D. M. Blei (2009). Reading tea leaves: how humans
interpret topic models. Advances in Neural Information Processing Systems 22.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.components import (
    alike_components,
    component_names,
    naming_terms,
    term_parts,
)
from vbnmf.metrics.shares import share_interval

TASKS = ("words", "documents")
"""Kinds of questions."""
KIND = "vbnmf test of components"
"""What a file of answers says that it is."""
_QUESTIONS = 20  # of each kind
_WORDS, _FROM, _LISTED = 5, 10, 15  # words of a component; first of another; that a list may have
_DOCUMENTS, _TYPICAL = 3, 8
_MUCH, _LITTLE = 0.2, 0.01  # share of a component in documents that belong and do not belong
_LARGEST = 20_000_000  # bytes of a file of answers


@dataclass(frozen=True)
class Question:
    """Items of a component, and one that does not belong.

    Attributes
    ----------
    component : int
        The component of all items but one.
    items : list of int
        Terms or documents, in the order in which they are shown.
    intruder : int
        Position of the item that does not belong.
    source : int
        The component that it is from.
    """

    component: int
    items: list[int]
    intruder: int
    source: int


@dataclass(frozen=True)
class Answer:
    """What a person chose.

    Attributes
    ----------
    task : {"words", "documents"}
    component : int
        Component of the question.
    name : str
        Its name.
    shown : list of str
        The items.
    intruder : int
        Position of the one that does not belong.
    chosen : int or None
        Position of the chosen one; None if the person could not tell.
    """

    task: str
    component: int
    name: str
    shown: list[str]
    intruder: int
    chosen: int | None

    @property
    def right(self) -> bool:
        """Whether the right one was chosen."""
        return self.chosen == self.intruder


def word_questions(model: Any, n: int = _QUESTIONS, seed: int = 0) -> list[Question]:
    """Draw questions about the words of components.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    n : int, default=20
        Largest number of questions, each about another component.
    seed : int, default=0
        Seed of the draw.
    """
    estimator, rng = model.estimator_, np.random.default_rng(seed)
    parts, lists = term_parts(model), naming_terms(model, _LISTED)
    alike = [{j for j, _ in some} for some in alike_components(estimator)]
    lasting = np.flatnonzero(~np.asarray(estimator.faded_))
    found: list[Question] = []
    for k in rng.permutation(lasting).tolist():
        own, listed, q = lists[k][:_WORDS], set(lists[k]), parts.of_component(k)
        others = [
            (int(w), j)
            for j in rng.permutation(lasting).tolist()
            if j != k and j not in alike[k]
            for w in rng.permutation(lists[j][:_FROM]).tolist()
            if w not in listed and q[w] < parts.average[w]
        ]
        if len(own) == _WORDS and others and len(found) < n:
            found.append(_question(k, own, *others[0], rng))
    return found


def document_questions(
    shares: Array, trust: Array, n: int = _QUESTIONS, seed: int = 0
) -> list[Question]:
    """Draw questions about documents of components.

    Parameters
    ----------
    shares : array of shape (n_docs, K)
        Share of each component in each document.
    trust : array of shape (n_docs,)
        Weight of a document, which is less for short ones and zero for empty ones.
    n, seed : int
        As for ``word_questions``.
    """
    rng = np.random.default_rng(seed)
    weights = shares * trust[:, None]
    typical = [
        [d for d in np.argsort(-column, kind="stable")[:_TYPICAL].tolist()
         if column[d] > 0 and shares[d, k] >= _MUCH]
        for k, column in enumerate(weights.T)
    ]  # fmt: skip
    found: list[Question] = []
    for k in rng.permutation(shares.shape[1]).tolist():
        own = typical[k][:_DOCUMENTS]
        others = [
            (d, j)
            for j in rng.permutation(shares.shape[1]).tolist()
            for d in rng.permutation(typical[j]).astype(int).tolist()
            if j != k and shares[d, k] < _LITTLE
        ]
        if len(own) == _DOCUMENTS and others and len(found) < n:
            found.append(_question(k, own, *others[0], rng))
    return found


def _question(
    k: int, own: list[int], other: int, source: int, rng: np.random.Generator
) -> Question:
    items = [*own, other]
    order = rng.permutation(len(items)).tolist()
    return Question(k, [items[i] for i in order], order.index(len(own)), source)


def read_answers(path: str | Path) -> list[Answer]:
    """Read a file of answers, as the page saves it.

    Raises
    ------
    ValueError
        The file is something else, or damaged. The message is one sentence.
    """
    path = Path(path)
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path} is too large for a file of answers (above 20 MB).")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ValueError(
            f"{path} is no file of answers: Test yourself on the page saves one as JSON."
        ) from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ValueError(f"{path} is no file of answers that Test yourself on the page has saved.")
    rows = found.get("answers")
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{path} has no answers. Answer some questions, then save the file again.")
    answers = []
    for i, row in enumerate(rows, 1):
        answer = _answer(row)
        if answer is None:
            raise ValueError(f"{path}: answer {i} of {len(rows)} is damaged. Save the file again.")
        answers.append(answer)
    return answers


def _answer(row: Any) -> Answer | None:
    """Check one answer; None if it is damaged."""
    if not isinstance(row, dict):
        return None
    k: Any
    intruder: Any
    task, k, name, shown = (row.get(key) for key in ("task", "component", "name", "shown"))
    intruder, chosen = row.get("intruder"), row.get("chosen")
    if task not in TASKS or not isinstance(name, str) or not _is_place(k, None):
        return None
    if not isinstance(shown, list) or not all(isinstance(item, str) for item in shown):
        return None
    if not _is_place(intruder, shown) or not (chosen is None or _is_place(chosen, shown)):
        return None
    return Answer(task, int(k), name, shown, int(intruder), chosen)


def _is_place(value: Any, items: list[str] | None) -> bool:
    """Return whether a value is a position in a list, or any position without one."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return whole and (items is None or value < len(items) > 1)


def human_scores(answers: Sequence[Answer]) -> dict[str, Any]:
    """Score answers, in types of JSON.

    Parameters
    ----------
    answers : sequence of Answer
        Of one person or of several.
    """
    tasks = [_score(task, [one for one in answers if one.task == task]) for task in TASKS]
    missed = [
        {
            "task": one.task,
            "component": one.component,
            "name": one.name,
            "does_not_belong": one.shown[one.intruder],
            "chosen": None if one.chosen is None else one.shown[one.chosen],
        }
        for one in answers
        if not one.right
    ]
    return {"answers": len(answers), "tasks": [one for one in tasks if one], "missed": missed}


def _score(task: str, answers: list[Answer]) -> dict[str, Any] | None:
    if not answers:
        return None
    right = sum(one.right for one in answers)
    low, high = share_interval(right, len(answers))
    return {
        "task": task,
        "answers": len(answers),
        "right": right,
        "cannot_tell": sum(one.chosen is None for one in answers),
        "share": right / len(answers),
        "low": float(low),
        "high": float(high),
        "by_chance": float(np.mean([1 / len(one.shown) for one in answers])),
    }


def check_model(answers: Iterable[Answer], model: Any) -> None:
    """Refuse answers about the components of another model."""
    names = component_names(model, model.terms_)
    for one in answers:
        if one.component >= len(names) or names[one.component] != one.name:
            raise ValueError(
                f"the answers are about another model: they have a component {one.component} "
                f"called {one.name[:60]!r}. Give the model that the page was made of."
            )
