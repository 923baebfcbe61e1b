"""The number of examples that Hypothesis tries in a test.

The ordinary run tries few. The environment variable ``VBNMF_EXAMPLES`` sets another limit:
``.ci/run`` tries as many as each test asks for, and fewer on the SciPy kernels.
"""

import os

from hypothesis import settings

ORDINARY = 20
LIMIT = os.environ.get("VBNMF_EXAMPLES")


def examples(number, ordinary=ORDINARY, **options):
    """Settings of a test: this many examples, or the limit, and no time limit."""
    most = int(LIMIT) if LIMIT else ordinary
    return settings(max_examples=min(number, most), deadline=None, **options)


settings.register_profile("vbnmf", examples(100))  # tests that do not say how many
settings.load_profile("vbnmf")
