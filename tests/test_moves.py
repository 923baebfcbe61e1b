"""Moves of the search: splitting by agreement, widening, adding, reducing."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln, psi

from benchmarks import drawn
from vbnmf import SupervisedVBNMF, load
from vbnmf.core.model import Labels
from vbnmf.core.starts import Knobs
from vbnmf.discovery import componentsearch, moves
from vbnmf.discovery.drafts import Draft, Plan, begin, narrowed, with_groups
from vbnmf.discovery.labelterms import LabelTerms
from vbnmf.discovery.merging import _Column, merge_order
from vbnmf.engines.local import LocalEngine
from vbnmf.kernels import open_kernel

pytestmark = pytest.mark.kernel

KNOBS = Knobs(a_t=0.1, b_t=None, a_v=0.2, b_v=None, a_lam=1.0)


def no_groups(n_labels):
    return np.zeros((0, n_labels), dtype=bool)


def topics(rng, n_topics, n_terms=40):
    """Topics of separate terms."""
    size = n_terms // n_topics
    T = np.zeros((n_topics, n_terms))
    for k in range(n_topics):
        T[k, size * k : size * (k + 1)] = rng.dirichlet(np.full(size, 2.0))
    return T


def corpus(seed, mixes, n_docs=60, weight=40.0):
    """Documents of labels that mix topics; ``mixes`` has the parts of topics in each label."""
    rng = np.random.default_rng(seed)
    mixes = np.asarray(mixes, dtype=float)
    T = topics(rng, mixes.shape[1])
    y = np.repeat(np.arange(len(mixes)), n_docs)
    V = weight * rng.gamma(2.0, 0.5, (len(y), mixes.shape[1])) * mixes[y]
    return sparse.csr_array(rng.poisson(V @ T).astype(np.float64)), y, T


@pytest.fixture
def explorer():
    """Make an explorer of documents; its engine is closed after the test."""
    with open_kernel(1) as kernel:

        def make(X, y):
            n_labels = y.max() + 1
            engine = LocalEngine(kernel, X, y.astype(np.int32), n_labels)
            labels = Labels.one_each(np.bincount(y).astype(float))
            return componentsearch._Explorer(engine, labels, KNOBS, X.dtype, lambda *_: None)

        yield make


def draft_of(components, mask, X, y):
    """A draft with given components; labels use those of their scope in equal parts."""
    counts = (components * X.sum() / len(components)).T.copy()
    mask = np.asarray(mask, dtype=bool)
    return Draft(counts, mask / mask.sum(axis=1, keepdims=True), mask)


def test_two_glued_topics_are_split_and_a_shared_one_is_not(explorer):
    # topic 0 in labels 0 and 1, topic 1 in label 0 and topic 2 in label 1
    X, y, T = corpus(0, [[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 1]])
    glued = np.vstack([T[0], (T[1] + T[2]) / 2, T[3]])
    mask = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    look = explorer(X, y).look(draft_of(glued, mask, X, y), "")
    assert look.glued(0) == 1
    split = moves.split_by_agreement(look, 0)
    assert_array_equal(split.mask.T[0], [1, 1, 0])
    assert sorted(map(tuple, split.mask.T[[1, 3]].astype(int))) == [(0, 1, 0), (1, 0, 0)]
    assert_allclose(split.counts.sum(axis=1), look.draft.counts.sum(axis=1), rtol=1e-2)
    again = explorer(X, y).look(split, "")
    assert again.glued(0) == 0
    assert moves.split_by_agreement(again, 0).K == split.K  # nothing is left to split


def test_first_components_are_not_split(explorer):
    X, y, T = corpus(0, [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    glued = np.vstack([(T[1] + T[2]) / 2, T[3]])
    look = explorer(X, y).look(draft_of(glued, [[1, 0], [1, 0], [0, 1]], X, y), "")
    assert moves.split_by_agreement(look, 1).K == 2
    assert moves.split_by_agreement(look, 0).K == 3


def test_worth_is_what_the_documents_lose(explorer):
    X, y, T = corpus(3, [[0.5, 0.5, 0, 0], [0.3, 0, 0.7, 0], [0, 0, 0.5, 0.5]], n_docs=6)
    mask = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]], dtype=bool)
    seen = {}

    def keep(documents, draft, state, V, residual):
        E_t = (draft.counts.astype(float) + state.prior.a_t) * state.terms.scale
        seen.update(state=state, V=V.copy(), E_t=E_t)
        return moves.look_at(documents, draft, state, V, residual=residual)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(componentsearch, "look_at", keep)
        look = explorer(X, y).look(draft_of(T, mask, X, y), "", residual=True)
    state, V, E_t, dense = seen["state"], seen["V"], seen["E_t"], X.toarray()
    rate, a_v = state.rates.E, state.prior.a_v
    for k in range(4):
        worth = 0.0
        for d in range(len(dense)):
            if not mask[y[d], k]:
                continue
            mean = E_t @ (V[d] * mask[y[d]])
            part = E_t[:, k] * V[d, k] / np.where(mean > 0, mean, 1.0)  # 0 where nothing is
            part = np.minimum(part, 1 - 1e-6)
            worth -= moves._REMAINS * (dense[d] * np.log1p(-part)).sum()
            lam = rate[y[d], k]
            scale = 1 / (lam + state.terms.E_sums[k])
            a = V[d, k] / scale
            worth -= (
                (a - a_v) * psi(a) - gammaln(a) + gammaln(a_v)
                - a_v * np.log(scale * lam) + a * (scale * lam - 1)
            )  # fmt: skip
        assert_allclose(look.worth[k], worth, rtol=1e-6)
    left = np.maximum(dense - (V * mask[y]) @ E_t.T, 0) * (dense > 0)
    expected = np.stack([left[y == label].sum(axis=0) for label in range(3)])
    assert_allclose(look.residual.toarray(), expected, rtol=1e-6, atol=1e-9)


def test_gain_of_one_coefficient_instead_of_two(explorer):
    """The definition in loops."""
    X, y, T = corpus(5, [[0.6, 0.4, 0], [0.5, 0, 0.5]], n_docs=8)
    halves = np.vstack([T[0], 0.7 * T[0] + 0.3 * T[1], T[1], T[2]])
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 1]], dtype=bool)
    look = explorer(X, y).look(draft_of(halves, mask, X, y), "")
    V = np.column_stack([look.explained.coefficients(k) for k in range(4)])
    E_t, a_v = look.explained.T[:, :], look.use.a_v
    dense = X.toarray()

    def part(s, rho):
        return gammaln(a_v + s) - gammaln(a_v) + a_v * np.log(rho) - (a_v + s) * np.log1p(rho)

    expected = 0.0
    for d in range(len(dense)):
        shares = V[d] * E_t
        shares *= (dense[d] / np.maximum(shares.sum(axis=1), 1e-300))[:, None]
        s_0, s_1 = shares[:, :2].sum(axis=0)
        rho_0, rho_1 = look.use.rate[y[d], :2]
        expected += part(s_0 + s_1, 1 / (1 / rho_0 + 1 / rho_1)) - part(s_0, rho_0)
        expected -= part(s_1, rho_1)
        for one, other in shares[:, :2]:
            if one > 0 and other > 0:
                expected += one * np.log(one / (one + other))
                expected += other * np.log(other / (one + other))
    gains = moves.gains_of_joint_use(look, 0)
    assert_allclose(gains[0, 1], expected, rtol=1e-8)
    assert (2, 3) not in gains  # no document uses both
    assert (0, 1) not in moves.gains_of_joint_use(look, 1)  # they are numbered without the first


def test_copies_of_a_component_are_merged_first(explorer):
    """Documents of label 0 divide one topic between two components; label 1 has two topics."""
    X, y, T = corpus(6, [[1, 0, 0], [0, 0.5, 0.5]], n_docs=80)
    rng = np.random.default_rng(0)
    copies = T[0] * rng.uniform(0.5, 1.5, (2, T.shape[1]))
    start = np.vstack([copies / copies.sum(axis=1, keepdims=True), T[1:]])
    mask = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    found = explorer(X, y)
    look = found.look(draft_of(start, mask, X, y), "")
    fewer = moves.reduced(look, found.a_t, 3, 0, Plan(3, no_groups(2), background=False))
    assert_array_equal(fewer.mask.sum(axis=1), [1, 2])
    assert moves.gains_of_joint_use(look, 0)[0, 1] > 0


def test_unused_components_are_dropped():
    """The third explains half a document; label 1 keeps its only component, which is as weak."""
    counts = np.array([[30.0, 0.0, 1.0, 0.5], [0.0, 48.0, 0.0, 0.5]])
    mask = np.array([[1, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    draft = Draft(counts, mask / mask.sum(axis=1, keepdims=True), mask)
    plan = Plan(4, no_groups(2), background=False)
    fewer = moves.without_unused(draft, 40.0, 0, plan)  # documents of weight 2
    assert_array_equal(fewer.counts, counts[:, [0, 1, 3]])
    assert_array_equal(fewer.mask, mask[:, [0, 1, 3]])
    assert moves.without_unused(draft, 80.0, 0, plan) is draft  # of weight 1
    assert moves.without_unused(draft, 40.0, 3, plan) is draft


def test_a_component_is_offered_to_a_label_that_has_its_terms(explorer):
    X, y, T = corpus(1, [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    # label 1 has a blend of its own, so it does not need topic 0 of label 0
    blend = np.vstack([T[0], (T[0] + T[1]) / 2, T[2], T[3]])
    draft = draft_of(blend, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], X, y)
    sums = explorer(X, y).label_sums
    plan = Plan(4, no_groups(3), background=False)
    wide = moves.widened(draft, sums, 0, plan)
    assert wide.mask[1, 0]
    assert not wide.mask[2, :2].any()
    assert not moves.widened(draft, sums, 1, plan).mask[1, 0]  # the first is fixed
    tree = Plan(4, np.array([[1, 0, 1]], dtype=bool), background=False)  # label 1 is outside
    assert not moves.widened(draft, sums, 0, tree).mask[1, 0]
    assert_allclose(wide.portions.sum(axis=1), 1)


def test_widening_and_narrowing_again_change_nothing(explorer):
    drawn_corpus = drawn.draw("mixed", 0, n_docs=600, n_terms=200)
    X, y = sparse.csr_array(drawn_corpus.X.astype(np.float64)), drawn_corpus.y
    plan = Plan(len(drawn_corpus.components), no_groups(12), background=False)
    model = SupervisedVBNMF(plan.n_components, classifier="generative").fit(X, y)
    one = explorer(X, y)
    draft = draft_of(model.components_, model.scopes_, X, y)

    def settled(draft):
        for _ in range(4):
            draft = one.settle(draft, "")
        return draft

    def again(draft):
        wide = settled(moves.widened(settled(draft), one.label_sums, 0, plan))
        return narrowed(wide, plan) or wide

    first = again(draft)
    assert_array_equal(again(first).mask, first.mask)


def test_narrowing_takes_labels_that_hardly_use_a_component():
    use = np.array([[0.005, 0.7, 0.29, 0.005], [0.005, 0.005, 0.4, 0.59]])
    draft = Draft(np.ones((5, 4)), use, np.ones((2, 4), dtype=bool), background=0)
    plan = Plan(4, no_groups(2), background=True)
    found = narrowed(draft, plan)
    assert_array_equal(found.mask, [[1, 1, 1, 0], [1, 0, 1, 1]])  # the background keeps its labels
    left = use * found.mask / (use * found.mask).sum(axis=1, keepdims=True)
    assert_allclose(found.portions, 0.95 * left + 0.05 / 3 * found.mask)
    assert narrowed(found, plan) is None


def test_a_group_of_labels_gets_a_share_of_each():
    """A quarter of each label, but half of a label at most for all its groups together."""
    label_mass = np.array([40.0, 30, 20, 10])
    draft = Draft(np.diag(label_mass), np.eye(4), np.eye(4, dtype=bool))
    groups = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    part = np.array([[1 / 6, 1 / 6, 1 / 6], [0.25, 0.25, 0], [0.25, 0, 0], [0.25, 0, 0]])
    found = with_groups(draft, label_mass, groups, background=True)
    assert found.background == 0
    assert_array_equal(found.mask, np.hstack([groups.T, draft.mask]))
    assert_allclose(found.portions[:, :3], part)
    assert_allclose(found.portions.sum(axis=1), 1)
    assert_allclose(found.counts, label_mass[:, None] * found.portions)
    alone = with_groups(draft, label_mass, groups[:1])
    assert alone.background is None
    assert_allclose(alone.portions[:, 0], 0.25)


@pytest.mark.parametrize("prior_in", [0.0, 0.1, 0.3])
def test_the_prior_is_added_to_the_counts_of_a_draft_once(explorer, prior_in):
    X, y, T = corpus(0, np.eye(3))
    one, draft = explorer(X, y), draft_of(T, np.eye(3), X, y)
    counts = draft.counts.copy()
    draft = replace(draft, counts=counts + prior_in, prior_in=prior_in)
    state = begin(one.engine, draft, KNOBS, one.labels, X.dtype)
    assert_allclose(state.terms.shape[:, :3], counts + KNOBS.a_t)


def test_groups_that_agree():
    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(30), 2)
    label = np.repeat(np.arange(4), 50)
    words = np.array([a, b, a, b])
    shares = sparse.csr_array(rng.poisson(30 * words[label]).astype(float))
    groups = moves.groups_that_agree(LabelTerms.of(shares, label, 5))
    assert sorted(sorted(group.tolist()) for group in groups) == [[0, 2], [1, 3]]


def test_unlike_components_of_different_labels_are_merged_last():
    a, b, c = np.eye(3).repeat(5, axis=1)
    counts = np.column_stack([50 * a, 20 * b, 20 * c, 500 * a])
    scopes = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    merges = merge_order(counts, 0.1, 3, scopes=scopes)
    assert merges.groups() == [[0, 3], [1], [2]]  # alike, of different labels
    assert merges.n_unlike == 0
    merges = merge_order(counts, 0.1, 2, scopes=scopes)
    assert merges.n_unlike == 1
    assert [1, 2] not in merge_order(counts, 0.1, 3, scopes=scopes).groups()


def test_alike_components_of_several_labels_are_merged_beyond_the_number():
    a, b = np.eye(2).repeat(6, axis=1)
    counts = np.column_stack([300 * a, 280 * a, 100 * b])
    scopes = np.array([[1, 0, 0], [0, 1, 1]], dtype=bool)
    assert merge_order(counts, 0.1, 3, scopes=scopes).groups() == [[0, 1], [2]]
    assert merge_order(counts, 0.1, 3).groups() == [[0], [1], [2]]  # of one scope they stay


def test_a_component_that_is_worth_nothing_is_dropped_but_not_the_last_of_a_label():
    a, b, c = np.eye(3).repeat(5, axis=1)
    counts = np.column_stack([50 * a, 3 * b, 40 * c])
    scopes = np.array([[1, 1, 0], [0, 0, 1]], dtype=bool)
    merges = merge_order(counts, 0.1, 2, scopes=scopes, worth=np.array([900.0, 1.0, -900.0]))
    assert merges.groups() == [[0], [2]]
    assert merges.pairs == [(1, -1)]


def test_complexity_is_the_formula():
    c = np.array([3.0, 0.5, 7.0])
    a, n_terms = 0.3, 10
    g = (gammaln(a + c) - gammaln(a)).sum() - gammaln(n_terms * a + c.sum()) + gammaln(n_terms * a)
    expected = (c * np.log(c / c.sum())).sum() - g
    assert_allclose(_Column.of(np.arange(3), c, a).complexity(a, n_terms), expected)


def test_filling_up_to_a_number(explorer):
    X, y, T = corpus(2, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]])
    one = explorer(X, y)
    look = one.look(draft_of(T[:3], np.eye(3), X, y), "", residual=True)
    more = moves.filled(look, 8, one.label_mass)
    assert more.K == 8
    assert (more.mask.sum(axis=0) == 1).all()
    assert_allclose(more.portions.sum(axis=1), 1)
    assert (more.counts[:, 3:].sum(axis=0) > 0).all()


def test_labels_of_a_fit_agree_on_what_they_share(tmp_path):
    mixes = [[0.5, 0.3, 0.2, 0, 0, 0, 0, 0], [0.5, 0, 0, 0.3, 0.2, 0, 0, 0],
             [0, 0, 0, 0, 0, 0.4, 0.3, 0.3]]  # fmt: skip
    X, y, _ = corpus(5, mixes, n_docs=80)
    model = SupervisedVBNMF(8).fit(X, y)
    shared = model.scopes_.sum(axis=0) == 2
    assert_array_equal(np.isnan(model.component_agreement_), ~shared)
    (common,) = np.flatnonzero(shared)
    assert_array_equal(model.scopes_[:, common], [True, True, False])
    assert model.component_agreement_[common] > 0.8
    model.save(tmp_path / "model.vbnmf")
    kept = load(tmp_path / "model.vbnmf").component_agreement_
    assert_array_equal(kept, model.component_agreement_)


def test_with_fewer_components_than_labels_the_glue_is_measured():
    X, y, _ = corpus(6, np.eye(8)[:, :8], n_docs=30)
    model = SupervisedVBNMF(3).fit(X, y)
    assert model.n_components_ == 3
    assert np.nanmin(model.component_agreement_) < 0.5
    enough = SupervisedVBNMF(8).fit(X, y)
    assert enough.n_components_ == 8
    assert not (enough.component_agreement_ < 0.5).any()


@pytest.mark.parametrize(
    ("soft", "glued", "rises", "rounds"),
    [
        (True, [0, 0, 0], [0.0005, 0.0005], 1),  # of steady rounds, one that gains little is last
        (True, [0, 0, 0, 0], [0.01, 0.002, 0.0005, 0.01], 3),
        (True, [1, 1, 1, 1], [0.0005, 0.0005, 0.0001], 3),  # but not while a component is glued
        (True, [1, 0, 0], [-0.01, 0.01], 1),
        (False, [0, 0, 0], [0.0005, 0.0001], 2),
        (False, [3, 2, 1, 1, 1], [-0.01, -0.01, 0.0001], 3),  # fewer are glued at a lower bound
        (True, [3, 2, 1, 1, 1], [-0.01, -0.01, 0.0001], 3),
    ],
)
def test_rounds_end_when_they_gain_little(explorer, monkeypatch, soft, glued, rises, rounds):
    """``glued`` is of the first draft and then of those of rounds, as far as rounds go."""
    X, y, T = corpus(0, [[0.5, 0.5, 0], [0.5, 0, 0.5]])
    search = explorer(X, y)
    start = search.settle(draft_of(T, [[1, 1, 0], [1, 0, 1]], X, y), "")
    counts, bounds, best = iter(glued), iter(rises), [start.bound]
    real = componentsearch._Explorer.settle_and_look

    def settle_and_look(self, draft, stage, *, residual=False):
        draft, look = real(self, draft, stage, residual=residual)
        best.append(best[-1] + next(bounds) * abs(best[-1]))
        return replace(draft, bound=best[-1]), look

    monkeypatch.setattr(componentsearch._Explorer, "settle_and_look", settle_and_look)
    monkeypatch.setattr(moves.Look, "glued", lambda self, n_kept: next(counts))
    plan = Plan(3, no_groups(2), background=False, soft=soft)
    componentsearch._improved(search, start, plan)
    assert len(best) - 1 == rounds
