"""Several labels a document, and none: columns, zeros and ones, separators, lists, label files."""

import csv
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import io, sparse

from vbnmf.data import ReaderError, iter_documents, read_documents
from vbnmf.data.labels import KnownLabels

LISTS = [["ink", "net"], ["net"], None, ["ink"]]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def read(source, **options):
    """Labels as a list, and the notes."""
    documents = read_documents(source, **options)
    assert documents.labels.shape == (len(documents),)
    return documents.labels.tolist(), documents.notes


def refused(source, message, **options):
    with pytest.raises(ReaderError, match=message):
        read_documents(source, **options)


@pytest.fixture
def cells(tmp_path):
    """The same labels in one column, with a separator."""
    return write(tmp_path / "a.csv", 'text,tag\na,"ink; net"\nb, net ;\nc," ; "\nd,ink;ink\n')


class TestSeparator:
    def test_labels_are_stripped_and_gaps_dropped(self, cells):
        labels, notes = read(cells, text="text", label="tag", label_separator=";")
        assert labels == LISTS
        assert notes == ["1 of 4 documents have no label."]
        assert read(cells, label="tag")[0][0] == "ink; net"

    def test_of_several_characters(self, tmp_path):
        path = write(tmp_path / "a.tsv", "text\ttag\na\tink :: net\nb\tnet:x\n")
        assert read(path, label="tag", label_separator="::")[0] == [["ink", "net"], ["net:x"]]

    def test_that_never_occurs_is_said(self, cells):
        labels, notes = read(cells, label="tag", label_separator="|")
        assert labels[0] == ["ink; net"]
        assert any("The label separator '|' is in no label" in note for note in notes)
        assert not any("separator" in note for note in read(cells, label="tag")[1])

    def test_without_labels(self, cells):
        refused(cells, "a label separator, ';', but no label column.*--label", label_separator=";")
        refused(cells, "label_separator is ''", label="tag", label_separator="")
        with pytest.raises(ReaderError, match="but no label column"):
            next(iter_documents(cells, label_separator=";"))

    def test_names_of_folders(self, tmp_path):
        (tmp_path / "ink+net").mkdir()
        write(tmp_path / "ink+net" / "a.txt", "a")
        assert read(tmp_path, label="auto", label_separator="+")[0] == [["ink", "net"]]

    @given(
        lists=st.lists(
            st.lists(
                st.text(st.characters(exclude_characters=";", exclude_categories=["Cs", "Cc"])),
                max_size=4,
            ),
            min_size=1,
        ),
        gap=st.sampled_from(["", " ", "\t"]),
    )
    def test_whatever_is_joined_comes_apart(self, lists, gap):
        frame = pd.DataFrame({"text": ["t"] * len(lists)})
        frame["tag"] = [f"{gap};{gap}".join(labels) for labels in lists]
        found, _ = read(frame, label="tag", label_separator=";")
        for labels, wanted in zip(found, lists, strict=True):
            stripped = [label.strip() for label in wanted if label.strip()]
            assert labels == (list(dict.fromkeys(stripped)) or None)


class TestSeveralColumns:
    def columns(self, tmp_path, *rows):
        with open(tmp_path / "c.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text", "one", "two"], *rows])
        return tmp_path / "c.csv"

    def test_cells_are_joined(self, tmp_path):
        rows = [("a", "ink", "net"), ("b", "", " net"), ("c", " ", ""), ("d", "ink", "ink")]
        path = self.columns(tmp_path, *rows)
        documents = read_documents(path, label=["one", "TWO"])
        assert documents.labels.tolist() == LISTS
        assert documents.label_column == ["one", "two"]
        assert documents.text_column == "text"
        again = read_documents(path, label=documents.label_column)
        assert again.labels.tolist() == LISTS

    def test_with_a_separator_too(self, tmp_path):
        path = self.columns(tmp_path, ("a", "ink;net", "x"), ("b", "", "net;"))
        labels, _ = read(path, label=("one", "two"), label_separator=";")
        assert labels == [["ink", "net", "x"], ["net"]]

    @pytest.mark.parametrize(
        "bits", [("1", "0"), ("1", ""), ("true", "False"), ("1.0", "0.0"), (" 1", "0 ")]
    )
    def test_zeros_and_ones_name_the_columns(self, tmp_path, bits):
        yes, no = bits
        path = self.columns(
            tmp_path, ("a", yes, yes), ("b", no, yes), ("c", no, no), ("d", yes, no)
        )
        labels, notes = read(path, label=["one", "two"])
        assert labels == [["one", "two"], ["two"], None, ["one"]]
        assert "Columns 'one', 'two' have zeros and ones: their names are used as labels." in notes

    def test_other_numbers_are_labels(self, tmp_path):
        path = self.columns(tmp_path, ("a", "1", "0"), ("b", "2", "0"))
        assert read(path, label=["one", "two"])[0] == [["1", "0"], ["2", "0"]]
        path = self.columns(tmp_path, ("a", "1", ""), ("b", "0", ""))
        assert read(path, label="one")[0] == ["1", "0"]
        assert read(path, label=["one"])[0] == [["1"], ["0"]]

    def test_parts_agree_on_what_the_columns_hold(self, tmp_path):
        """The first part that holds anything tells; what does not fit later is refused."""
        path = self.columns(
            tmp_path, ("a", "", ""), ("b", "1", "0"), ("c", "0", "0"), ("d", "x", "")
        )
        parts = iter_documents(path, label=["one", "two"], chunk=1)
        assert [next(parts).labels.tolist() for _ in range(3)] == [[None], [["one"]], [None]]
        with pytest.raises(ReaderError, match="line 5: column 'one' has 'x', but only 0 and 1"):
            next(parts)
        path = self.columns(tmp_path, ("a", "x", ""), ("b", "1", "0"))
        found = [part.labels[0] for part in iter_documents(path, label=["one", "two"], chunk=1)]
        assert found == [["x"], ["1", "0"]]

    def test_a_column_that_is_not_there(self, tmp_path):
        path = self.columns(tmp_path, ("a", "", ""))
        there = "the columns are 'text', 'one', 'two'"
        refused(path, f"no label column 'three'; {there}", label=["one", "three"])
        refused(path, "column 'text' cannot be both text and label", text="text",
                label=["one", "text"])  # fmt: skip
        refused(path, "`label` names no column", label=[])

    def test_columns_that_only_tables_have(self, tmp_path):
        (tmp_path / "a").mkdir()
        write(tmp_path / "a" / "x.txt", "a")
        refused(tmp_path, "columns 'a', 'b' are requested, but a folder", label=["a", "b"])
        matrix = write(tmp_path / "m.svm", "1 1:1\n")
        refused(matrix, "columns 'a', 'b' are requested, but a matrix", label=["a", "b"])


class TestLists:
    @pytest.fixture(params=["jsonl", "parquet", "feather", "pandas", "arrays", "polars"])
    def source(self, request, tmp_path):
        columns = {"text": list("abcd"), "tag": LISTS, "one": ["x", None, None, ""]}
        if request.param == "polars":
            return pl.DataFrame(columns)
        if request.param == "jsonl":
            rows = zip(*{**columns, "tag": [*LISTS[:2], [], LISTS[3]]}.values(), strict=True)
            lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
            return write(tmp_path / "a.jsonl", "\n".join(lines))
        frame = pd.DataFrame(columns)
        if request.param == "parquet":
            frame.to_parquet(tmp_path / "a.parquet")
            return tmp_path / "a.parquet"
        if request.param == "feather":
            frame.to_feather(tmp_path / "a.feather")
            return tmp_path / "a.feather"
        if request.param == "arrays":
            frame["tag"] = [None if tags is None else np.array(tags) for tags in LISTS]
        return frame

    def test_they_are_lists_of_labels(self, source):
        assert read(source, text="text", label="tag")[0] == LISTS

    def test_beside_single_labels(self, source):
        labels, _ = read(source, text="text", label=["tag", "one"])
        assert labels == [["ink", "net", "x"], *LISTS[1:]]

    def test_single_labels_among_them(self, tmp_path):
        values = ["a", ["b", " a "], [], None, ["", None]]
        lines = "\n".join(json.dumps({"text": "t", "tag": value}) for value in values)
        labels, _ = read(write(tmp_path / "a.jsonl", lines), label="tag")
        assert labels == [["a"], ["b", "a"], None, None, None]

    def test_types_are_made_one(self, tmp_path):
        lines = "\n".join(json.dumps({"text": "t", "tag": tag}) for tag in ([1, 2], [2.5], []))
        labels, notes = read(write(tmp_path / "a.jsonl", lines), label="tag")
        assert labels == [[1.0, 2.0], [2.5], None]
        assert "Labels of several types were converted to float." in notes
        lines = "\n".join(json.dumps({"text": "t", "tag": tag}) for tag in ([1, "x"], [1]))
        assert read(write(tmp_path / "b.jsonl", lines), label="tag")[0] == [["1", "x"], ["1"]]

    def test_lists_of_one_length_stay_lists(self):
        frame = pd.DataFrame({"text": ["a", "b"], "tag": [["x", "y"], ["y", "z"]]})
        assert read(frame, label="tag")[0] == [["x", "y"], ["y", "z"]]


class Dataset:
    """What a Hugging Face dataset shows of itself."""

    column_names = ("text", "tags")

    def __init__(self, rows, feature):
        self.rows, self.features = rows, {"tags": feature}

    def select_columns(self, names):
        return [{name: row[name] for name in names} for row in self.rows]


def test_lists_of_class_labels():
    """The numbers in them become names, however the list of them is declared."""
    label = type("ClassLabel", (), {"names": ["ink", "net"]})()
    around = type("Sequence", (), {"feature": label})()
    rows = [{"text": "a", "tags": [1, 0]}, {"text": "b", "tags": [-1]}]
    for feature in (around, [label]):
        assert read(Dataset(rows, feature), label="tags")[0] == [["net", "ink"], None]


class TestLabelsKeptApart:
    @pytest.fixture
    def texts(self, tmp_path):
        return write(tmp_path / "a.csv", "text\na\nb\nc\nd\n")

    def test_lines_with_a_separator(self, texts, tmp_path):
        apart = write(tmp_path / "labels.txt", "ink; net\nnet\n\nink\n")
        assert read(texts, labels=apart, label_separator=";")[0] == LISTS

    def test_columns_of_a_table(self, texts, tmp_path):
        apart = write(tmp_path / "l.csv", "one,two\nink,net\n,net\n,\nink,\n")
        assert read(texts, labels=apart, label=["one", "two"])[0] == LISTS
        apart = write(tmp_path / "b.csv", "ink,net\n1,1\n0,1\n0,0\n1,0\n")
        assert read(texts, labels=apart, label=["ink", "net"])[0] == LISTS
        apart = write(tmp_path / "s.csv", 'tags\nink|net\nnet\n""\nink\n')
        assert read(texts, labels=apart, label_separator="|")[0] == LISTS

    def test_of_files_by_name(self, tmp_path):
        folder = tmp_path / "f"
        folder.mkdir()
        for name in "ab":
            write(folder / name, name)
        apart = write(tmp_path / "l.csv", "file,ink,net\nb,1,1\na,0,1\n")
        assert read(folder, labels=apart, label=["ink", "net"])[0] == [["net"], ["ink", "net"]]

    def test_given_as_lists(self, texts):
        assert read(texts, labels=LISTS)[0] == LISTS
        assert read(texts, labels=[tuple(tags or ()) for tags in LISTS])[0] == LISTS
        refused(texts, "a ndarray with several columns; expected one label or", labels=np.eye(4))

    def test_of_a_matrix(self, tmp_path):
        io.mmwrite(tmp_path / "m.mtx", sparse.csr_array(np.eye(4)))
        apart = write(tmp_path / "labels.txt", "ink; net\nnet\n\nink\n")
        assert read(tmp_path / "m.mtx", labels=apart, label_separator=";")[0] == LISTS


class TestMatrices:
    def test_svmlight(self, tmp_path):
        path = write(tmp_path / "a.svm", "1,3 1:2\n3 2:1\n2:5\n 1 1:1 # note, with a comma\n")
        assert read(path, label="auto")[0] == [[1, 3], [3], None, [1]]
        path = write(tmp_path / "b.svm", "1.5,3 1:2\n3 2:1\n")
        assert read(path, label="auto")[0] == [[1.5, 3.0], [3.0]]

    def test_a_comma_elsewhere_is_none_between_labels(self, tmp_path):
        path = write(tmp_path / "a.svm", "# a, b\n1 1:2 # c, d\n2 2:1\n")
        assert read(path, label="auto")[0] == [1, 2]

    def test_anndata(self):
        obs = pd.DataFrame({"one": ["ink", None, None, "ink"], "two": ["net", "net", None, ""]})
        data = type("AnnData", (), {})()
        data.X, data.obs, data.var_names, data.obs_names = (
            np.eye(4),
            obs,
            list("wxyz"),
            list("abcd"),
        )
        documents = read_documents(data, label=["one", "two"])
        assert documents.labels.tolist() == LISTS
        assert documents.label_column == ["one", "two"]
        obs["tag"] = ["ink|net", "net", "", "ink"]
        assert read(data, label="tag", label_separator="|")[0] == LISTS


class TestWholeNumbers:
    """A whole number is one label, however a file writes it."""

    def test_are_integers_with_and_without_gaps(self, tmp_path):
        frame = pd.DataFrame({"text": list("abc"), "tag": [1.0, None, 2.0]})
        frame.to_parquet(tmp_path / "a.parquet")
        for source in (frame, tmp_path / "a.parquet"):
            labels, _ = read(source, label="tag")
            assert labels == [1, None, 2]
            assert type(labels[0]) is int
        assert read(frame.dropna(), label="tag")[0] == [1, 2]
        frame.to_csv(tmp_path / "a.csv")
        labels, notes = read(tmp_path / "a.csv", label="tag")
        assert labels == ["1", None, "2"]
        assert "Labels were read as whole numbers: '1.0' is '1'." in notes

    @pytest.mark.parametrize("tags", [["1.0", "1.1"], ["1.0", "x"], ["1.00", "2"]])
    def test_are_not_made_of_other_names(self, tmp_path, tags):
        rows = "".join(f"a,{tag}\n" for tag in tags)
        assert read(write(tmp_path / "a.csv", f"text,tag\n{rows}"), label="tag")[0] == tags

    @pytest.mark.parametrize("classes", [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2.0"]])
    @pytest.mark.parametrize("label", [1, 1.0, "1", "1.0", np.float32(1), np.int8(1)])
    def test_are_matched_to_the_labels_of_a_model(self, classes, label):
        known = KnownLabels(classes)
        assert known.match(label) == [known.names[0]]
        assert known.match([2.0, None, 7.0]) == [known.names[1], "7"]

    def test_an_exact_match_comes_first(self):
        known = KnownLabels(["1", "1.0"])
        assert [known.match(label) for label in ("1", "1.0", 1)] == [["1"], ["1.0"], ["1"]]

    @pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
    def test_gaps_are_no_labels(self, gap):
        assert KnownLabels().match(gap) == []
        frame = pd.DataFrame({"text": ["a", "b"], "tag": pd.Series([gap, "x"], dtype=object)})
        assert read(frame, label="tag")[0] == [None, "x"]
