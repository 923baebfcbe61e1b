"""Read 20 Newsgroups from Rennie's archives (posts or word counts), or through scikit-learn.

:mod:`vbnmf.data.wheel` reads the copy in a wheel, and :mod:`vbnmf.data.corpora` chooses a copy.
"""

import io
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from vbnmf.data.corpus import Copy, CorpusError, Record
from vbnmf.data.documents import ReaderError
from vbnmf.data.streams import MAX_DOCUMENT, open_bytes

# Names of the archives, each with a folder that it contains; posts before counts.
ARCHIVES = {
    "20news-bydate.tar.gz": "20news-bydate-train",
    "20news-bydate-matlab.tgz": "20news-bydate",
}

_SPLITS = ("train", "test")
_POST = re.compile(r"(?:^|/)20news-bydate-(train|test)/([^/]+)/(\d+)$")
_COUNTS = re.compile(r"(?:^|/)((?:train|test)\.(?:data|label|map)|vocabulary\.txt)$")


def read_newsgroups(path: Path) -> Copy:
    """Read Rennie's posts or counts from a tar archive or a folder.

    Parameters
    ----------
    path : Path
        ``20news-bydate.tar.gz``, ``20news-bydate-matlab.tgz``, or a folder with their contents.

    Returns
    -------
    Copy
        Posts as texts with their headers, or counts of shape (n_docs, 61188).
    """
    posts: list[Record] = []
    counts: dict[str, bytes] = {}
    try:
        for name, data in _members(path):
            if post := _POST.search(name):
                split, group, number = post.groups()
                # the posts are older than UTF-8; in Latin-1 every byte is a character
                posts.append(Record(split, f"{group}/{number}", group, data.decode("latin-1")))
            elif part := _COUNTS.search(name):
                counts[part.group(1)] = data
    except tarfile.TarError as error:
        raise ReaderError(f"{path}: not a complete tar archive: {error}") from error
    if posts:
        # the order does not depend on the archive or file system; train comes before test
        posts.sort(key=lambda r: (r.split == "test", r.label, int(r.id.rpartition("/")[2])))
        return Copy(f"the posts in {path}", posts)
    if counts:
        return _counts(counts, path)
    raise ReaderError(
        f"{path}: neither posts (20news-bydate-train/GROUP/NUMBER) nor counts (train.data, "
        "train.label, train.map, vocabulary.txt) of 20 Newsgroups in it."
    )


def read_sklearn(download: bool) -> Copy:
    """Read the posts through scikit-learn, from its cache or, with `download`, its fetcher."""
    from sklearn.datasets import fetch_20newsgroups

    records = []
    for split in _SPLITS:
        try:
            bunch = fetch_20newsgroups(subset=split, shuffle=False, download_if_missing=download)
        except Exception as error:  # networks and caches may raise any error
            raise CorpusError(f"scikit-learn could not load it: {error}") from error
        for name, target, text in zip(bunch.filenames, bunch.target, bunch.data, strict=True):
            group = bunch.target_names[target]
            records.append(Record(split, f"{group}/{Path(name).name}", group, text))
    return Copy("scikit-learn's copy of the posts", records)


def sklearn_cache() -> Path | None:
    """Find scikit-learn's cached copy without creating its folder, as its functions would."""
    home = Path(os.environ.get("SCIKIT_LEARN_DATA") or "~/scikit_learn_data").expanduser()
    return next(iter(home.glob("20news*.pkz")), None)


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the needed files. Nothing is unpacked to disk."""
    if path.is_dir():
        for parent, _, files in os.walk(path):
            for file in files:
                # include the name of the folder, which may be 20news-bydate-train itself
                name = (Path(path.resolve().name) / Path(parent, file).relative_to(path)).as_posix()
                if _POST.search(name) or _COUNTS.search(name):
                    yield name, Path(parent, file).read_bytes()
        return
    with open_bytes(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if not member.isfile() or not (
                _POST.search(member.name) or _COUNTS.search(member.name)
            ):
                continue
            if member.size > MAX_DOCUMENT:
                raise ReaderError(f"{path}: {member.name} of {member.size:,} bytes is not a post.")
            content = archive.extractfile(member)
            yield member.name, b"" if content is None else content.read()


def _counts(files: dict[str, bytes], path: Path) -> Copy:
    """Convert Rennie's triples (document, word, count), numbered from one, to a matrix."""
    records: list[Record] = []
    blocks = []
    try:
        terms = files["vocabulary.txt"].decode("latin-1").split()
        for split in _SPLITS:
            named = (line.rsplit(None, 1) for line in files[f"{split}.map"].decode().splitlines())
            groups = {int(number): group for group, number in named}
            labels = [groups[int(number)] for number in files[f"{split}.label"].split()]
            triples = np.loadtxt(io.BytesIO(files[f"{split}.data"]), dtype=np.int64, ndmin=2)
            rows, columns, values = triples.T
            entries = (values.astype(np.float64), (rows - 1, columns - 1))
            blocks.append(sparse.csr_matrix(entries, shape=(len(labels), len(terms))))
            records += [Record(split, f"{split}/{i}", g, None) for i, g in enumerate(labels, 1)]
    except KeyError as error:
        raise ReaderError(f"{path}: {error} is missing from the counts.") from error
    except ValueError as error:
        raise ReaderError(f"{path}: damaged counts: {error}") from error
    return Copy(f"the word counts in {path}", records, sparse.vstack(blocks, "csr"), terms)
