"""Read documents from files, and load corpora. :mod:`vbnmf.text` converts texts to counts."""

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
