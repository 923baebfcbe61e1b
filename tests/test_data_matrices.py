"""Readers of matrices: svmlight, Matrix Market, npz and AnnData, with their labels and terms."""

import gzip
import io
import pickle
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from vbnmf.data import Documents, ReaderError, iter_documents, read_documents
from vbnmf.data import matrices as matrices_module

X = sparse.csr_matrix(np.array([[0, 2, 0, 1.5], [0, 0, 0, 0], [3, 0, 0, 0]]))
LABELS = ["a", None, "b"]
TERMS = ["w", "x", "y z", "ü"]
HEADER = "%%MatrixMarket matrix coordinate real general\n"


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def packed(save, *arguments) -> bytes:
    out = io.BytesIO()
    save(out, *arguments)
    return out.getvalue()


def refused(source: object, message: str, **options: object) -> None:
    with pytest.raises(ReaderError, match=message):
        read_documents(source, **options)


def same(got: Documents, want: sparse.csr_matrix = X) -> bool:
    assert got.matrix.format == "csr"
    assert got.texts is None
    assert len(got) == want.shape[0]
    return got.matrix.shape == want.shape and (got.matrix != want).nnz == 0


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return write(tmp_path / "labels.txt", "a\n\nb\n")


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    return write(tmp_path / "terms.txt", "\n".join(TERMS))


@pytest.mark.parametrize("name", ["x.mtx", "x.mtx.gz", "x.npz"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_matrix_files(tmp_path: Path, name: str, kind: str, labels: Path, terms: Path) -> None:
    save = sparse.save_npz if name == "x.npz" else scipy_io.mmwrite
    path = write(tmp_path / name, packed(save, X.asformat(kind)))
    got = read_documents(path, labels=labels, terms=terms)
    assert same(got)
    assert list(got.labels) == LABELS
    assert got.terms == TERMS
    assert got.notes == ["1 of 3 documents have no label."]
    assert read_documents(path).labels is None
    refused(path, "labels are requested, but a matrix has none.*--label-file", label="auto")
    refused(path, "no column 'body': it is not a table of texts", text="body")
    parts = list(iter_documents(path, labels=labels, terms=terms, chunk=2))
    assert [part.matrix.shape[0] for part in parts] == [2, 1]
    assert (sparse.vstack([part.matrix for part in parts]) != X).nnz == 0
    assert [label for part in parts for label in part.labels] == LABELS
    assert [part.ids for part in parts] == [["1", "2"], ["3"]]
    assert [part.notes for part in parts] == [got.notes, []]


def test_matrix_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(scipy_io.mmwrite, X)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert same(read_documents("-", format="mtx"))


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("name", ["x.svmlight", "x.svm.gz"])
def test_svmlight(tmp_path: Path, name: str, zero_based: bool) -> None:
    out = io.BytesIO()
    dump_svmlight_file(X, np.array([1, -1, 2]), out, zero_based=zero_based, comment="hello")
    path = write(tmp_path / name, out.getvalue())
    got = read_documents(path, label="auto")
    assert same(got)
    assert got.labels.dtype == np.int64
    assert got.labels.tolist() == [1, -1, 2]
    assert "svmlight: indices start at 1, or at 0 if a 0 occurs in the file." in got.notes
    assert read_documents(path).labels is None
    wide = read_documents(path, terms=[*TERMS, "more"], labels=["a", "b", "c"])
    assert wide.matrix.shape == (3, 5)
    assert list(wide.labels) == ["a", "b", "c"]
    refused(path, "at most 3, the number of terms", terms=TERMS[:3])


def test_labels_from_a_table(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npz", packed(sparse.save_npz, X))
    table = write(tmp_path / "meta.tsv", "row\tTopic\tyear\n1\ta\t2001\n2\t\t2002\n3\tb\t2003\n")
    got = read_documents(path, labels=table)
    assert list(got.labels) == LABELS
    assert "Label column 'Topic' was chosen because of its name." in got.notes
    assert list(read_documents(path, labels=table, label="year").labels) == ["2001", "2002", "2003"]


def test_lengths(tmp_path: Path, labels: Path) -> None:
    path = write(tmp_path / "x.mtx", packed(scipy_io.mmwrite, X.T))
    refused(path, "labels.txt: 3 labels for 4 documents.*may be transposed", labels=labels)
    refused(path, "labels: 5 labels for 4 documents", labels=list("abcde"))
    refused(
        path, "4 terms .'w', 'x', 'y z' and 1 more. for 3 columns.*may be transposed", terms=TERMS
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "not a complete Matrix Market file"),
        ("hello\n", "not a complete Matrix Market file"),
        (HEADER + "2 2 2\n1 1 1.0\n", "not a complete Matrix Market file"),
        (HEADER + "2 2 1\n1 1 1.0\n2 2 2.0\n", "not a complete Matrix Market file"),
        (HEADER + "2 2 2\n1 1 1.0\n2 2\n", "line 4: '2 2', expected 3 numbers"),
        (HEADER + "2 2 2\n1 1 1.0\n2 x 1\n", "line 4: '2 x 1', expected 3"),
        (HEADER + "2 2 2\n1 1 1.0 7\n2 2 1\n", "line 3: '1 1 1.0 7', expected 3 numbers"),
        (HEADER + "% x\n\n2 2 2\n1 1 1\n2 2 1.0\x06", r"line 6: '2 2 1.0\\x06', expected 3"),
        (HEADER.replace("real", "pattern") + "2 2 1\n1 1 1\n", "line 3: '1 1 1', expected 2"),
        (HEADER + "2 2 2\n1 1 1.0\n3 1 1\n", "not a complete Matrix Market file"),
        (HEADER + "2 2 999999999\n1 1 1.0\n", "says 999,999,999 entries, more than its"),
        (HEADER + "999999999999 2 1\n1 1 1.0\n", "999,999,999,999 rows in a file of"),
        (HEADER + "0 0 0\n", "empty: a matrix of 0 documents by 0 terms"),
        (HEADER.replace("real", "complex") + "1 1 1\n1 1 1 2\n", "complex numbers"),
    ],
)
def test_bad_matrix_market(tmp_path: Path, body: str, message: str) -> None:
    refused(write(tmp_path / "x.mtx", body), "x.mtx[:,] .*" + message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "empty"),
        ("1 1:2\n2 3:x\n", "line 2: could not convert.*Expected 'label index:value"),
        ("1 1:2\n" * 2500 + "2 3\n", "line 2501"),
        ("1 3:2 2:1\n", "line 1"),
        ("1,x 3:2\n", "line 1"),
        ("1,2 3:2\n1,2, 3:2\n", "line 2"),
        ("1 -3:2\n", "line 1"),
    ],
)
def test_bad_svmlight(tmp_path: Path, body: str, message: str) -> None:
    refused(write(tmp_path / "x.svm", body), "x.svm.*" + message)


def npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


PARTS = {
    "format": np.array(b"csr"),
    "shape": np.array([2, 2]),
    "data": np.ones(2),
    "indices": np.array([0, 1]),
    "indptr": np.array([0, 1, 2]),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": np.array([0, 7])}, "indices must be < 2|column index"),
        ({"indices": np.array([0, -1])}, "indices|column index"),
        ({"indptr": np.array([0, 9, 2])}, "indptr|index pointer"),
        ({"indptr": np.array([0, 2])}, "index pointer size"),
        ({"format": np.array(b"xyz")}, "not a sparse matrix saved by"),
        ({"data": np.array([1, 2j])}, "values of type complex128"),
        ({"data": np.array([{}, {}])}, "allow_pickle=False"),
        ({"format": np.array(b"csc"), "shape": np.array([10**12, 2])}, "1,000,000,000,000 rows"),
    ],
)
def test_bad_npz(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    assert read_documents(write(tmp_path / "ok.npz", npz(**PARTS))).matrix.shape == (2, 2)
    refused(write(tmp_path / "x.npz", npz(**{**PARTS, **changes})), message)


def test_npz_is_never_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path(tmp_path / "run").touch, ())

    refused(write(tmp_path / "a.npz", pickle.dumps(Bomb())), "not a sparse matrix")
    refused(write(tmp_path / "b.npz", npz(**{**PARTS, "data": np.array([Bomb()])})), "allow_pickle")
    assert not (tmp_path / "run").exists()


def test_npz_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(1_000_000))
    monkeypatch.setattr(matrices_module, "BOMB_BYTES", 500_000)
    refused(write(tmp_path / "x.npz", out.getvalue()), "bytes that unpack to 1,000,000")


def test_duplicate_entries_are_added(tmp_path: Path) -> None:
    path = write(tmp_path / "x.mtx", HEADER + "1 2 3\n1 2 1\n1 1 1\n1 2 4\n")
    got = read_documents(path).matrix
    assert got.toarray().tolist() == [[1, 5]]
    assert got.has_sorted_indices


def annotated(matrix: object) -> SimpleNamespace:
    obs = pd.DataFrame({"cell_type": pd.Categorical(["T", None, "B"]), "Class": [1, 2, 3]})
    return SimpleNamespace(X=matrix, obs=obs, var_names=pd.Index(TERMS), obs_names=list("pqr"))


@pytest.mark.parametrize("matrix", [X, X.toarray(), X.tocsc(), sparse.csr_array(X)])
def test_anndata(matrix: object) -> None:
    got = read_documents(annotated(matrix), label="cell_type")
    assert same(got)
    assert list(got.labels) == ["T", None, "B"]
    assert got.terms == TERMS
    assert got.ids == ["p", "q", "r"]
    assert got.label_column == "cell_type"
    assert read_documents(annotated(matrix), label="auto").labels.tolist() == [1, 2, 3]
    assert read_documents(annotated(matrix), labels=list("xyz")).labels.tolist() == list("xyz")
    refused(annotated(None), "X is None")
    refused(annotated(matrix), "the SimpleNamespace: no column 'a'", text="a")
    refused(annotated(matrix), "no label column 'leaf'; the columns are 'cell_type'", label="leaf")


def test_anndata_is_left_as_it_was() -> None:
    unsorted = sparse.csr_matrix((np.array([1.0, 2, 3]), np.array([3, 1, 1]), np.array([0, 3])))
    data = annotated(unsorted)
    data.obs_names, data.obs = ["p"], data.obs[:1]
    assert read_documents(data).matrix.toarray().tolist() == [[0, 5, 0, 1]]
    assert unsorted.indices.tolist() == [3, 1, 1]
