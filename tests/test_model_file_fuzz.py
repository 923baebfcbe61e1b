"""Damaged values in model files: a short ``ModelFileError``, or a model that works.

Every 61st of all single changes is tried here, and every 11th if slow tests are run.
``python tests/modelfuzz.py 0`` tries all of them.
"""

from collections import Counter

import modelfuzz
import pytest

EXHAUSTIVE = [pytest.mark.slow, pytest.mark.exhaustive]
KINDS = [
    "generative", "components", "words and components", "several", "text", "matrix", "estimator",
    "updated",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:the fit did not converge", "ignore::UserWarning")
@pytest.mark.parametrize("every", [61, pytest.param(11, marks=EXHAUSTIVE)])
@pytest.mark.parametrize("kind", KINDS)
def test_changed_values_are_refused_or_harmless(kind, every, tmp_path):
    file, found = modelfuzz.files()[kind], Counter()
    for told, content in list(modelfuzz.cases(file))[KINDS.index(kind) :: every]:
        result = modelfuzz.tried(tmp_path / "some.model", content)
        assert result in ("refused", "works"), told
        found[result] += 1
    assert min(found["refused"], found["works"]) > 110 // every
