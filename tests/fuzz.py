"""Fuzzing: damaged and hostile input gives a short named error or a sound result, nothing else.

    python -m tests.fuzz model --cases 20000       damaged model files
    python -m tests.fuzz shards --cases 20000      damaged shard folders
    python -m tests.fuzz checkpoint --cases 20000  damaged and crafted checkpoints
    python -m tests.fuzz readers --cases 20000     damaged files of documents, in all formats
    python -m tests.fuzz page --cases 20000        hostile strings in all places of the page

A case follows from its number: ``--first 1234 --cases 1`` tries case 1234 again. Cases run in child
processes, so that a crash is counted and told like any other failure. The exit code is 1 if a case
failed. ``tests/test_fuzz.py`` runs a few cases of each kind, and all that ever failed.
"""

import argparse
import json
import mmap
import os
import random
import resource
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from modelfuzz import LONGEST_MESSAGE, limited

KINDS = ("model", "shards", "checkpoint", "readers", "page")
REFUSED, WORKS = "refused", "works"
BLOCK = 1000  # cases of one child process
MOST_MEMORY = 4 << 30  # bytes of address space of a child
DEEP = 20  # every so many sound results are used in all ways, and the others in the main ones

# What means something to one of the formats, so that damage goes deeper than the first byte.
PIECES = [
    b"", b"\0", b"\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"NaN", b"nan", b"inf", b"1e999",
    b"-1", b"0", b"null", b"[", b"]", b"{", b"}", b'"', b",", b":", b"'", b"(", b")", b"L",
    b"<f8", b"|O", b"<i4", b"shape", b"99999999999", b"\\ud800", b"../", b"true", b"\x93NUMPY",
    b"\n",
]  # fmt: skip


def damaged(raw, rng):
    """Return bytes with one to three changes: flipped bits, pieces put in, parts left out."""
    data = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        # half of the changes are near the beginning, where headers are
        at = rng.randrange(min(len(data), 200) if rng.random() < 0.5 else max(len(data), 1) or 1)
        how = rng.random()
        if how < 0.4 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif how < 0.8:
            piece = rng.choice(PIECES)
            gone = rng.choice([0, len(piece), 1, 4])
            data[at : at + gone] = piece
        elif how < 0.9:
            del data[at:]
        else:
            del data[at : at + rng.choice([1, 4, 8, 64])]
        data = data or bytearray(b"\0")
    return bytes(data)


def refused(error, *named):
    """Return that a case was refused, if the message is short and says one of these words."""
    assert len(str(error)) <= LONGEST_MESSAGE, f"a long message: {error}"
    assert any(words in str(error) for words in named), f"not named: {error}"
    return REFUSED


class Models:
    """Model files: ``modelfuzz`` changes values, and this changes bytes."""

    def __init__(self, folder):
        import modelfuzz

        self.fuzz, self.path = modelfuzz, folder / "some.model"
        self.files = list(modelfuzz.files().values())

    def __call__(self, rng):
        from vbnmf import load
        from vbnmf.store import ModelFileError

        file = rng.choice(self.files)
        values = rng.random() < 0.5
        content = self.fuzz.random_case(file, rng)[1] if values else damaged(file.raw, rng)
        self.path.write_bytes(content)
        try:
            model = load(self.path)
        except ModelFileError as error:
            return refused(error, "")
        if rng.randrange(DEEP) == 0:
            self.fuzz.use(model)
        else:
            self._used(model)
        return WORKS

    def _used(self, model):
        estimator = getattr(model, "estimator_", model)
        X = np.zeros((2, estimator.n_features_in_))
        X[0], X[1, 0] = 1, 50
        V = model.transform(X)
        assert np.isfinite(V).all(), "coefficients are not finite"
        assert (V >= 0).all(), "coefficients are negative"
        if hasattr(estimator, "classes_"):
            P = model.predict_proba(X)
            assert ((P >= 0) & (P <= 1)).all(), "probabilities are outside [0, 1]"


class ShardFolders:
    """Shard folders, with and without a manifest that agrees with the damage."""

    def __init__(self, folder):
        from vbnmf.shards.writing import write_shards

        self.folder = folder / "shards"
        X = np.random.default_rng(0).poisson(1, (20, 6)).astype(float)
        y = [["a", "b"][i % 2] if i % 5 else None for i in range(20)]
        write_shards(self.folder, X, y, np.full(20, 2.0), terms=list("abcdef"), shard_nonzeros=40)
        paths = [path for path in self.folder.rglob("*") if path.is_file()]
        self.sound = {path: path.read_bytes() for path in sorted(paths)}

    def __call__(self, rng):
        from vbnmf.shards.folder import MANIFEST, ShardsError

        path = rng.choice(list(self.sound))
        manifest = self.folder / MANIFEST
        if path == manifest and rng.random() < 0.7:
            content = json.dumps(self._other(json.loads(self.sound[path]), rng)).encode()
        else:
            content = damaged(self.sound[path], rng)
        path.write_bytes(content)
        if path != manifest and rng.random() < 0.7:
            self._sign(manifest, path, content)
        try:
            self._used(deep=rng.randrange(DEEP) == 0)
        except ShardsError as error:
            return refused(error, "")
        finally:
            for changed in {path, manifest}:
                changed.write_bytes(self.sound[changed])
        return WORKS

    def _other(self, manifest, rng):
        from modelfuzz import changed, header_values, places, value_at

        at = rng.choice(list(places(manifest)))
        changed(manifest, at, rng.choice(header_values(value_at(manifest, at))))
        return manifest

    def _sign(self, manifest, path, content):
        from zlib import crc32

        told = json.loads(self.sound[manifest])
        for shard in told["shards"]:
            if shard["name"] == path.parent.name:
                shard["files"][path.stem] = [len(content), crc32(content)]
        manifest.write_text(json.dumps(told))

    def _used(self, *, deep):
        from vbnmf import SupervisedVBNMF
        from vbnmf.shards.folder import Shards

        shards = Shards(self.folder)
        for number in range(shards.n_shards):
            for X in (shards.rows(number), shards.by_term(number)):
                assert X.shape[1] == shards.shape[1]
                assert np.isfinite(X.data).all(), "values are not finite"
                assert (X.data >= 0).all(), "values are negative"
        if shards.labels is not None:
            assert shards.indicators().shape == (shards.shape[0], len(shards.labels))
        weight = shards.weights()
        assert weight is None or (weight >= 0).all(), "weights are negative"
        if deep and shards.labels:
            try:
                model = SupervisedVBNMF(2, max_iter=2, n_jobs=1, classifier="generative")
                bound = model.fit(shards).bound_
            except ValueError:  # such as a folder in which no document has a label
                return
            assert np.isfinite(bound), "the bound is not finite"


class Checkpoints:
    """Checkpoints: damaged ones are refused, and crafted ones with checksums do no harm."""

    def __init__(self, folder):
        from scipy import sparse

        rng = np.random.default_rng(0)
        y = np.arange(24) % 3
        self.X = sparse.csr_array(rng.poisson(0.3 + 3 * np.kron(np.eye(3), np.ones(3)))[y] * 1.0)
        self.labels = [None if n % 5 == 0 else f"label {code}" for n, code in enumerate(y)]
        self.kept = folder / "kept"

        def stop(progress):
            if progress.iteration == 3 and progress.stage == "fitting":
                raise InterruptedError

        with suppress(InterruptedError):
            self._model(self.kept, callback=stop).fit(self.X, self.labels)
        self.last = self.kept / "000003"
        self.sound = {path.name: path.read_bytes() for path in sorted(self.last.iterdir())}
        self._run = self._without_estimator()
        self.whole = self._run()

    def _without_estimator(self):
        """Return the part of the fit that uses checkpoints: it takes a fraction of the time."""
        from unittest import mock

        from vbnmf.estimators import base

        real = base.best_of_starts
        with mock.patch.object(base, "best_of_starts", side_effect=real) as called:
            self._model(self.kept).fit(self.X, self.labels)
        settings, corpus = called.call_args.args
        return lambda: real(settings, corpus, coefficients=True, hold=None)

    def _model(self, folder, **more):
        from vbnmf import Checkpoint, SupervisedVBNMF

        return SupervisedVBNMF(
            3, checkpoint=Checkpoint(folder, seconds=0), classifier="generative", max_iter=4,
            tol=0, random_state=0, n_jobs=1, bound_every=2, **more,
        )  # fmt: skip

    def __call__(self, rng):
        from shutil import rmtree

        rmtree(self.kept)
        self.last.mkdir(parents=True)
        for name, content in self.sound.items():
            (self.last / name).write_bytes(content)
        name = rng.choice([*self.sound, "state.vbnmf", "00000.local"])
        crafted = name != "checksums.json" and rng.random() < 0.7
        (self.last / name).write_bytes(self._other(name, rng, crafted))
        if crafted:
            self._sign()
        try:
            found = self._run()
        except ValueError as error:
            return refused(error, "is damaged", "too large or too small for floating-point numbers")
        if crafted:
            assert np.isfinite(found.shapes).all(), "components are not finite"
            assert np.isfinite(found.coefficients).all(), "coefficients are not finite"
            assert np.isfinite(found.fit.bound), "the bound is not finite"
        else:
            np.testing.assert_array_equal(found.shapes, self.whole.shapes)
            assert found.fit.bound == self.whole.fit.bound, "another bound"
        return WORKS

    def _other(self, name, rng, crafted):
        from modelfiles import ModelFile
        from modelfuzz import random_case

        if crafted and name == "state.vbnmf" and rng.random() < 0.8:
            return random_case(ModelFile(self.sound[name]), rng)[1]
        return damaged(self.sound[name], rng)

    def _sign(self):
        from zlib import crc32

        sums = {p.name: crc32(p.read_bytes()) for p in self.last.iterdir()}
        sums.pop("checksums.json")
        (self.last / "checksums.json").write_text(json.dumps(sums))


class Readers:
    """Files of documents in all formats, with all kinds of options."""

    def __init__(self, folder):
        import test_data_fuzz

        self.of, self.folder = test_data_fuzz, folder

    def __call__(self, rng):
        suffix = rng.choice(self.of.SUFFIXES)
        if rng.random() < 0.3:
            content = "".join(rng.choices(self.of.PIECES, k=rng.randint(0, 30))).encode()
        else:
            content = damaged(self.of.VALID[suffix], rng)
        options = {}
        if rng.random() < 0.5:
            options["label"] = rng.choice(["auto", "label", "2"])
        if rng.random() < 0.1:
            options["text"] = rng.choice(["text", "1"])
        if rng.random() < 0.2:
            options["encoding"] = rng.choice(["latin-1", "utf-16", "utf-7", "idna", "shift_jis"])
        if rng.random() < 0.3:
            options["bad_rows"] = "skip"
        found = self.of.read(self.folder / f"some{suffix}", content, **options)
        return REFUSED if found is None else WORKS


class Pages:
    """Hostile strings in the data of a page: none becomes a part of its HTML or script.

    Every 500th case also computes a page from a model of hostile labels, terms and documents.
    """

    def __init__(self, folder):
        import explorer_pages

        from vbnmf.report.explorer import bundle

        self.of, self.bundle = explorer_pages, bundle.bundle
        whole = explorer_pages.unpacked(explorer_pages.page("usual").html)
        # a part of the data, which is packed much faster
        self.payload = {"labels": whole["labels"][:2], "fit": whole["fit"]}
        self.skeleton = self._skeleton(self.bundle("", self.payload, "packed"))

    def _skeleton(self, html):
        """Return the HTML without its title and data, of which there are two of each."""
        import re

        html, titles = re.subn(r"<title>[^<>]*</title>", "<title/>", html)
        html, data = re.subn(r'(<script type="text/plain" id="\w+">)[A-Za-z0-9+/=]*<', r"\1<", html)
        assert (titles, data) == (1, 2), "other elements"
        return html

    def __call__(self, rng):
        import copy
        from html.parser import HTMLParser

        from modelfuzz import changed, places, value_at

        from vbnmf.report.explorer.packing import mended, pack

        if rng.randrange(500) == 0:
            return self._computed(rng)
        payload = copy.deepcopy(self.payload)
        for at in places(self.payload):
            if isinstance(value_at(payload, at), str) and rng.random() < 0.3:
                changed(payload, at, self._hostile(rng))
        payload["title"] = title = self._hostile(rng)
        payload["command"] = self._hostile(rng)
        packed = pack([self._hostile(rng)])
        html = self.bundle(title, payload, packed)
        assert self._skeleton(html) == self.skeleton, "the page has other HTML"
        found = self.of.unpacked(html)
        assert found == json.loads(mended(json.dumps(payload, ensure_ascii=False)))

        class Title(HTMLParser):
            text = ""

            def handle_data(self, data):
                self.text += data if self.lasttag == "title" else ""

        parser = Title()
        parser.feed(html[: html.index("</title>") + 8])
        assert parser.text == mended(title), "another title"
        return WORKS

    def _computed(self, rng):
        from vbnmf import DocumentModel, SupervisedVBNMF, explore

        names = list({self._hostile(rng) for _ in range(6)})
        texts = [f"{rng.choice(['tea', 'rye'])} {self._hostile(rng)} green" for _ in range(12)]
        labels = [rng.choice(names[:3]).rstrip("\0") for _ in texts]
        model = SupervisedVBNMF(2, max_iter=2, random_state=0, n_jobs=1)
        model = DocumentModel(model).fit(texts, labels)
        ids = [self._hostile(rng) for _ in texts]
        html = explore(model, texts, labels, ids=ids, title=names[0], command=names[-1]).html
        assert self._skeleton(html) == self.skeleton, "the page has other HTML"
        return WORKS

    def _hostile(self, rng):
        pieces = [*self.of.HOSTILE, "<", ">", "&", '"', "'", "\0", "\ud800", "\x7f", "]]>", "{{",
                  "</title>", "<script>", "{{payload}}", "{{script}}", "é", "\u2028"]  # fmt: skip
        return "".join(rng.choices(pieces, k=rng.randint(1, 4)))


TARGETS = {
    "model": Models,
    "shards": ShardFolders,
    "checkpoint": Checkpoints,
    "readers": Readers,
    "page": Pages,
}


def tried(target, kind, number):
    """Try a case; return "refused", "works" or what is wrong."""
    rng = random.Random(f"{kind} {number}")  # noqa: S311 - cases, not secrets
    try:
        with limited(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return target(rng)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"[:300]


def made(kind, folder):
    """Prepare what the cases of a kind damage."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TARGETS[kind](Path(folder))


def block(target, kind, numbers, memory):
    """Try cases in a child process; return counts, failures, and the case that crashed it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        counts, failed = Counter(), []
        for number in numbers:
            memory[:8] = struct.pack("<Q", number)
            result = tried(target, kind, number)
            counts[result if result in (REFUSED, WORKS) else "failed"] += 1
            if result not in (REFUSED, WORKS):
                failed.append((number, result))
        with open(write, "w", encoding="utf-8", errors="backslashreplace") as pipe:
            json.dump([counts, failed], pipe)
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        counts, failed = json.loads(answer)
        return Counter(counts), [tuple(one) for one in failed], None
    return Counter(), [], struct.unpack("<Q", memory[:8])[0]


def main(args=None):
    """Try cases, tell failures, and print the counts."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m tests.fuzz", description=__doc__, formatter_class=form
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--cases", type=int, default=2000, help="number of cases [default: 2000]")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    given = parser.parse_args(args)
    begin, counts, memory = time.monotonic(), Counter(), mmap.mmap(-1, 8)
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108 - files in memory
    with tempfile.TemporaryDirectory(prefix="vbnmf-fuzz-", dir=place) as folder:
        target = made(given.kind, folder)
        at, end = given.first, given.first + given.cases
        while at < end:
            upto = min(at + BLOCK, end)
            found, failed, crashed = block(target, given.kind, range(at, upto), memory)
            if crashed is not None:  # those before it are tried again, which gives their counts
                found, failed, _ = block(target, given.kind, range(at, crashed), memory)
                found["crashed"] += 1
                failed.append((crashed, "the process crashed"))
                upto = crashed + 1
            counts += found
            for number, what in failed:
                print(f"{given.kind} {number}: {what}", flush=True)  # noqa: T201
            at = upto
    counts = {name: counts[name] for name in (WORKS, REFUSED, "failed", "crashed")}
    told = {"kind": given.kind, "first": given.first, "cases": given.cases, **counts}
    told["seconds"] = round(time.monotonic() - begin)
    print(json.dumps(told), flush=True)  # noqa: T201
    return int(counts["failed"] + counts["crashed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
