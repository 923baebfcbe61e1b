"""Find the line of the user's code, for warnings to point to."""

import sys

_OURS = ("vbnmf.", "sklearn.")  # scikit-learn wraps methods and calls estimators in pipelines


def callers_level() -> int:
    """Return the ``stacklevel`` at which a warning points to the user's own code.

    Call it in the function that calls ``warnings.warn``.
    """
    level, frame = 0, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level + 1
