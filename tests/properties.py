"""The number of examples that Hypothesis tries in a test.

The environment variable ``VBNMF_EXAMPLES`` limits it. The ordinary run tries few; ``.ci/run`` also
tries as many as each test asks for.
"""

import os

from hypothesis import settings

MOST = int(os.environ.get("VBNMF_EXAMPLES", "20"))


def examples(number, **options):
    """Settings of a test: this many examples, or the limit, and no time limit."""
    return settings(max_examples=min(number, MOST), deadline=None, **options)


settings.register_profile("vbnmf", examples(100))  # tests that do not say how many
settings.load_profile("vbnmf")
