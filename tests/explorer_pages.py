"""Models of every kind for the explorer, and their pages; made once."""

import base64
import gzip
import json
from functools import cache

import numpy as np
from cliruns import make_corpus

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF
from vbnmf.evaluation import Evaluation
from vbnmf.report.explorer import explore
from vbnmf.report.explorer.documents import analyse_documents
from vbnmf.report.explorer.quality import measure_rows, quality_payload
from vbnmf.text import DocumentVectorizer

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "</style></title><img src=x onerror='window.hacked = 2'>",
    "\"quoted\" 'twice' `and` \\so\\ on",
    "&amp; & &lt; &#60; &nbsp",
    "<!-- comment --> <![CDATA[ x ]]>",
    "\u202eright to left\u202c \u200f عربى",
    "emoji 👩‍👩‍👧 🍵",
    "javascript:window.hacked = 3//http://example.org/",
    "=cmd()|' /C calc'!A0",
    "{{script}} {braces} ${x} %s",
    "中文 ünïcödé ﬁ \u2028 \u2029",
    "#view=quality&k=1",
    "constructor",
    "__proto__",
]


def unpacked(html, name="payload"):
    """What a page holds: its "payload", or its documents, "packed"."""
    packed = html.split(f'id="{name}">')[1].split("</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def analysed(model, documents, labels=None, ids=None):
    """The documents as ``explore`` analyses them."""

    def progress(part, step):
        assert 0 <= part <= 1
        assert step

    return analyse_documents(model, documents, labels, ids, progress)


def quality(model, documents, labels=None):
    """What the page shows of the quality of a model, and the values of its measures by key."""
    part = analysed(model, documents, labels).part
    evaluation = Evaluation(part.subject, "page")
    evaluation.add_part(part)
    measures = {row["key"]: row["value"] for row in measure_rows(evaluation)}
    return quality_payload(evaluation, part), measures


def restored(packed):
    """Documents of a page as ``document_payload`` found them, from the layout of the page."""
    found = {name: value for name, value in packed.items() if name not in ("marks", "owed")}
    pairs = zip(packed["terms"], packed["owed"], strict=True)
    found["terms"] = [[n for pair in zip(*both, strict=True) for n in pair] for both in pairs]
    found["why"] = (
        None if packed["why"] is None else list(map(evidence, packed["why"], packed["terms"]))
    )
    found["spans"] = None
    if packed["marks"] is not None:
        found["spans"] = []
        for text, codes in zip(packed["texts"], packed["marks"], strict=True):
            plain, *rest = text.split("\x7f")
            flat, meant, gap = [], {}, len(plain)
            for i, (code, form) in enumerate(zip(codes, rest[::2], strict=True)):
                number = code - 1 if code else meant.get(form, max(flat[2::3], default=-1) + 1)
                flat += [gap, len(form), number]
                meant[form], gap = number, len(rest[2 * i + 1])
            found["spans"].append(flat)
        found["texts"] = [text.replace("\x7f", "") for text in packed["texts"]]
    return found


def evidence(whys, terms):
    """The evidence of a document, with terms instead of places in its list."""

    def term(code):
        return (
            code if isinstance(code, str) or code == -1 else -2 - code if code < 0 else terms[code]
        )

    return [
        [
            [term(one) if at in (3, 5) and i % 2 == 0 else one for i, one in enumerate(part)]
            if isinstance(part, list) else part
            for at, part in enumerate(why)
        ]
        for why in whys
    ]  # fmt: skip


def counts(n_docs, n_terms, seed=0):
    return np.random.default_rng(seed).poisson(2.0, (n_docs, n_terms)).astype(np.float32) + 0.5


def fit(n_labels, K, terms, labels=None, n_docs=None, max_iter=3):
    """A model of made-up documents."""
    n_docs = n_docs or max(2 * n_labels, 8)
    X = counts(n_docs, len(terms))
    if n_labels == 0:
        return DocumentModel(VBNMF(K, max_iter=max_iter, random_state=0)).fit(X, terms=terms)
    names = labels or [f"label {i}" for i in range(n_labels)]
    y = [names[i % n_labels] for i in range(n_docs)]
    model = SupervisedVBNMF(K, max_iter=max_iter, random_state=0)
    return DocumentModel(model).fit(X, y, terms=terms)


@cache
def usual():
    """Model, texts and labels: mixed, some wrongly labelled, one of a label nobody knows."""
    vectorizer = DocumentVectorizer(stem="english", min_df=2)
    estimator = SupervisedVBNMF(8, max_iter=60, random_state=0)
    model = DocumentModel(estimator, vectorizer, "none").fit(*make_corpus(1, n_each=25, mixed=0.3))
    texts, labels = make_corpus(2, n_each=20, mixed=0.3)
    labels[0], labels[21], labels[45], labels[-1] = "tea", "bike", "unheard", None
    texts[1] = "nothing that anybody knows"
    texts[2] = f"{texts[2]} 🍵 Wheels, wheel! " + 300 * "long text "
    return model, texts, labels


def kept(n):
    """Columns of n documents: a date, by month, and a customer; some cells are empty."""
    months = [f"2024-{1 + i % 5:02}-11" if i % 7 else "" for i in range(n)]
    return {"opened": months, "customer": [f"c{(i * i) % 45}" for i in range(n)]}


@cache
def several():
    """The same with several labels a document."""
    texts, labels = make_corpus(3, n_each=12, mixed=0.1)
    lists = [[label, "early"] if i % 2 else [label] for i, label in enumerate(labels)]
    model = DocumentModel(SupervisedVBNMF(6, max_iter=30, random_state=0)).fit(texts, lists)
    return model, texts, [*lists[:-1], None]


SCOPES = {
    "a": (1, 1, 1, 0, 1, 1, 0, 0, 0, 0),
    "b": (1, 1, 1, 0, 0, 0, 1, 0, 0, 0),
    "c": (1, 1, 0, 1, 0, 0, 0, 1, 0, 0),
    "d": (1, 1, 0, 1, 0, 0, 0, 0, 1, 0),
    "e": (1, 1, 0, 1, 0, 0, 0, 0, 0, 1),
}


@cache
def scoped():
    """A model with a background, a common component, two that labels share, and own ones."""
    labels, mask = list(SCOPES), np.array(list(SCOPES.values()), dtype=bool)
    rng = np.random.default_rng(0)
    y = np.repeat(labels, 12)
    topics = rng.dirichlet(np.full(60, 0.1), mask.shape[1])
    parts = mask * rng.uniform(0.5, 1.5, mask.shape)
    X = rng.poisson(np.repeat(40 * parts @ topics, 12, axis=0)).astype(np.float32)
    model = SupervisedVBNMF(10, scopes=mask, init=40 * topics, max_iter=40)
    model = DocumentModel(model).fit(X, y, terms=[f"term{w}" for w in range(60)])
    model.estimator_.background_ = 0  # as if it had been found
    model.estimator_.label_groups_ = {"last": np.array(["c", "d", "e"])}
    return model, X, y


@cache
def long_names():
    """Long names of labels and terms, some East Asian; some components have faded."""
    rng = np.random.default_rng(0)
    X = rng.poisson(np.kron(np.eye(3), np.full((20, 3), 4.0)) + 0.05)
    labels = ["works-with::" + "software:" * 8 + "running", "股票与金融市场的最新消息" * 3, "c"]
    terms = ["x" * 90, "北京大学", "y" * 40, "大学", *"abcde"]
    estimator = SupervisedVBNMF(6, init="label", coef_shape=1, term_shape=0.5, random_state=0)
    return DocumentModel(estimator).fit(X, np.repeat(labels, 20), terms=terms)


@cache
def page(kind):
    """A page by the name of its kind."""
    if kind == "usual":
        model, texts, labels = usual()
        return explore(
            model, texts, labels, title="The usual", command="vbnmf report x.vbnmf",
            columns=kept(len(texts)),
        )  # fmt: skip
    if kind == "no documents":
        return explore(usual()[0], title="Without documents")
    if kind == "several labels":
        return explore(*several())
    if kind == "long names":
        X = 4 * np.kron(np.eye(3), np.ones((2, 3)))
        return explore(long_names(), X, np.repeat(long_names().estimator_.classes_, 2))
    if kind == "scopes":
        return explore(*scoped(), title="Scopes")
    if kind == "hostile":
        model = fit(len(HOSTILE), 4, HOSTILE, HOSTILE)
        return explore(
            model, counts(len(HOSTILE), len(HOSTILE), 1), HOSTILE, ids=HOSTILE, title=HOSTILE[0],
            command=HOSTILE[1], columns=dict.fromkeys(HOSTILE[:10], HOSTILE),
        )  # fmt: skip
    if kind == "hostile texts":
        texts, labels = make_corpus(4, n_each=6)
        texts = [f"{text} {bad}" for text, bad in zip(texts, HOSTILE * 2, strict=False)]
        model = DocumentModel(SupervisedVBNMF(3, max_iter=5, random_state=0)).fit(texts, labels)
        return explore(model, texts, labels)
    if kind == "unsupervised":
        texts, _ = make_corpus(5, n_each=6)
        model = DocumentModel(VBNMF(5, max_iter=10, random_state=0)).fit(texts)
        return explore(model, texts)
    sizes = {
        "one label": (1, 3),
        "200 labels": (200, 12),
        "one component": (2, 1),
        "500 components": (3, 500),
        "one component, no labels": (0, 1),
    }
    n_labels, K = sizes[kind]
    terms = [f"term{i}" for i in range(40)]
    model = fit(n_labels, K, terms)
    y = [f"label {i % n_labels}" for i in range(8)] if n_labels else None
    return explore(model, counts(8, 40, 1), y, title=kind)


KINDS = [
    *(
        "usual",
        "no documents",
        "several labels",
        "scopes",
        "long names",
        "hostile",
        "hostile texts",
        "unsupervised",
    ),
    *("one label", "200 labels", "one component", "500 components", "one component, no labels"),
]
