"""Dask arrays: fitted on the cluster, transformed and predicted later."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from smallfits import drawn

from vbnmf import VBNMF, Dask, SupervisedVBNMF

pytest.importorskip("distributed")
PARAMETERS = {"max_iter": 6, "tol": 0, "random_state": 0, "init": "label"}


def lazy(X, sizes):
    """A Dask array of CSR blocks, whose number of rows Dask does not know if sizes are unknown."""
    import dask
    import dask.array as da

    cuts = np.cumsum([0, *sizes])
    blocks = [
        da.from_delayed(dask.delayed(X[a:b]), (np.nan, X.shape[1]), X.dtype, meta=X[:0])
        for a, b in pairwise(cuts)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


@pytest.mark.parametrize("sizes", [[90], [40, 0, 50], [30, 30, 30]])
def test_dask_arrays(client, tmp_path, sizes):
    import dask.array as da

    X, y = drawn()
    model = SupervisedVBNMF(6, **PARAMETERS)
    expected = model.fit(X, y).components_
    lazily = model.set_params(engine=Dask(tmp_path)).fit(lazy(X, sizes), da.from_array(y))
    assert_allclose(lazily.components_, expected, rtol=1e-5 if len(sizes) > 1 else 0)
    assert not list(tmp_path.iterdir())
    for name in ("transform", "predict_proba", "predict"):
        method = getattr(model, name)
        result = method(lazy(X, sizes))
        assert isinstance(result, da.Array)
        found = result.compute()
        assert_array_equal(found, method(X))
        assert found.dtype == result.dtype


def test_dense_dask_arrays_in_several_columns(client):
    import dask.array as da

    X, _y = drawn()
    array = da.from_array(X.toarray(), chunks=(30, 10))
    model = VBNMF(3, max_iter=5, tol=0, init="random", random_state=0, engine="dask").fit(array)
    expected = VBNMF(3, max_iter=5, tol=0, init="random", random_state=0).fit(X)
    assert_allclose(model.components_, expected.components_, rtol=1e-5)
    assert model.transform(array).chunks == ((30, 30, 30), (3,))
    assert_array_equal(model.transform(array).compute(), model.transform(X))


def test_dask_arrays_that_do_not_fit(client, tmp_path):
    import dask.array as da

    X, _y = drawn()
    array = da.from_array(X.toarray(), chunks=(30, -1))
    with pytest.raises(ValueError, match="engine='auto' takes no Dask array"):
        VBNMF(3).fit(array)
    with pytest.raises(ValueError, match="Pass them as y"):
        SupervisedVBNMF(3, engine="dask").fit(array)
    with pytest.raises(ValueError, match="Negative values in data: found -1 at row 0"):
        VBNMF(3, engine="dask").fit(array - 1)
    model = VBNMF(3, max_iter=2, tol=0).fit(X)
    with pytest.raises(ValueError, match=r"shape \(n_docs, 26\); got a Dask array"):
        model.transform(array[:, :5])
