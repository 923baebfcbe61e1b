"""Which documents a page shows, and how many there are in all."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from vbnmf.report.explorer.choosing import choose, count_documents, is_wrong
from vbnmf.report.explorer.packing import hundredths, sig, thousandths

N_NAMES, N_LABELS, N_DOCS = 5, 4, 400  # the last name is of no label of the model


def drawn(*, several, seed=0):
    """True and predicted labels of documents, some unknown."""
    rng = np.random.default_rng(seed)

    def some(n, least):
        size = rng.integers(least, 3) if several else 1
        p = rng.dirichlet(np.full(n, 20.0))
        return sorted(rng.choice(n, size, replace=False, p=p).tolist())

    truth = [None if rng.random() < 0.1 else some(N_NAMES, 1) for _ in range(N_DOCS)]
    given = [
        list(true) if true and max(true) < N_LABELS and rng.random() < 0.6 else some(N_LABELS, 0)
        for true in truth
    ]
    return truth, given


def indicators(truth):
    rows = [[int(label in (true or [])) for label in range(N_NAMES)] for true in truth]
    return sparse.csr_array(np.array(rows))


@pytest.mark.parametrize("several", [False, True])
class TestCounts:
    def test_each_is_counted(self, several):
        """Every number again, by going through the documents."""
        truth, given = drawn(several=several)
        found = count_documents(indicators(truth), given, by_pair=True)
        documents = list(zip(truth, given, strict=True))

        def row(chosen, missed, wrongly):
            known = [(t, g) for t, g in chosen if t is not None]
            right = sum(set(t) == set(g) for t, g in known)
            return [right, len(known) - right, len(chosen) - len(known), missed, wrongly]

        known = [(set(t), set(g)) for t, g in documents if t is not None]
        assert found["all"] == row(
            documents, sum(bool(t - g) for t, g in known), sum(bool(g - t) for t, g in known)
        )
        for label in range(N_NAMES):
            of_truth = [(t, g) for t, g in documents if label in (t or [])]
            missed = sum(label not in g for _, g in of_truth)
            assert found["truth"][label] == row(of_truth, missed, 0)
            of_given = [(t, g) for t, g in documents if label in g]
            wrongly = sum(t is not None and label not in t for t, _ in of_given)
            assert found["given"][label] == row(of_given, 0, wrongly)
        pairs = Counter(
            (i, j, t == g) for t, g in known for i in t for j in g
        )  # right ones apart from wrong ones
        listed = np.reshape(found["pairs"], (-1, 4)).tolist()
        assert len(listed) == len({(i, j) for i, j, _ in pairs})
        for i, j, right, wrong in listed:
            assert (right, wrong) == (pairs[i, j, True], pairs[i, j, False])
        assert count_documents(indicators(truth), given, by_pair=False)["pairs"] == []

    def test_no_predictions(self, several):
        truth, _ = drawn(several=several)
        found = count_documents(indicators(truth), None, by_pair=True)
        unknown = sum(t is None for t in truth)
        assert found["all"] == [N_DOCS - unknown, 0, unknown, 0, 0]
        assert [row[0] for row in found["truth"]] == [
            sum(label in (t or []) for t in truth) for label in range(N_NAMES)
        ]


class TestChoice:
    @pytest.mark.parametrize("several", [False, True])
    @pytest.mark.parametrize("most", [1, 7, 60, 250, 399])
    def test_as_many_as_there_is_room_for(self, several, most):
        truth, given = drawn(several=several)
        chosen = choose(truth, given, N_DOCS, most)
        assert len(set(chosen.tolist())) == len(chosen) == most
        assert (np.diff(chosen) > 0).all()
        assert choose(truth, given, N_DOCS, N_DOCS).tolist() == list(range(N_DOCS))

    def test_wrong_ones_first(self):
        truth, given = drawn(several=False)
        wrong = is_wrong(truth, given, N_DOCS)
        assert wrong[choose(truth, given, N_DOCS, int(wrong.sum() / 0.8) + 1)].sum() == wrong.sum()
        assert wrong[choose(truth, given, N_DOCS, 50)].sum() == 40

    def test_small_confusions_are_complete(self):
        """Those of a frequent confusion give way, and those that stay are of the whole file."""
        truth = [[0]] * 90 + [[1]] * 4 + [[2]] * 300
        given = [[1]] * 90 + [[0]] * 4 + [[2]] * 300
        chosen = choose(truth, given, 394, 50)
        assert (chosen < 90).sum() == 36
        assert ((chosen >= 90) & (chosen < 94)).sum() == 4
        assert (chosen[0], chosen[35]) == (0, 89)
        assert np.diff(chosen[:36]).max() <= 3

    def test_every_label_that_was_missed_or_wrongly_predicted(self):
        truth, given = drawn(several=True)
        chosen = choose(truth, given, N_DOCS, 40)
        errors = [
            {("missed", x) for x in {*t} - {*g}} | {("wrongly", x) for x in {*g} - {*t}}
            for t, g in zip(truth, given, strict=True)
            if t is not None
        ]
        some = [
            {("missed", x) for x in {*truth[d]} - {*given[d]}}
            | {("wrongly", x) for x in {*given[d]} - {*truth[d]}}
            for d in chosen
            if truth[d] is not None
        ]
        assert set().union(*some) == set().union(*errors)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(0.99951, 3, 0.9999), (0.9994, 3, 0.999), (1.0, 3, 1), (1.0004, 3, 1), (1e-9, 3, 1e-9)],
)
def test_no_part_is_rounded_to_the_whole(value, digits, expected):
    assert sig(value, digits) == pytest.approx(expected, rel=1e-12)
    assert (sig(value, digits) < 1) == (value < 1)


def test_per_mille_and_per_cent():
    assert [thousandths(p) for p in (0, 0.0123, 0.9994, 0.9996, 1.0)] == [0, 12, 999, 999.9, 1000]
    found = [hundredths(p) for p in (0.0, 0.034, 0.994, 0.9956, 0.99996, 1.0)]
    assert found == pytest.approx([0, 3, 99, 99.6, 99.99, 100])
