"""Oracle = reference = native: the sweep, the gather, gamma rows, projection, exp(ψ)."""

import subprocess
import sys

import numpy as np
import oracle
import oracle_uses
import pytest
from conftest import INSTRUCTION_SETS, make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import psi

from vbnmf.core import starts
from vbnmf.kernels.layout import cut_into_blocks
from vbnmf.kernels.reference import ReferenceKernel

pytestmark = pytest.mark.kernel

RTOL = 1e-10


def terms_of(kernel, shapes, scale, dtype):
    rows = kernel.zeros(*shapes.shape, dtype)
    rows[:, : shapes.shape[1]] = shapes
    return starts.terms_of(kernel, rows, scale)


def start(X, y, K, seed=3, **hyper):
    """An oracle's state after an update of V: what a sweep leaves behind."""
    o = oracle.random_start(X.toarray(), y, K, seed, **hyper)
    o = oracle.replace(o, beta_t=np.broadcast_to(o.beta_t[0], o.beta_t.shape))
    return oracle.update_v(oracle.update_s(o))


def sweep(kernel, X, y, o, *, dtype=np.float64, bound=True, update=True):
    """The kernel's sweep from the same state, before V's update."""
    K = o.alpha_t.shape[1]
    n_groups = max(o.Delta.shape[1], 1)
    group = np.zeros(X.shape[0], np.int32) if y is None else y
    terms = terms_of(kernel, o.alpha_t, o.beta_t[0], np.dtype(dtype))
    documents = kernel.documents(X.astype(dtype), group, n_groups, K)
    documents.Sigma_v[:] = o.alpha_v - o.a_v
    scale = np.zeros((n_groups, K))
    scale[group] = o.beta_v
    sums = documents.sweep(terms.L, scale, o.a_v, update=update, bound=bound, out=terms.shape)
    return terms, documents, sums


@pytest.mark.parametrize("labels", [True, False])
def test_sweep_equals_the_oracle(kernel, case, labels):
    X, y, K = case
    y = y if labels else None
    o = start(X, y, K)
    terms, documents, sums = sweep(kernel, X, y, o)
    new = oracle.update_s(o)
    Delta = o.Delta if labels else np.ones((X.shape[0], 1))
    assert_allclose(documents.Sigma_v, new.Sigma_v, rtol=RTOL, atol=1e-12)
    L_t = (terms.L / 1)[:, :K]
    R_t = terms.shape[:, :K]
    assert_allclose(L_t * R_t, new.Sigma_t, rtol=RTOL, atol=1e-12)
    assert_allclose(sums.shape_sums, Delta.T @ o.alpha_v, rtol=RTOL)
    log_sums = oracle.logsumexp(o.logL_t[None] + o.logL_v[:, None], axis=2)
    log_mean = sums.log_mean + terms.offset @ X.sum(axis=0)
    assert_allclose(log_mean, (X.toarray() * log_sums).sum(), rtol=RTOL)
    assert_allclose(sums.psi, psi(o.alpha_v).sum(), rtol=RTOL)
    assert_allclose(sums.entropy, oracle.gamma_entropy(o.alpha_v, 1.0).sum(), rtol=RTOL)


@pytest.fixture(params=[1, 5_000, 50_000])
def cached(request, monkeypatch):
    """The compiled kernel gathers few documents at a time: one, a few, or several hundred."""
    from vbnmf.kernels import compiled

    monkeypatch.setattr(compiled, "CACHED", request.param)
    return request.param


def test_sweep_by_ranges_of_documents_equals_the_oracle(native, case, cached):
    test_sweep_equals_the_oracle(native, case, labels=True)


@pytest.mark.parametrize("K", [5, 250])
def test_long_terms_by_ranges_of_documents(native, cached, K):
    X, y = make_corpus(1500, 12, 3)
    X.data[X.indices == 3] *= np.random.default_rng(1).random((X.indices == 3).sum()) < 0.02
    X.eliminate_zeros()  # a term that many ranges lack
    o = start(X, y, K)
    terms, documents, _ = sweep(native, X, y, o)
    n_ranges = len(range(0, 1500, documents._n_cached))
    assert n_ranges == 1500 if cached == 1 else n_ranges > 1
    new = oracle.update_s(o)
    assert_allclose((terms.L * terms.shape)[:, :K], new.Sigma_t, rtol=RTOL, atol=1e-12)
    assert_allclose(documents.Sigma_v, new.Sigma_v, rtol=RTOL, atol=1e-12)


def test_sweep_without_update_leaves_the_documents_alone(kernel, case):
    X, y, K = case
    o = start(X, y, K)
    _, documents, sums = sweep(kernel, X, y, o, update=False)
    assert_allclose(documents.Sigma_v, o.alpha_v - o.a_v, rtol=1e-12, atol=1e-12)
    assert np.isfinite([sums.log_mean, sums.psi, sums.entropy]).all()


def test_sweep_without_bound_finds_the_same(kernel, case):
    X, y, K = case
    o = start(X, y, K)
    _, with_bound, _ = sweep(kernel, X, y, o, bound=True)
    _, without, sums = sweep(kernel, X, y, o, bound=False)
    assert_array_equal(with_bound.Sigma_v, without.Sigma_v)
    assert np.isnan([sums.log_mean, sums.psi, sums.entropy]).all()


def test_gamma_rows_update_the_terms(kernel, case):
    X, y, K = case
    o = start(X, y, K, a_t=0.3)
    terms, _, _ = sweep(kernel, X, y, o)
    new = oracle.update_t(oracle.update_s(o))
    got = kernel.gamma_rows(terms.shape, terms.L, new.beta_t[0], o.a_t, tally=True)
    assert_allclose(got.shape[:, :K], new.alpha_t, rtol=RTOL)
    assert_allclose(got.E_sums, new.E_t.sum(axis=0), rtol=RTOL)
    assert_allclose(np.log(got.L[:, :K]) + got.offset[:, None], new.logL_t, rtol=RTOL, atol=1e-9)
    assert_allclose(got.psi, psi(new.alpha_t).sum(), rtol=RTOL)
    assert_allclose(got.entropy, oracle.gamma_entropy(new.alpha_t, 1.0).sum(), rtol=RTOL)


@pytest.mark.parametrize("n_iter", [1, 2, 25])
def test_projection_equals_the_oracle(kernel, case, n_iter):
    X, y, K = case
    o = start(X, y, K)
    a_v, b_v = 0.7, 1.3
    _, beta_v, Sigma_v = oracle_uses.project(X.toarray(), o.alpha_t, o.beta_t, a_v, b_v, n_iter)
    terms = terms_of(kernel, o.alpha_t, o.beta_t[0], X.dtype)
    E_v, iterations = kernel.project(X, terms.L, beta_v[0], a_v, max_iter=n_iter, tol=0.0)
    assert_allclose(E_v, (a_v + Sigma_v) * beta_v, rtol=1e-9)
    assert iterations.max() <= n_iter
    assert_array_equal(iterations[np.diff(X.indptr) == 0], 0)


@pytest.mark.parametrize("n_iter", [1, 2, 25])
def test_projection_to_the_mode_equals_the_oracle(kernel, case, n_iter):
    X, y, K = case
    o = start(X, y, K)
    prior = np.random.default_rng(0).gamma(0.5, size=(X.shape[0], K))
    sums = oracle.gamma_mean(o.alpha_t, o.beta_t).sum(axis=0)
    expected, _ = oracle_uses.project_to_mode(X.toarray(), o.alpha_t, o.beta_t, prior, n_iter)
    terms = terms_of(kernel, o.alpha_t, o.beta_t[0], X.dtype)
    E_v, iterations = kernel.project(
        X, terms.L, 1 / sums, prior, max_iter=n_iter, tol=0.0, mode=True
    )
    assert_allclose(E_v * sums, expected, rtol=1e-9)
    assert iterations.max() <= n_iter
    assert_allclose(E_v[np.diff(X.indptr) == 0] * sums, prior[np.diff(X.indptr) == 0])


def test_one_prior_for_all_documents_is_the_same_as_one_for_each(kernel, case):
    X, y, K = case
    o = start(X, y, K)
    terms = terms_of(kernel, o.alpha_t, o.beta_t[0], X.dtype)
    for mode in (False, True):
        one, each = (
            kernel.project(X, terms.L, np.ones(K), a_v, max_iter=9, tol=1e-3, mode=mode)
            for a_v in (0.3, np.full((X.shape[0], K), 0.3))
        )
        assert_array_equal(one[0], each[0])
        assert_array_equal(one[1], each[1])


def test_projection_stops_each_document_by_itself(kernel):
    X, y = make_corpus(30, 20, 2)
    o = start(X, y, 4)
    terms = terms_of(kernel, o.alpha_t, o.beta_t[0], X.dtype)

    def project(X, tol):
        return kernel.project(X, terms.L, np.full(4, 0.3), 0.5, max_iter=500, tol=tol)

    loose, few = project(X, 1e-2)
    tight, many = project(X, 1e-9)
    assert (few <= many).all()
    assert few.sum() < many.sum() / 2
    assert_allclose(loose, tight, rtol=0.5)
    alone = np.vstack([project(X[[i]], 1e-2)[0] for i in range(30)])
    assert_allclose(alone, loose, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_psi(kernel, dtype):
    """Relative error at most 12 rounding errors for each unit of |ψ|, at least one unit."""
    x = np.geomspace(1e-8, 1e8, 20001).astype(dtype)
    got = kernel.exp_psi(x)
    assert got.dtype == dtype
    exact = np.exp(psi(x.astype(np.float64)))
    normal = exact > np.finfo(dtype).tiny * 16
    tolerance = 12 * np.finfo(dtype).eps * np.maximum(1, np.abs(psi(x.astype(np.float64))))
    assert (np.abs(got[normal] / exact[normal] - 1) <= tolerance[normal]).all()
    assert (got[~normal] <= np.finfo(dtype).tiny * 16).all()


def test_exp_psi_of_any_length(native):
    for n in (0, 1, 3, 15, 16, 17, 33):
        x = np.linspace(0.5, 2, n)
        assert_allclose(native.exp_psi(x), np.exp(psi(x)), rtol=1e-13)


def test_single_precision_is_close_to_double(kernel, case):
    X, y, K = case
    o = start(X, y, K)
    terms32, documents32, sums32 = sweep(kernel, X, y, o, dtype=np.float32)
    terms64, documents64, sums64 = sweep(ReferenceKernel(), X, y, o)
    assert documents32.Sigma_v.dtype == np.float32
    assert_allclose(documents32.Sigma_v, documents64.Sigma_v, rtol=2e-5, atol=1e-6)
    Sigma_t = terms64.L * terms64.shape
    got = (terms32.L * terms32.shape)[:, :K]
    assert_allclose(got, Sigma_t, rtol=2e-5, atol=1e-6)
    for name in ("psi", "entropy"):
        assert_allclose(getattr(sums32, name), getattr(sums64, name), rtol=1e-5)


def test_single_precision_holds_shapes_near_zero(kernel):
    """exp(ψ(0.02))² is less than the least normal number, but only proportions count."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.gamma(1, 5e-3, (8, 6)))
    shapes = 0.02 + rng.gamma(1, 5e-3, (6, 4))
    assert np.float32(np.exp(psi(0.02))) ** 2 < np.finfo(np.float32).tiny

    def Sigma_v(kernel, dtype):
        terms = terms_of(kernel, shapes, np.ones(4), np.dtype(dtype))
        documents = kernel.documents(X.astype(dtype), np.zeros(8, np.int32), 1, 4)
        documents.Sigma_v[:] = X.sum(axis=1)[:, None] * [0.4, 0.3, 0.2, 0.1]
        documents.sweep(terms.L, np.ones((1, 4)), 0.02, update=True, bound=False)
        return np.array(documents.Sigma_v)

    exact = Sigma_v(ReferenceKernel(), np.float64)
    assert_allclose(Sigma_v(kernel, np.float32), exact, rtol=1e-3, atol=1e-9)
    assert exact.std(axis=1).min() > 1e-3


@pytest.mark.parametrize("n_bytes", [1 << 30, 50_000])
def test_threads_do_not_change_a_bit(native, monkeypatch, n_bytes):
    from vbnmf.kernels import compiled

    monkeypatch.setattr(compiled, "CACHED", n_bytes)
    X, y = make_corpus(4000, 300, 7)
    o = start(X[:50], y[:50], 20)
    o = oracle.replace(o, alpha_v=np.full((4000, 20), 1.5), Delta=np.eye(7)[y])
    o = oracle.replace(o, beta_v=np.random.default_rng(0).random((7, 20))[y])
    assert len(cut_into_blocks(np.diff(X.indptr))) > 10

    def run(n_threads):
        with type(native)(n_threads) as kernel:
            terms, documents, sums = sweep(kernel, X, y, o, dtype=np.float32)
            gathered = terms.shape.copy()
            new = kernel.gamma_rows(gathered, terms.L, np.ones(20), 0.5, tally=True)
            projected = kernel.project(
                X.astype(np.float32), new.L, np.ones(20), 1.0, max_iter=10, tol=1e-3
            )
            return [
                documents.Sigma_v, gathered, sums.shape_sums, new.shape_sums, new.L, *projected,
                sums.log_mean, sums.psi, sums.entropy, new.psi, new.entropy,
            ]  # fmt: skip

    one = run(1)
    for n_threads in (2, 3, 8):
        for a, b in zip(one, run(n_threads), strict=True):
            assert_array_equal(a, b)


def test_blocks_cover_all_rows_once():
    for nonzeros in ([0], [5], [0, 0, 0], [10**6, 1, 1], np.arange(10**5)):
        cuts = cut_into_blocks(np.asarray(nonzeros))
        assert cuts[0] == 0
        assert cuts[-1] == len(nonzeros)
        assert (np.diff(cuts) > 0).all()


def run_python(code, **environment):
    import os

    # the kernel of the tests themselves has no say
    others = {name: os.environ[name] for name in os.environ if not name.startswith("VBNMF_")}
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=others | environment, text=True, capture_output=True
    )


def test_environment_forces_a_kernel():
    code = "from vbnmf.kernels import describe; print(describe())"
    assert run_python(code, VBNMF_KERNEL="scipy").stdout.startswith("scipy")
    if INSTRUCTION_SETS:
        assert run_python(code, VBNMF_KERNEL="native").stdout.startswith("native")
        assert "baseline" in run_python(code, VBNMF_SIMD="baseline").stdout
        assert "not available" in run_python(code, VBNMF_SIMD="abacus").stderr
    assert "'native' or 'scipy'" in run_python(code, VBNMF_KERNEL="fortran").stderr


def test_missing_native_kernel():
    hide = "import sys; sys.modules['vbnmf.kernels._native'] = None\n"
    code = hide + "from vbnmf.kernels import describe; print(describe())"
    assert run_python(code).stdout.strip() == "scipy (no compiled kernels)"
    forced = run_python(code, VBNMF_KERNEL="native")
    assert "VBNMF_KERNEL=native asks for the compiled kernels" in forced.stderr


@pytest.mark.parametrize("size", [1e-42, 1e-20, 1e20])
def test_scales_of_any_size_in_single_precision(native, size):
    """They go into the offsets; as numbers of single precision they would vanish."""
    X, y = make_corpus(20, 15, 2)
    o = start(X, y, 4)
    o = oracle.replace(o, beta_t=o.beta_t * size, beta_v=o.beta_v / size)
    terms, documents, sums = sweep(native, X, y, o, dtype=np.float32)
    new = oracle.update_s(o)
    assert_allclose(documents.Sigma_v, new.Sigma_v, rtol=1e-4, atol=1e-5)
    log_sums = oracle.logsumexp(o.logL_t[None] + o.logL_v[:, None], axis=2)
    log_mean = sums.log_mean + terms.offset @ X.sum(axis=0)
    assert_allclose(log_mean, (X.toarray() * log_sums).sum(), rtol=1e-5)


def test_arrays_of_another_precision_are_refused(native):
    """A converted copy would swallow what is written to it."""
    R, L = (native.zeros(5, 3, np.dtype(kind)) for kind in (np.float64, np.float32))
    with pytest.raises(TypeError):
        native.gamma_rows(R, L, np.ones(3), 0.5, tally=True)
    R = native.zeros(5, 3, np.dtype(np.float64))
    L = native.zeros(5, 3, np.dtype(np.float64))
    terms = native.gamma_rows(R, L, np.ones(3), np.float64(0.3), tally=True)
    assert_allclose(terms.shape[:, :3], 0.3)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 3e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("prior", [0.02, 0.1, 0.5, 1.0, 3.0])
def test_shapes_near_the_prior(kernel, prior, dtype, rtol):
    """Compiled kernels use series for rows of such shapes, and only for these."""
    distances = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 63)]) * prior
    exact = prior + np.repeat(distances, 16)[:, None] + np.zeros((1, 16))  # rows of equal shapes
    shapes = kernel.zeros(*exact.shape, dtype)
    shapes[:] = exact
    exact, before = shapes.astype(np.float64), shapes.copy()
    L, scale = kernel.zeros(*exact.shape, dtype), np.linspace(0.5, 2.0, 16)
    got = kernel.extrapolated_rows(shapes, before, 0.0, L, scale, prior)
    logs = psi(exact) + np.log(scale)
    assert_allclose(got.L, np.exp(logs - got.offset[:, None]), rtol=10 * rtol / min(prior, 1))
    assert_allclose(got.psi, psi(exact).sum(), rtol=rtol)
    assert_allclose(got.entropy, oracle.gamma_entropy(exact, 1.0).sum(), rtol=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_shapes_are_extrapolated(kernel, beta, dtype, rtol):
    rng, prior = np.random.default_rng(0), 0.1
    changes = np.geomspace(1e-8, 10.0, 40)[:, None] * prior
    shape, before = (kernel.zeros(40, 16, dtype) for _ in range(2))
    shape[:], before[:] = (prior + changes * rng.random((40, 16)) for _ in range(2))
    L, expected = kernel.zeros(40, 16, dtype), shape.astype(np.float64)
    expected = np.maximum(expected * (expected / before) ** beta, prior)
    got = kernel.extrapolated_rows(shape, before, beta, L, np.ones(16), prior)
    assert_allclose(got.shape_sums, expected.sum(axis=0), rtol=rtol)
    logs = np.log(got.L) + got.offset[:, None]
    assert_allclose(logs, psi(expected), rtol=20 * rtol, atol=20 * rtol)
