"""Explanations of many documents: a list that is also a table, and shaded text in notebooks."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from vbnmf.prediction.explanation import Explanation
from vbnmf.tabular import Table, percent

COLUMNS = ("document", "label", "kind", "name", "contribution", "probability")
"""Columns of the table of explanations."""
COMPONENT, WORD, PHRASE, MARK, PIECE = "component", "word", "phrase", "mark", "piece"
"""What contributes to the score of a label."""

_MOST_DOCUMENTS, _LONGEST_TEXT = 10, 2000  # documents, and characters of a text, in notebooks
_FOR, _AGAINST = "0,114,178", "213,94,0"  # blue and vermilion, which most people can tell apart

Span = tuple[int, int, str]
"""Position of the first character of a term, position after the last, and its name."""


def kind_of_words(name: Any) -> str:
    """Return the kind of a term: a phrase if it has several words."""
    return PHRASE if " " in str(name).strip() else WORD


class Explanations(list[list[Explanation]]):
    """The explanations of documents, one list for each document.

    Parameters
    ----------
    explained : iterable of lists of Explanation
        One list for each document.
    titles : sequence of str
        Number and name of each component.
    kind_of : callable
        Returns the kind of a term by its name: "word", "phrase", "mark" or "piece".
    texts : sequence of str, or None
        The texts of the documents.
    find : callable or None
        Returns where the terms of texts are: for each text a list of (begin, end, name).

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> table = model.explain(["green tea"]).to_table()
    >>> table.columns
    ['document', 'label', 'kind', 'name', 'contribution', 'probability']
    >>> table[0]["label"], table[0]["kind"]
    ('tea', 'component')
    """

    def __init__(
        self,
        explained: Iterable[list[Explanation]] = (),
        titles: Sequence[str] = (),
        kind_of: Callable[[Any], str] = kind_of_words,
        texts: Sequence[str] | None = None,
        find: Callable[[Sequence[str]], list[list[Span]]] | None = None,
    ) -> None:
        super().__init__(explained)
        self._titles, self._kind_of = titles, kind_of
        self._texts, self._find = texts, find

    def to_table(self, ids: Sequence[Any] | None = None) -> Table:
        """Return a table with a row for each contribution.

        Contributions of components and of terms as single words are listed, so that nothing is
        counted twice. They are the largest that speak for a label, as many as ``explain`` was asked
        for. So they need not add up to its score.

        Parameters
        ----------
        ids : sequence or None, default=None
            Name of each document; None numbers them from 0.

        Returns
        -------
        Table
            ``document``, ``label``, ``kind`` ("component", "word", "phrase", "mark" or "piece"),
            ``name``, ``contribution`` to the score of the label, and ``probability`` of the label.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> rows = model.explain(["green tea"]).to_table()
        >>> rows[0]["document"], rows[0]["label"]
        (0, 'tea')
        """
        names = range(len(self)) if ids is None else ids
        if len(names) != len(self):
            raise ValueError(f"there are {len(self)} documents but {len(names)} ids.")
        rows = []
        for document, labels in zip(names, self, strict=True):
            for why in labels:
                found = {(COMPONENT, self._titles[k]): part for k, part, _ in why.components}
                for term, part in why.words:  # a mark and a piece may be written the same
                    key = (self._kind_of(term), str(term))
                    found[key] = found.get(key, 0.0) + part
                rows += [
                    dict(zip(COLUMNS, (document, why.label, *one, part, why.probability),
                             strict=True))
                    for one, part in found.items()
                ]  # fmt: skip
        return Table(rows, COLUMNS)

    def to_frame(self, kind: str | None = None, *, ids: Sequence[Any] | None = None) -> Any:
        """Return a data frame with a row for each contribution; see ``to_table``.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"} or None, default=None
            The package; see ``Table.to_frame``.
        ids : sequence or None, default=None
            Name of each document; None numbers them from 0.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.explain(["green tea"]).to_frame("pandas").columns.tolist()
        ['document', 'label', 'kind', 'name', 'contribution', 'probability']
        """
        return self.to_table(ids).to_frame(kind)

    def _repr_html_(self) -> str:
        """Return the shaded texts of the first documents for notebooks."""
        n = min(len(self), _MOST_DOCUMENTS)
        texts = None if self._texts is None else [text[:_LONGEST_TEXT] for text in self._texts[:n]]
        spans = None if texts is None or self._find is None else self._find(texts)
        blocks = [
            self._document(
                labels,
                None if texts is None else texts[d],
                None if spans is None else spans[d],
            )
            for d, labels in enumerate(self[:n])
        ]
        more = f"<p>{len(self) - n:,} more documents</p>" if len(self) > n else ""
        return f"<div>{''.join(blocks)}{more}</div>"

    def _document(
        self, labels: list[Explanation], text: str | None, spans: list[Span] | None
    ) -> str:
        if not labels:
            said = "no known term" if text is None else text
            return f"<p>{escape(said)} <i>(no known term)</i></p>"
        best, *others = labels
        second = "".join(
            f", then {escape(str(one.label))} {percent(one.probability)}" for one in others
        )
        parts = ", ".join(
            f"{escape(self._titles[k])} {part:+.2f}" for k, part, _ in best.components
        )
        amounts = {str(term): part for term, part in (*best.terms, *best.against)}
        if text is None or not spans:
            shown = " ".join(_shaded(term, part, amounts) for term, part in amounts.items())
            shown = shown if text is None else f"{escape(text)}<br>{shown}"
        else:
            shown = _shaded_text(text, spans, amounts)
        return (
            f"<p><b>{escape(str(best.label))}</b> {percent(best.probability)}{second}<br>"
            f'{shown}<br><span style="opacity:.7">components: {parts or "none"}</span></p>'
        )


def _shaded_text(text: str, spans: Iterable[Span], amounts: dict[str, float]) -> str:
    """Return a text in HTML, in which terms are shaded by their contributions."""
    parts, at = [], 0
    for begin, end, name in spans:
        if begin < at or name not in amounts:
            continue
        parts += [escape(text[at:begin]), _shaded(text[begin:end], amounts[name], amounts)]
        at = end
    return "".join([*parts, escape(text[at:])])


def _shaded(text: str, part: float, amounts: dict[str, float]) -> str:
    strength = abs(part) / max(map(abs, amounts.values()))
    colour = _FOR if part > 0 else _AGAINST
    return (
        f'<span title="{part:+.2f}" style="background:rgba({colour},{0.08 + 0.4 * strength:.2f});'
        f'border-radius:3px">{escape(text)}</span>'
    )
