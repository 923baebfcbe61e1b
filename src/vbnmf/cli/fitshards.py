"""vbnmf fit for a shard folder, which need not fit into memory."""

from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.fitresult import tell_result
from vbnmf.cli.modeloptions import TEXT_OPTIONS, build, how_many
from vbnmf.cli.progress import FitProgress
from vbnmf.cli.savemodel import save_model


def is_shard_folder(file: str) -> bool:
    """Return whether a source is a shard folder, without reading it."""
    return Path(file).joinpath("manifest.json").is_file() and Path(file).is_dir()


def refuse_settled(given: dict[str, Any]) -> None:
    """Refuse options that were settled when a shard folder was written."""
    for name, value in given.items():
        if value:
            raise click.UsageError(
                f"--{name} cannot change a shard folder. Pass it to `vbnmf vectorize` instead."
            )


def fit_shards(
    file: str,
    target: Path,
    given: dict[str, Any],
    settings: dict[str, Any],
    *,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Fit a model to a shard folder with its labels, and save it."""
    import numpy as np

    from vbnmf.shards import Shards

    refuse_settled(
        {**given, **{name: settings.get(name.replace("-", "_")) for name in TEXT_OPTIONS}}
    )
    shards = Shards(file)
    n_labels = None if shards.labels is None else len(shards.labels)
    model = build(n_labels, **settings)
    about = "without labels" if n_labels is None else f"with {n_labels} labels"
    common.say(
        f"Fitting {how_many(model.estimator.n_components, n_labels)} to {shards.shape[0]:,} "
        f"documents {about}, in {shards.n_shards} {'shard' if shards.n_shards == 1 else 'shards'}.",
        quiet,
    )
    with FitProgress(quiet) as progress:
        model.estimator.set_params(callback=progress)
        model.fit(shards)
    model.columns_ = dict(shards.source_columns)
    save_model(model, target, overwrite=force)
    n_unknown = 0
    if n_labels is not None:
        n_unknown = sum(int((np.diff(part.indptr) == 0).sum()) for part in shards.label_parts())
    tell_result(model, target, shards.shape[0], n_unknown, quiet=quiet, as_json=as_json)
