"""What a callback and `verbose` say while a model is fitted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from test_fitted import MODELS, K, X, Y, quick

from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.core.fit import FITTING, HEAD, WITHOUT_FOLDS, Progress
from vbnmf.discovery import componentsearch

SWEEPS, LOOK = componentsearch.SWEEPS, componentsearch.SWEEPS_TO_LOOK
AFTER = (WITHOUT_FOLDS, HEAD)  # stages after the fit

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")


@pytest.mark.parametrize("model", MODELS)
def test_the_callback_is_told_of_each_iteration(model):
    told = []
    fitted = quick(model, n_init=3, max_iter=11, bound_every=2, tol=0, callback=told.append)
    fitted.fit(X, Y)
    assert all(type(progress) is Progress for progress in told)
    told = [p for p in told if p.stage == FITTING]
    assert [p.iteration for p in told] == [*range(1, 12)] * 3
    assert [p.restart for p in told] == [0] * 11 + [1] * 11 + [2] * 11
    assert {(p.max_iter, p.n_restarts) for p in told} == {(11, 3)}
    # the bound of the last evaluation, which is every second iteration
    kept = next(told[n : n + 11] for n in (0, 11, 22) if told[n].bound == fitted.bound_history_[0])
    assert_array_equal([p.bound for p in kept][::2], fitted.bound_history_[:-1])
    assert_array_equal([p.bound for p in kept][1::2], fitted.bound_history_[:-2])
    assert np.isnan([p.rise for p in kept[:2]]).all()
    history = fitted.bound_history_
    assert_allclose([p.rise for p in kept[2::2]], np.diff(history[:-1]) / -history[1:-1] / 2)
    assert "start 3 of 3, iteration 11 of 11: bound -" in str(told[-1])


@pytest.mark.parametrize("model", MODELS)
def test_the_callback_is_told_of_what_comes_before_the_fit(model):
    told = []
    quick(model, n_init=2, max_iter=3, callback=told.append).fit(X, Y)
    stages = [p.stage for p in told]
    assert stages[0] == "components of single labels"
    assert {"a background", f"{K} components"} <= set(stages)
    for restart in (0, 1):  # the fit itself comes last
        of_start = [p.stage for p in told if p.restart == restart and p.stage not in AFTER]
        assert of_start[-3:] == [FITTING] * 3
        assert FITTING not in of_start[:-3]
    before = [p for p in told if p.stage not in (FITTING, *AFTER)]
    assert np.isnan([p.bound for p in before]).all()
    assert {p.max_iter for p in before} == {SWEEPS, LOOK}
    assert [p.iteration for p in before[:SWEEPS]] == [*range(1, SWEEPS + 1)]
    assert str(told[0]) == (f"start 1 of 2, components of single labels: iteration 1 of {SWEEPS}")
    told.clear()
    quick(model, init="random", max_iter=3, callback=told.append).fit(X, Y)
    assert [p.stage for p in told if p.stage not in AFTER] == [FITTING] * 3


@pytest.mark.parametrize("model", MODELS)
def test_an_error_in_the_callback_ends_fitting(model):
    class Stop(Exception):
        pass

    def stop(progress):
        raise Stop

    with pytest.raises(Stop):
        quick(model, callback=stop).fit(X, Y)


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 2), (2, 25), (False, 0), (True, 2)])
@pytest.mark.parametrize("model", MODELS)
def test_verbose_writes_to_standard_error(model, verbose, lines, capsys):
    quick(model, verbose=verbose, tol=0).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count(f"[{model.__name__}] iteration ") == lines
    assert (f"[{model.__name__}] iteration 10 of 25: bound -" in err) == bool(verbose)
    # stages before the fit say what they are
    stages = [line for line in err.splitlines() if "bound" not in line]
    assert err.count("\n") == lines + len(stages)
    assert all(
        f": iteration {n} of {SWEEPS}" in "".join(stages) for n in ([], [10], [1])[int(verbose)]
    )
    quick(model, init="random", verbose=verbose, tol=0).fit(X, Y)
    err = capsys.readouterr().err
    after = sum(err.count(f"{stage}: part ") for stage in AFTER)
    assert err.count("\n") == lines + after


@pytest.mark.parametrize("model", [VBNMF, SupervisedVBNMF])
def test_a_clone_shares_the_callback(model):
    """One that holds a lock, as bars of progress do, could not be copied."""
    import threading

    class Bar:
        def __init__(self):
            self.lock = threading.RLock()

        def __call__(self, progress):
            pass

    bar = Bar()
    original = model(3, callback=bar, n_init=2).set_output(transform="pandas")
    copy = clone(original)
    assert copy.callback is original.callback is bar
    assert copy.n_init == 2
    assert copy._sklearn_output_config == {"transform": "pandas"}
