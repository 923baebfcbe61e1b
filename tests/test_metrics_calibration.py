"""Calibration error: by hand, and of probabilities that are what they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vbnmf.metrics import calibration_bins, calibration_error


def test_bins_by_hand():
    p, right = [0.1, 0.3, 0.35, 0.9, 1.0], [False, True, False, True, True]
    assert_allclose(calibration_bins(p, right, 2), [[0.25, 1 / 3, 3], [0.95, 1.0, 2]])
    assert calibration_error(p, right, 2) == pytest.approx((3 * (1 / 3 - 0.25) + 2 * 0.05) / 5)


def test_true_probabilities_have_no_error():
    rng = np.random.default_rng(0)
    p = rng.random(200_000)
    assert calibration_error(p, rng.random(200_000) < p) < 0.01
    assert calibration_error(p, rng.random(200_000) < p / 2) == pytest.approx(0.25, abs=0.01)


def test_nothing_is_in_no_bin():
    assert calibration_bins([], []).shape == (0, 3)
    assert calibration_error([], []) == 0.0
