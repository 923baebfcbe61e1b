"""Damaged values in model files: a short ``ModelFileError``, or a model that works.

Every 11th of all single changes is tried here. ``python tests/modelfuzz.py 0`` tries all of them.
"""

from collections import Counter

import modelfuzz
import pytest

KINDS = [
    "generative", "components", "words and components", "several", "text", "matrix", "estimator",
    "updated",
]  # fmt: skip
EVERY = 11


@pytest.mark.filterwarnings("ignore:the fit did not converge", "ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_changed_values_are_refused_or_harmless(kind, tmp_path):
    file, found = modelfuzz.files()[kind], Counter()
    for told, content in list(modelfuzz.cases(file))[KINDS.index(kind) :: EVERY]:
        result = modelfuzz.tried(tmp_path / "some.model", content)
        assert result in ("refused", "works"), told
        found[result] += 1
    assert min(found["refused"], found["works"]) > 10
