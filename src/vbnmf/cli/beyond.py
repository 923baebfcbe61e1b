"""vbnmf fit of a file that would not fit into memory: by way of a temporary shard folder."""

import os
import tempfile
from pathlib import Path
from typing import Any

from vbnmf.cli import common
from vbnmf.cli.fitshards import fit_shards
from vbnmf.cli.modeloptions import TEXT_OPTIONS, build

_STREAMED = ("csv", "tsv", "jsonl", "parquet", "arrow", "folder")


def is_beyond_memory(file: str, format: str | None, quiet: bool) -> bool:  # noqa: A002
    """Estimate whether a file is too large for memory, and say so if it is."""
    from vbnmf import memory
    from vbnmf.data.readers import find_format

    kind = find_format(file, format)
    if file == "-" or kind not in _STREAMED or not os.path.exists(file):
        return False
    needed, available = memory.needed(file, kind), memory.available()
    if available is None or needed <= available:
        return False
    common.say(
        f"{file} needs about {_size(needed)} of memory, and {_size(available)} are available. It "
        "is converted to a temporary shard folder first, as by `vbnmf vectorize`.",
        quiet,
    )
    return True


def fit_beyond_memory(
    file: str,
    target: Path,
    reading: dict[str, Any],
    settings: dict[str, Any],
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Convert a file to shards, fit a model to them, and write it.

    The shards are in ``TMPDIR`` if it is set, otherwise beside the model. They are removed at the
    end, also after an error.
    """
    from vbnmf.cli.vectorize import write_shards

    n_labels = None if reading["label"] is None else 1  # how many there are is not known yet
    vectorizer = build(n_labels, **settings).vectorizer
    of_text = {name.replace("-", "_") for name in TEXT_OPTIONS}
    others = {name: value for name, value in settings.items() if name not in of_text}
    place = os.environ.get("TMPDIR") or target.resolve().parent
    with tempfile.TemporaryDirectory(".shards", f".{target.name}.", place) as temporary:
        folder = Path(temporary)
        write_shards(
            [file], folder, vectorizer, quiet=quiet, jobs=settings["jobs"],
            **reading | {"text": common.column_names(reading["text"])},
        )  # fmt: skip
        fit_shards(temporary, target, {}, others, force=force, quiet=quiet, as_json=as_json)


def _size(number: int) -> str:
    """Format a number of bytes."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:,} bytes"
