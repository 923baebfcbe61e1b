"""What the explorer says of documents: predictions, evidence, marks in texts, scores."""

import json

import numpy as np
import pytest
from cliruns import ok
from explorer_pages import analysed, counts, fit, quality, restored, several, unpacked, usual
from oracle_uses import naming_terms, npmi_of_lists
from scipy import sparse
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, recall_score

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.metrics.shares import share_interval
from vbnmf.report.explorer import explore
from vbnmf.report.explorer import page as page_module
from vbnmf.report.explorer.documents import document_payload, shortened, summed
from vbnmf.report.explorer.payload import model_payload
from vbnmf.report.explorer.quality import calibration_points
from vbnmf.text import DocumentVectorizer
from vbnmf.text.marking import Marker

pytestmark = pytest.mark.filterwarnings(
    "ignore::vbnmf.text.EmptyDocumentWarning", "ignore:the fit did not converge"
)


def silent(part, doing):
    assert 0 <= part <= 1
    assert doing


def shown(model, documents, labels=None, most=5000, ids=None):
    found = analysed(model, documents, labels, ids)
    payload, places = model_payload(model)
    return payload, found, *document_payload(model, found, places, most, silent)


@pytest.fixture(scope="module")
def all_of_it():
    model, texts, labels = usual()
    return shown(model, texts, labels)


class TestDocuments:
    def test_predictions(self, all_of_it):
        model, texts, labels = usual()
        _, _, facts, details = all_of_it
        names = facts["names"]
        assert names == [*model.estimator_.classes_, "unheard"]
        found, scores = model.predict_with_proba(texts)
        assert [names[given] for (given,) in details["given"]] == found.tolist()
        assert [p for (p,) in details["p"]] == pytest.approx(scores.tolist(), rel=0.01)
        P = model.predict_proba(texts)
        for label, p, row in zip(labels, details["p_truth"], P, strict=True):
            if label is None:
                assert p is None
            elif label == "unheard":
                assert p == [None]
            else:
                assert p == pytest.approx([row[names.index(label)]], rel=0.01)
        truth = [None if t is None else names[t[0]] for t in details["truth"]]
        assert truth == labels
        wrong = [t is not None and t != f for t, f in zip(labels, found, strict=True)]
        assert details["wrong"] == [int(w) for w in wrong]
        assert sum(wrong) >= 3

    def test_coefficients(self, all_of_it):
        model, texts, _ = usual()
        parts = model.transform(texts) * model.estimator_.component_sums_
        parts /= parts.sum(axis=1, keepdims=True)
        for row, flat in zip(parts, all_of_it[3]["coefficients"], strict=True):
            best = np.argsort(-row, kind="stable")[:6]
            assert flat[::2] == best.tolist()
            assert flat[1::2] == pytest.approx((1000 * row[best]).tolist(), abs=0.51)

    def test_evidence(self, all_of_it):
        model, texts, _ = usual()
        payload, _, facts, details = all_of_it
        terms = payload["terms"]["names"]
        of_model = [[t for t in true or [] if t < 3] for true in details["truth"]]
        X, names = model.vectorize(texts), model.terms_
        explained = model.estimator_.explain(
            X, n_terms=8, n_components=4, names=names, also=of_model
        )
        assert max(map(len, explained)) >= 2
        for both, flat in zip(explained, details["why"], strict=True):
            assert len(both) == len(flat)
            for why, (label, p, components, by_term, share, against) in zip(
                both, flat, strict=True
            ):
                assert facts["names"][label] == why.label
                assert share == pytest.approx(why.component_share, abs=1e-3)
                assert p == pytest.approx(why.probability, rel=0.01)
                assert components[::2] == [part.component for part in why.components]
                assert [terms[w] for w in by_term[::2]] == [part.term for part in why.terms]
                assert by_term[1::2] == pytest.approx([t.part for t in why.terms], rel=0.01)
                assert against[1::2] == pytest.approx([t.part for t in why.against], rel=0.01)
                assert [terms[w] for w in against[::2]] == [part.term for part in why.against]
        for (label,), given, why in zip(
            (t or [3] for t in details["truth"]), details["given"], details["why"], strict=True
        ):
            if why:
                assert [why[0][0]] == given
                assert label == 3 or label in [w[0] for w in why]
        assert details["why"][1] == []  # no known term

    def test_terms_are_owed_to_components(self, all_of_it):
        model = usual()[0]
        payload, found, _, details = all_of_it
        place = {term: i for i, term in enumerate(model.terms_)}
        for d in (0, 5, 30):
            flat = details["terms"][d]
            assert flat
            for w, k in zip(flat[::2], flat[1::2], strict=True):
                at = place[payload["terms"]["names"][w]]
                assert (
                    k == (model.estimator_.components_[:, at] * found.part.coefficients[d]).argmax()
                )

    def test_typical(self, all_of_it):
        """Documents in which the component is strongest, but not the shortest of them."""
        _, found, facts, _ = all_of_it
        assert len(facts["typical"]) == found.part.coefficients.shape[1]
        for k, flat in enumerate(facts["typical"]):
            assert len(flat[::2]) == len(set(flat[::2])) <= 8
            if flat:
                best = found.part.coefficients[flat[0]] * usual()[0].estimator_.component_sums_
                assert best[k] / best.sum() == pytest.approx(flat[1] / 1000, abs=0.001)
                assert 1 not in flat[::2]  # it has no known term

    def test_at_most_so_many(self):
        model, texts, labels = usual()
        _, _, facts, details = shown(model, texts, labels, most=7)
        assert (facts["total"], facts["shown"]) == (60, 7)
        ids = [int(name) for name in details["ids"]]
        assert ids == sorted(set(ids))
        assert details["texts"] == [texts[d][:2000] for d in ids]
        given = model.predict(texts)
        wrong = [i for i, (y, z) in enumerate(zip(labels, given, strict=True)) if y and y != z]
        assert len(wrong) == 3
        assert {*ids} >= {*wrong}
        assert sum(details["wrong"]) == 3
        assert facts["counts"]["all"][:3] == [56, 3, 1]

    def test_without_labels_documents_are_spread_evenly(self):
        model = fit(0, 3, list("abcdef"))
        assert shown(model, counts(60, 6), most=7)[3]["ids"] == [
            *("0", "10", "20", "30", "39", "49", "59")
        ]

    def test_long_texts_are_cut(self, all_of_it):
        _, _, facts, details = all_of_it
        assert facts["longest"] == 2000
        assert len(details["texts"][2]) == 2000 < details["lengths"][2] == len(usual()[1][2])
        shorter = shortened(details, 40)
        for text, marks, before in zip(
            shorter["texts"], shorter["spans"], details["spans"], strict=True
        ):
            assert len(text) <= 40
            assert marks == before[: len(marks)]
            gaps_and_lengths = [n for i, n in enumerate(marks) if i % 3 < 2]
            assert sum(gaps_and_lengths) <= 40
        assert sum(map(len, shorter["spans"])) > 100

    def test_texts_are_cut_until_the_page_is_small(self, monkeypatch):
        model, texts, labels = usual()
        full = len(explore(model, texts, labels).html)
        monkeypatch.setattr(page_module, "_PACKED", 6000)
        cut = explore(model, texts, labels).html
        assert len(cut) < full
        assert unpacked(cut)["documents"]["longest"] == 120

    def test_matrix(self):
        """Without texts the heaviest terms stand for them."""
        terms = [f"term {i}" for i in range(90)]
        model = fit(2, 3, terms)
        X = counts(4, 90, seed=1)
        _, _, facts, details = shown(model, X, ["label 0", "label 1", None, "label 1"])
        assert details["texts"] is details["spans"] is details["lengths"] is None
        assert not facts["marked"]
        assert [len(flat) for flat in details["terms"]] == [120] * 4
        assert details["terms"][0][0] == X[0].argmax()
        again = shown(model, sparse.csr_matrix(X))[3]
        assert again["terms"] == details["terms"]
        assert again["truth"] is None

    def test_unsupervised(self):
        model = fit(0, 3, list("abcdef"))
        labels = ["x", "y", "x", None]
        _, _, facts, details = shown(model, counts(4, 6), labels)
        assert facts["names"] == ["x", "y"]
        assert details["truth"] == [[0], [1], [0], None]
        assert details["given"] is details["why"] is details["p"] is None
        payload, measures = quality(model, counts(4, 6), labels)
        assert "by_label" not in payload
        assert "micro_accuracy" not in measures
        assert 0 < measures["inter_label_sparsity"] < 1

    def test_labels_that_are_not_known(self):
        """As a fit takes them: None, NaN, the NA of pandas, an empty list, what stands for none."""
        import pandas as pd

        terms = list("abcdef")
        estimator = SupervisedVBNMF(2, max_iter=2, unlabelled=-1, random_state=0)
        model = DocumentModel(estimator).fit(counts(4, 6), [0, 1, 0, 1], terms=terms)
        labels = [1, -1, None, np.float32("nan"), pd.NA, []]
        details = shown(model, counts(6, 6), labels)[3]
        assert details["truth"] == [[1], None, None, None, None, None]

    def test_several_labels(self):
        model, texts, labels = several()
        _, _, facts, details = shown(model, texts, labels)
        names = facts["names"]
        found = [[names[i] for i in given] for given in details["given"]]
        assert found == model.predict(texts)
        truth = [None if t is None else [names[i] for i in t] for t in details["truth"]]
        assert truth == [None if label is None else sorted(label) for label in labels]
        P = model.predict_proba(texts)
        for d, (given, true) in enumerate(zip(details["given"], details["truth"], strict=True)):
            assert details["p"][d] == pytest.approx(P[d, given].tolist(), rel=0.01)
            if true is not None:
                assert details["p_truth"][d] == pytest.approx(P[d, true].tolist(), rel=0.01)
        assert max(map(len, details["given"])) == 2
        bits = np.array([[int(n in (t or [])) for n in names] for t in labels])
        again = shown(model, texts, bits)[3]
        as_sets = [None if t is None else set(t) for t in details["truth"]]
        assert [None if t is None else set(t) for t in again["truth"]] == as_sets

    @pytest.mark.parametrize(
        ("documents", "labels", "ids", "message"),
        [
            ([], None, None, "no documents"),
            (["wheel"], ["a", "b"], None, "is 1 document but 2 labels"),
            (["wheel"], None, ["a", "b"], "is 1 document but 2 ids"),
            (["wheel"], [["bike", "tea"]], None, "have several labels"),
            (["wheel"], np.ones((1, 9)), None, "9 columns"),
        ],
    )
    def test_refusals(self, documents, labels, ids, message):
        with pytest.raises(ValueError, match=message):
            analysed(usual()[0], documents, labels, ids)


class TestMarking:
    def marks(self, text, **options):
        vectorizer = DocumentVectorizer(**options).fit([text, "other words"])
        terms = vectorizer.get_feature_names_out()
        (marks,) = Marker.of(vectorizer).mark([text])
        return [(text[start:end], terms[column]) for start, end, column in marks]

    def test_words(self):
        assert self.marks("A Cat, cats! 🍵 dog-cat") == [
            *(("Cat", "cat"), ("cats", "cats"), ("🍵", "🍵"), ("dog", "dog"), ("cat", "cat"))
        ]
        assert self.marks("Cat CATS", stem="english") == [("Cat", "cat"), ("CATS", "cat")]
        assert self.marks("Cat cat", lowercase=False) == [("Cat", "Cat"), ("cat", "cat")]
        assert self.marks("the cat", stop_words="english") == [("cat", "cat")]
        pattern = {"token_pattern": r"[a-z](\d)"}
        assert self.marks("x1 y2", **pattern) == [("1", "1"), ("2", "2")]

    def test_runs_of_words(self):
        """The longest is marked, across a stop word, and no word twice."""
        found = self.marks("big red apple", ngram_range=(1, 2))
        assert found == [("big red", "big red"), ("apple", "apple")]
        found = self.marks("cup of tea", ngram_range=(2, 2), stop_words=["of"])
        assert found == [("cup of tea", "cup tea")]

    @pytest.mark.parametrize(
        ("text", "stop_words", "lowercase", "marked"),
        [
            ("cup o'clock of tea", ["o'clock", "of"], True, "cup o'clock of tea"),  # split
            ("Cup Of Tea", ["Of"], False, "Cup Of Tea"),  # case is kept
            ("cup of tea", ["Of"], True, "cup of tea"),  # case is not kept
        ],
    )
    def test_stop_words_are_those_of_the_fit(self, tmp_path, text, stop_words, lowercase, marked):
        """They are split like documents, read once, and the same in a stored vectorizer."""
        file = tmp_path / "stop.txt"
        file.write_text("\n".join(stop_words))
        vectorizer = DocumentVectorizer(
            ngram_range=(2, 2), stop_words=file, lowercase=lowercase
        ).fit([text, "other words"])
        file.unlink()
        stored = DocumentVectorizer.from_state(*vectorizer.to_state())
        for one in (vectorizer, stored):
            ((start, end, _),) = Marker.of(one).mark([text])[0]
            assert text[start:end] == marked

    def test_any_script(self):
        """No character is marked twice; places are those of the text as it stands."""
        found = self.marks("A Cafe\u0301 北京大学的 👍🏽 हिन्दी")
        assert found == [
            *(("Cafe\u0301", "café"), ("北京", "北京"), ("大学", "大学"), ("的", "的")),
            *(("👍🏽", "👍"), ("हिन्दी", "हिन्दी")),
        ]
        assert self.marks("北京大学", ngram_range=(1, 2)) == [("北京大", "北京大"), ("学", "学")]
        assert self.marks("東京 ok", analyzer="word") == [("東京", "東京"), ("ok", "ok")]

    def test_html_is_not_shown(self):
        texts = ["<p>green <b>t</b>ea</p>", "<p>red tea &amp; milk</p>", "<p>black coffee</p>"]
        vectorizer = DocumentVectorizer(strip="html")
        model = DocumentModel(SupervisedVBNMF(2, max_iter=2, random_state=0), vectorizer)
        model.fit(texts, ["a", "a", "b"])
        _, _, facts, details = shown(model, texts)
        assert facts["marked"]
        assert [text.strip() for text in details["texts"]] == [
            *("green tea", "red tea & milk", "black coffee")
        ]
        assert details["lengths"] == [len(text) for text in details["texts"]]

    def test_unknown_words(self):
        vectorizer = DocumentVectorizer().fit(["one two"])
        assert Marker.of(vectorizer).mark(["three two", ""]) == [[(6, 9, 1)], []]

    def test_no_places(self):
        assert Marker.of(None) is None
        texts = ["green tea", "red tea", "black coffee"]
        vectorizer = DocumentVectorizer(analyzer="char")
        assert Marker.of(vectorizer.fit(texts)) is None
        model = DocumentModel(SupervisedVBNMF(2, max_iter=2, random_state=0), vectorizer)
        model.fit(texts, ["a", "a", "b"])
        _, _, facts, details = shown(model, texts)
        assert not facts["marked"]
        assert details["texts"] == texts


class TestQuality:
    def test_single(self, all_of_it):
        model, texts, labels = usual()
        payload, measures = quality(model, texts, labels)
        known = [i for i, label in enumerate(labels) if label is not None]
        y, z = np.array(labels)[known], model.predict(texts)[known]
        names = all_of_it[2]["names"]
        assert payload["labelled"] == len(known) == 59
        assert payload["empty"] == 1
        assert measures["micro_accuracy"] == pytest.approx(accuracy_score(y, z), rel=1e-3)
        recall = recall_score(y, z, labels=names, average=None, zero_division=0)
        assert measures["macro_accuracy"] == pytest.approx(recall.mean(), rel=1e-3)
        assert payload["confusion"] == confusion_matrix(y, z, labels=names).tolist()
        found = [row[1] for row in payload["by_label"]]
        assert found == pytest.approx(recall.tolist(), rel=1e-3)
        X = model.vectorize(texts)
        of = model.estimator_
        npmi = npmi_of_lists(naming_terms(of, 10), X.toarray())
        assert payload["npmi_documents"] == pytest.approx(npmi, rel=0.01, abs=1e-3)

    def test_several(self):
        model, texts, labels = several()
        payload, measures = quality(model, texts, labels)
        names = analysed(model, texts, labels).names
        known = [i for i, label in enumerate(labels) if label is not None]
        Y = np.array([[int(n in labels[i]) for n in names] for i in known])
        Z = model.estimator_.predict(model.vectorize([texts[i] for i in known]))
        f1 = f1_score(Y, Z, average="micro")
        assert measures["micro_f1"] == pytest.approx(f1, rel=1e-3)
        assert sum(n for _, _, n, *_ in payload["calibration"]) == Y.size
        assert "confusion" not in payload

    @pytest.mark.parametrize("make", [usual, several])
    def test_page_and_evaluate_agree(self, make, tmp_path):
        """Also if the commonest label is another one than in training, and most are blank."""
        model, texts, labels = make()
        last = str(model.estimator_.classes_[-1])
        labels = [y if y and (last in y or i % 4 == 0) else None for i, y in enumerate(labels)]
        n_labelled = sum(label is not None for label in labels)
        assert 0 < n_labelled < len(texts)
        rows = [{"text": text, "label": y} for text, y in zip(texts, labels, strict=True)]
        file = tmp_path / "some.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        model.save(tmp_path / "m.vbnmf")
        scores = ok("evaluate", tmp_path / "m.vbnmf", file, "--json", "--label", "label").json
        page = tmp_path / "page.html"
        ok("report", tmp_path / "m.vbnmf", "--documents", file, "--label", "label", "--out", page)
        rows = unpacked(page.read_text(encoding="utf-8"))["measures"]
        measures = {row["key"]: row["value"] for row in rows}
        assert {row["of"] for row in rows} == {
            *(f"{n_labelled} labelled documents", f"all {len(texts)} documents", "the model")
        }
        assert {row["key"]: row["of"] for row in rows}.items() >= {
            key: of for key, of in scores["measured_on"].items() if scores[key] is not None
        }.items()
        keys = ("micro_accuracy", "macro_accuracy", "most_frequent_label_accuracy")
        if make is several:
            keys = ("micro_f1", "macro_f1", "subset_accuracy", "most_frequent_label_f1")
        keys += ("npmi_documents", "npmi_windows", "held_out_log_likelihood", "component_share")
        found = [measures[key] for key in keys]
        assert found == pytest.approx([scores[key] for key in keys], rel=1e-3)

    def test_a_label_that_was_never_predicted(self):
        """It has no precision; a label that no document has has no recall."""
        model, texts, labels = usual()
        wanted = str(model.estimator_.classes_[0])
        given = model.predict(texts)
        kept = [i for i, y in enumerate(labels) if y == given[i] == wanted]
        payload, _ = quality(model, [texts[i] for i in kept], [wanted] * len(kept))
        first, *others = payload["by_label"]
        assert first == [len(kept), 1, 1]
        assert others == [[0, None, None]] * len(others)

    def test_no_label_known(self):
        model, texts, _ = usual()
        payload, measures = quality(model, texts, [None] * 60)
        assert payload["labelled"] == 0
        assert "by_label" not in payload
        assert "micro_accuracy" not in measures

    def test_calibration(self):
        p = np.array([0.05, 0.95, 0.96, 1.0, 0.55])
        hit = np.array([False, True, False, True, True])
        points = calibration_points(p, hit)
        assert [row[:3] for row in points] == [[0.05, 0, 1], [0.55, 1, 1], [0.97, 0.6667, 3]]
        low, high = share_interval(2, 3)
        assert points[2][3:] == pytest.approx([float(low), float(high)], abs=1e-4)


def test_what_is_packed_is_what_was_found(all_of_it):
    model, texts, labels = usual()
    html = explore(model, texts, labels).html
    details = restored(unpacked(html, "packed"))
    assert details == json.loads(json.dumps(all_of_it[3]))


def test_evidence_of_equal_characters_is_one():
    """A mark and a piece of a word that look the same would else be shaded by the weaker one."""
    assert summed([("《", 0.73), (5, 0.6), ("《", 0.325)]) == ["《", 1.055, 5, 0.6]
    assert summed([(3, 0.5), ("!", 0.4), ("!", 0.4)]) == ["!", 0.8, 3, 0.5]
    assert summed([]) == []
