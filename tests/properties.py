"""The number of examples that Hypothesis tries in a test.

The environment variable ``VBNMF_EXAMPLES`` limits it: a second run of the suite, on other kernels,
need not try as many as the first.
"""

import os

from hypothesis import settings

MOST = int(os.environ.get("VBNMF_EXAMPLES", "1000"))


def examples(number, **options):
    """Settings of a test: this many examples, or the limit, and no time limit."""
    return settings(max_examples=min(number, MOST), deadline=None, **options)


settings.register_profile("vbnmf", examples(100))  # tests that do not say how many
settings.load_profile("vbnmf")
