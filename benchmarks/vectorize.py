"""Time `vbnmf vectorize` by its number of processes against scikit-learn's ``CountVectorizer``.

``CountVectorizer().fit_transform`` gets the texts as a list in memory and counts them.
``vectorize_to_shards`` reads the same texts from a file of JSON lines, starts its processes, counts
and weights the terms, and writes a shard folder. All are run in turn, several times, and the best
time of each counts, because other work on the machine only makes a run slower. CPU time is that of
the main process, without its workers. It depends less on other work.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from sklearn.feature_extraction.text import CountVectorizer

from benchmarks import measure
from benchmarks.scale import draw
from benchmarks.text import read_posts
from vbnmf import vectorize_to_shards


def main(argv: list[str]) -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(prog="benchmarks vectorize", description=__doc__)
    measure.add_output_options(parser)
    parser.add_argument("--archive", type=Path, help="20news-bydate.tar.gz (default: drawn words)")
    parser.add_argument("--copies", type=int, default=1, help="of the archive (default 1)")
    parser.add_argument("--documents", type=int, help="number of drawn documents (100000)")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2], help="(default 1 2)")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    if options.archive is not None:
        texts, kind = read_posts(options.archive) * options.copies, "posts of 20 Newsgroups"
    else:
        n_docs = options.documents or (1000 if options.quick else 100_000)
        texts, kind = list(islice(drawn_texts(n_docs), n_docs)), "drawn documents"
    machine = measure.machine(max(options.jobs)).replace("threads", "processes")
    with tempfile.TemporaryDirectory() as temporary:
        seconds, same = _timed(texts, Path(temporary), options.jobs, options.repeats)
    first = seconds["CountVectorizer()"][0]
    rows = [
        {
            "": name,
            "s": best,
            "documents a second": len(texts) / best,
            "times CountVectorizer": first / best,
            "CPU s of the main process": cpu,
        }
        for name, (best, cpu) in seconds.items()
    ]
    size = sum(map(len, texts)) / 1e6
    text = (
        f"{len(texts):,} {kind}, {size:.1f} million characters, best of {options.repeats}; "
        f"{machine}\n\n{measure.markdown(rows)}\n\n"
        f"Bytes of the shard folder: {'the same' if same else 'different'} for any number of jobs."
    )
    measure.report(options, text, {"machine": machine, "rows": rows, "same": same})


def drawn_texts(n_docs: int) -> Iterator[str]:
    """Yield the documents of the benchmark `scale` as texts of made-up words."""
    for X, _ in draw(n_docs):
        for row in range(X.shape[0]):
            of = slice(X.indptr[row], X.indptr[row + 1])
            words = zip(X.indices[of].tolist(), X.data[of].tolist(), strict=True)
            yield " ".join(f"{_word(term)} " * int(count) for term, count in words)


def _word(number: int) -> str:
    """Return a word of small letters."""
    letters = "ab"
    while number:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return letters


def _timed(
    texts: list[str], folder: Path, jobs: list[int], repeats: int
) -> tuple[dict[str, tuple[float, float]], bool]:
    """Return the best times of each, and whether all shard folders have the same bytes."""
    source = folder / "texts.jsonl"
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)

    def write(n_jobs: int) -> Callable[[], object]:
        out = folder / str(n_jobs)
        return lambda: vectorize_to_shards(source, out, text="text", bad_rows="skip", n_jobs=n_jobs)

    rivals: dict[str, Callable[[], object]] = {
        "CountVectorizer()": lambda: CountVectorizer().fit_transform(texts)
    }
    rivals |= {f"vectorize --n-jobs {n}": write(n) for n in jobs}
    best = dict.fromkeys(rivals, (float("inf"), float("inf")))
    for _ in range(repeats):
        for name, run in rivals.items():
            begin = time.perf_counter(), time.process_time()
            run()
            spent = time.perf_counter() - begin[0], time.process_time() - begin[1]
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    found = [_contents(folder / str(n)) for n in jobs]
    return best, all(each == found[0] for each in found)


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
