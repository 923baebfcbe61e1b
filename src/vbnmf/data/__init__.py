"""Read documents from files, and load corpora. :mod:`vbnmf.text` converts texts to counts."""

from typing import TYPE_CHECKING

from vbnmf.lazily import on_first_use

if TYPE_CHECKING:
    from vbnmf.data.corpora import CorpusInfo, fetch_corpus, list_corpora, load_corpus
    from vbnmf.data.corpus import Corpus, CorpusError
    from vbnmf.data.documents import Documents, ReaderError
    from vbnmf.data.readers import FORMATS, iter_documents, read_documents

__all__ = [
    "FORMATS",
    "Corpus",
    "CorpusError",
    "CorpusInfo",
    "Documents",
    "ReaderError",
    "fetch_corpus",
    "iter_documents",
    "list_corpora",
    "load_corpus",
    "read_documents",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "Corpus": "vbnmf.data.corpus",
        "CorpusError": "vbnmf.data.corpus",
        "CorpusInfo": "vbnmf.data.corpora",
        "Documents": "vbnmf.data.documents",
        "FORMATS": "vbnmf.data.readers",
        "ReaderError": "vbnmf.data.documents",
        "fetch_corpus": "vbnmf.data.corpora",
        "iter_documents": "vbnmf.data.readers",
        "list_corpora": "vbnmf.data.corpora",
        "load_corpus": "vbnmf.data.corpora",
        "read_documents": "vbnmf.data.readers",
    },
)
