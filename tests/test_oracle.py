"""The oracle against itself and against closed forms; nothing of ``vbnmf`` is involved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle
from oracle_uses import hoyer_sparsity, inter_label_sparsity, project
from properties import examples
from scipy import stats
from scipy.special import gammaln

LABELS: dict[str, list[int] | None] = {
    "unsupervised": None,
    "supervised": [0, 1, 0, 2, 1, 0],
    "one label": [0] * 6,
    "unused label": [0, 2, 0, 2, 2, 0],
}


def data(seed: int = 0, *, integer: bool = False) -> oracle.Array:
    """(6, 7) data with an empty document (row 4) and an unused term (column 2)."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, (6, 7)) * (1.0 if integer else rng.uniform(0.1, 2.0, (6, 7)))
    X[4] = 0
    X[:, 2] = 0
    return np.asarray(X, dtype=np.float64)


def start(labels: str, K: int = 3, seed: int = 0, **hyper: float) -> Oracle:
    return oracle.random_start(data(seed), LABELS[labels], K, seed, **hyper)


def run(o: Oracle, n_iter: int) -> Oracle:
    for _ in range(n_iter):
        o = oracle.iterate(o)
    return o


every_model = pytest.mark.parametrize("labels", LABELS)


def test_gamma_moments_and_entropy_are_those_of_scipy_stats() -> None:
    for a, b in [(0.3, 2.0), (1.0, 0.5), (7.5, 3.0)]:
        law = stats.gamma(a, scale=b)
        shape, scale = np.array(a), np.array(b)
        assert oracle.gamma_mean(shape, scale) == pytest.approx(law.mean(), rel=1e-12)
        assert oracle.gamma_entropy(shape, scale) == pytest.approx(law.entropy(), rel=1e-9)
        mean_log = law.expect(np.log, epsabs=1e-12, limit=500)
        assert oracle.gamma_mean_log(shape, scale) == pytest.approx(mean_log, rel=1e-6)


@every_model
@pytest.mark.parametrize("K", [1, 3, 9])
def test_the_two_bounds_agree_when_q_s_is_optimal(labels: str, K: int) -> None:
    o = start(labels, K)
    for _ in range(4):
        o = oracle.iterate(o)
        best = oracle.bound(o)
        assert oracle.full_bound(oracle.update_s(o)) == pytest.approx(best, rel=1e-9)
        # o itself still holds the q(S) of before T, Λ and V moved: no better, and worse for K > 1.
        stale = oracle.full_bound(o)
        assert stale < best if K > 1 else stale == pytest.approx(best, rel=1e-9)


def test_bound_equals_the_evidence_where_that_has_a_closed_form() -> None:
    """K = 1 with T and Λ as good as known: x_d: is negative multinomial and q(v) is exact."""
    t, a_v, b_v, lam, sure = 0.7, 0.5, 2.0, 1.7, 1e6
    X = data(integer=True)

    def evidence(a: float, rate: float) -> float:
        n = X.sum(axis=1)
        v = gammaln(a + n) - gammaln(a) + a * np.log(rate) - (a + n) * np.log(rate + 7 * t)
        return float(np.sum(X * np.log(t) - gammaln(X + 1)) + np.sum(v))

    known = {"a_t": sure, "b_t": t / sure}
    o = run(oracle.random_start(X, None, 1, 0, a_v=a_v, b_v=b_v, **known), 30)
    assert oracle.bound(o) == pytest.approx(evidence(a_v, 1 / b_v), abs=2e-4)
    labels = LABELS["supervised"]
    o = run(oracle.random_start(X, labels, 1, 0, a_lam=sure, b_lam=lam / sure, **known), 30)
    assert oracle.bound(o) == pytest.approx(evidence(1.0, lam), abs=2e-4)


@examples(30)
@given(
    labels=st.sampled_from(sorted(LABELS)),
    K=st.integers(1, 5),
    seed=st.integers(0, 10_000),
    burn_in=st.integers(0, 3),
    scale_free=st.booleans(),
    a_t=st.floats(0.05, 5),
    a_v=st.floats(0.05, 1),
)
def test_bound_never_falls(
    labels: str, K: int, seed: int, burn_in: int, scale_free: bool, a_t: float, a_v: float
) -> None:
    o = start(labels, K, seed, a_t=a_t, a_v=a_v)
    hyper = ("a_t", "b_v", "b_lam")
    for i in range(10):
        before = oracle.bound(o)
        o = oracle.iterate(o, learn_lam=i >= burn_in, hyper=hyper, scale_free=scale_free)
        assert oracle.bound(o) >= before - 1e-9 * abs(before)


Update = Callable[[Oracle], Oracle]
MAXIMA: list[tuple[Update, tuple[str, ...]]] = [
    (oracle.update_t, ("alpha_t", "beta_t")),
    (oracle.update_v, ("alpha_v", "beta_v")),
    (oracle.update_lam, ("alpha_lam", "beta_lam")),
]


@every_model
@pytest.mark.parametrize(("update", "names"), MAXIMA)
def test_updates_of_gamma_posteriors_are_maxima(
    labels: str, update: Update, names: tuple[str, ...]
) -> None:
    """Moving any one element of a shape or scale either way lowers the bound with q(S) held."""
    if LABELS[labels] is None and update is oracle.update_lam:
        return
    o = update(oracle.update_s(run(start(labels), 2)))
    best = oracle.full_bound(o)
    for name in names:
        value = getattr(o, name)
        for index in np.ndindex(value.shape):
            for factor in (0.97, 1.03):
                moved = value.copy()
                moved[index] *= factor
                assert oracle.full_bound(replace(o, **{name: moved})) < best, (name, index)


@every_model
def test_update_of_q_s_is_a_maximum(labels: str) -> None:
    o = oracle.update_s(run(start(labels), 2))
    best = oracle.full_bound(o)
    rng = np.random.default_rng(1)
    for cell in np.argwhere(o.X > 0):
        P = o.P.copy()
        P[tuple(cell)] *= rng.uniform(0.9, 1.1, P.shape[2])
        P[tuple(cell)] /= P[tuple(cell)].sum()
        assert oracle.full_bound(replace(o, P=P)) < best


@every_model
def test_bound_is_stationary_in_the_hyperparameters(labels: str) -> None:
    supervised = LABELS[labels] is not None
    cases: list[tuple[Update, tuple[str, ...]]] = [
        (oracle.update_b_t, ("b_t",)),
        (oracle.update_a_t, ("a_t", "b_t")),
        (lambda o: oracle.update_a_t(o, scale_free=False), ("a_t",)),
        (oracle.update_b_lam, ("b_lam",)) if supervised else (oracle.update_b_v, ("b_v",)),
    ]
    for update, names in cases:
        before = run(start(labels, b_t=1.7), 3)
        after = update(before)
        assert oracle.bound(after) > oracle.bound(before)
        for name in names:
            assert abs(slope(after, name)) < 1e-5 < 1e-2 < abs(slope(before, name))
            here = oracle.bound(after)
            for factor in (0.9, 1.1):
                moved = replace(after, **{name: getattr(after, name) * factor})
                assert oracle.bound(moved) < here


def slope(o: Oracle, name: str) -> float:
    """Derivative of the bound over the log of a hyperparameter, by central difference."""
    up, down = (
        oracle.bound(replace(o, **{name: getattr(o, name) * np.exp(h)})) for h in (1e-5, -1e-5)
    )
    return (up - down) / 2e-5


@every_model
def test_empty_documents_and_unused_terms_get_the_prior(labels: str) -> None:
    o = run(start(labels), 5)
    assert np.all(o.alpha_t[2] == o.a_t)
    assert np.all(o.alpha_v[4] == o.a_v)
    expected = 1 / (o.rate_v[4] + o.E_t.sum(axis=0))
    np.testing.assert_allclose(o.beta_v[4], expected, rtol=1e-12)


def test_an_unused_label_keeps_the_prior() -> None:
    o = run(start("unused label"), 5)
    assert np.all(o.alpha_lam[1] == o.a_lam)
    np.testing.assert_allclose(o.beta_lam[1], o.b_lam, rtol=1e-12)


def test_codes_and_one_hot_labels_are_the_same() -> None:
    codes = LABELS["supervised"]
    hot = np.eye(3)[codes]
    one = run(oracle.random_start(data(), codes, 3, 0), 3)
    two = run(oracle.random_start(data(), hot, 3, 0), 3)
    np.testing.assert_array_equal(one.E_v, two.E_v)
    with pytest.raises(ValueError, match="sum to one"):
        oracle.one_hot(np.ones((6, 2)), 6)


def test_ratio_form_gives_the_sums_of_q_s() -> None:
    o = oracle.update_s(run(start("supervised"), 2))
    L_t, L_v = np.exp(o.logL_t), np.exp(o.logL_v)
    ratio = o.X / (L_v @ L_t.T)
    np.testing.assert_allclose(o.Sigma_v, L_v * (ratio @ L_t), rtol=1e-12)
    np.testing.assert_allclose(o.Sigma_t, L_t * (ratio.T @ L_v), rtol=1e-12)
    np.testing.assert_allclose(o.Sigma_v.sum(axis=1), o.X.sum(axis=1), rtol=1e-12)


@every_model
def test_table_a3_has_the_same_fixed_point_by_another_path(labels: str) -> None:
    settled = run(start(labels), 3000)
    once = oracle.table_a3(settled)
    for name in ("E_t", "E_v", "E_lam"):
        np.testing.assert_allclose(getattr(once, name), getattr(settled, name), rtol=1e-5)
    # One step from a start tells the simultaneous update from the one with the newest values.
    o = start(labels)
    simultaneous, newest = oracle.table_a3(o), oracle.iterate(o)
    np.testing.assert_allclose(simultaneous.alpha_v, newest.alpha_v, rtol=1e-12)
    np.testing.assert_allclose(simultaneous.E_t, newest.E_t, rtol=1e-12)
    assert not np.allclose(simultaneous.beta_v, newest.beta_v, rtol=1e-3)
    np.testing.assert_allclose(simultaneous.beta_v, 1 / (o.rate_v + o.E_t.sum(axis=0)), rtol=1e-12)


@every_model
def test_table_a3_can_lower_the_bound_where_the_newest_values_do_not(labels: str) -> None:
    """A start far too small: both factors grow to fill the same gap at once and overshoot."""
    o = start(labels)
    o = replace(o, beta_t=0.01 * o.beta_t, beta_v=0.01 * o.beta_v)
    assert oracle.bound(oracle.table_a3(o)) < oracle.bound(o) - 1
    assert oracle.bound(oracle.iterate(o)) > oracle.bound(o) + 1


def test_projection_is_the_unsupervised_v_and_s_updates_with_t_fixed() -> None:
    trained = run(start("supervised"), 10)
    X = data(seed=5)
    a_v, b_v, K = 0.5, 2.0, 3
    alpha_v, beta_v, Sigma_v = project(X, trained.alpha_t, trained.beta_t, a_v, b_v, 4)
    o = oracle.random_start(X, None, K, 0, a_v=a_v, b_v=b_v)
    o = replace(o, alpha_t=trained.alpha_t, beta_t=trained.beta_t)  # uniform P: Σ_v = row sum / K
    bounds = []
    for _ in range(4):
        o = oracle.update_s(oracle.update_v(o))
        bounds.append(oracle.bound(o))
    np.testing.assert_allclose(alpha_v, o.alpha_v, rtol=1e-12)
    np.testing.assert_allclose(beta_v, o.beta_v, rtol=1e-12)
    np.testing.assert_allclose(Sigma_v, o.Sigma_v, rtol=1e-12)
    assert np.all(np.diff(bounds) > 0)
    first = project(X, trained.alpha_t, trained.beta_t, a_v, b_v, 1)[0]
    np.testing.assert_allclose(first, np.tile(a_v + X.sum(axis=1)[:, None] / K, K), rtol=1e-12)
    np.testing.assert_array_equal(alpha_v[4], a_v)  # the empty document gets the prior's shape


def test_hoyer_sparsity_at_its_ends_and_in_between() -> None:
    assert hoyer_sparsity([0, 0, 3, 0]) == pytest.approx(1)
    assert hoyer_sparsity([2, 2, 2]) == pytest.approx(0)
    assert hoyer_sparsity([[3, 4], [0, 0]]) == pytest.approx((2 - 7 / 5) / (2 - 1))
    assert hoyer_sparsity([-1, 1, 0]) == hoyer_sparsity([5, 0, 5])


def test_inter_label_sparsity_is_that_of_the_sums_by_label() -> None:
    V = [[1, 0], [2, 0], [0, 5]]
    assert inter_label_sparsity(V, ["a", "a", "b"]) == hoyer_sparsity([3, 0, 0, 5])
    assert inter_label_sparsity(V, [0, 1, 0]) == hoyer_sparsity([1, 5, 2, 0])
