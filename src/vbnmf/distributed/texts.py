"""Convert texts in Dask bags and data frames to weights of terms, on the workers.

In a fit, workers split the texts of each partition once, and write their counts to the scratch
folder. The vocabulary is selected as in ``vbnmf vectorize`` (``vbnmf.text.outofcore``), so it is
the same as in memory. Then workers write the weights of each partition as shards, which the fit
reads.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy import sparse

from vbnmf.distributed.arrays import ArrayShards, WrittenBlock, open_blocks, write_block
from vbnmf.distributed.client import cluster_of
from vbnmf.distributed.cluster import shared_folder
from vbnmf.distributed.tasks import Tasks, connected, explained
from vbnmf.text import DocumentVectorizer
from vbnmf.text.checks import check_parameters
from vbnmf.text.markup import LOOKED_AT, decide
from vbnmf.text.outofcore import PartsOfCounts, count_part, learn_parts, weigh_part, weigh_texts


@contextmanager
def vectorized(texts: Any, vectorizer: DocumentVectorizer, engine: Any) -> Iterator[ArrayShards]:
    """Fit a vectorizer to texts, and yield their weights as shards. Remove these at the end.

    Parameters
    ----------
    texts : dask.bag.Bag or dask Series
        The texts. Each partition is one shard or several.
    vectorizer : DocumentVectorizer
        The vectorizer to fit, in place.
    engine : "dask" or Dask
        The parameter of an estimator. Without a folder in it, a temporary folder is created; then
        all workers must be on this machine.
    """
    client, folder = cluster_of(engine)
    check_parameters(vectorizer.get_params())
    vectorizer._prepare()
    first = _first(texts) if vectorizer.strip == "auto" else []
    _, vectorizer.strip_ = decide(first, vectorizer.strip)
    with tempfile.TemporaryDirectory(prefix=".texts-", dir=shared_folder(client, folder)) as home:
        path = Path(home).absolute()
        workers = Tasks(client, vectorizer)
        counts = PartsOfCounts(path / "counts")
        shared = dask.delayed(vectorizer)
        counted = [
            dask.delayed(_count, pure=False)(shared, counts.path(number), part)
            for number, part in enumerate(texts.to_delayed())
        ]
        with explained():
            with connected():
                pending = client.compute(counted)
            for count in pending:
                count.result()
                counts.note()
        # only arrays are sent from now on, and not the vocabulary
        parts = learn_parts(vectorizer, counts, workers)
        tasks = ((number, path, *task) for number, task in enumerate(parts))
        blocks: list[WrittenBlock] = []
        vectorizer.n_empty_ = 0
        for block, n_empty in workers.map(_write, tasks):
            blocks.append(block)
            vectorizer.n_empty_ += n_empty
        yield open_blocks(path, blocks, len(vectorizer.vocabulary_))


def weights(texts: Any, vectorizer: DocumentVectorizer, joined: Callable[[Any, Any], Any]) -> Any:
    """Return the weights of texts as a Dask array with sparse blocks, which is computed later.

    ``joined(texts, X)`` adds the features of a prediction head to weights of terms.
    """
    shared, join = dask.delayed(vectorizer), dask.delayed(joined)
    n_columns = joined([], sparse.csr_matrix((0, len(vectorizer.vocabulary_)))).shape[1]
    shape = (np.nan, n_columns)
    meta = np.empty((0, 0), vectorizer.dtype)
    blocks = [
        da.from_delayed(dask.delayed(_weigh)(shared, join, part), shape, meta=meta)
        for part in texts.to_delayed()
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def lists_by_block(
    P: Any, model: Any, convert: Callable[[Any, Any, int], list[Any]], n: int
) -> list[Any]:
    """Convert a Dask array of probabilities to n bags, each with a list for each document.

    ``convert(model, block, number)`` returns one of the n lists of each document.
    """
    import dask.bag

    shared = dask.delayed(model)  # one task has it, and not each of them
    blocks = P.to_delayed().ravel()
    return [
        dask.bag.from_delayed([dask.delayed(convert)(shared, block, number) for block in blocks])
        for number in range(n)
    ]


def _first(texts: Any) -> list[str]:
    """Return the first documents, in which the vectorizer looks for HTML."""
    if hasattr(texts, "take"):
        return list(texts.take(LOOKED_AT, npartitions=-1, warn=False))
    return list(texts.head(LOOKED_AT, npartitions=-1))


def _count(vectorizer: DocumentVectorizer, path: Path, texts: Iterable[str]) -> None:
    count_part(vectorizer, path, list(texts), None)


def _write(
    vectorizer: DocumentVectorizer, number: int, folder: Path, *task: Any
) -> tuple[WrittenBlock, int]:
    X = weigh_part(vectorizer, *task)
    block = write_block(X, folder, number, X.shape[1])
    return block, int((np.diff(X.indptr) == 0).sum())


def _weigh(
    vectorizer: DocumentVectorizer, joined: Callable[[Any, Any], Any], texts: Iterable[str]
) -> sparse.csr_matrix:
    texts = list(texts)
    return joined(texts, weigh_texts(vectorizer, texts))
