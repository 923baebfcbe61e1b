"""Time the vectorizer and a plain ``CountVectorizer`` on the raw posts of 20 Newsgroups.

Compare only ratios from the same run. Times are CPU times, because all calls run on one core.
``weighting`` compares the weightings.
"""

import argparse
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import snowballstemmer
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf.text import DocumentVectorizer


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table of times and ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks text", description=__doc__)
    parser.add_argument("archive", type=Path, help="20news-bydate.tar.gz, one file a post, latin-1")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    texts = read_posts(options.archive)
    kind = type(snowballstemmer.stemmer("english"))
    print(
        f"{len(texts)} posts, {sum(map(len, texts)) / 1e6:.1f} million characters, "
        f"stemmer {kind.__module__}.{kind.__name__}, best of {options.repeats}\n"
    )
    rivals: dict[str, Callable[[], object]] = {
        "CountVectorizer()": CountVectorizer,
        "DocumentVectorizer()": DocumentVectorizer,
        "... max_terms=10000": lambda: DocumentVectorizer(max_terms=10000),
        "... stem='english'": lambda: DocumentVectorizer(stem="english"),
        "... stem='porter'": lambda: DocumentVectorizer(stem="porter"),
        "... stem='english', stop_words='english', min_df=2, max_terms=10000": lambda: (
            DocumentVectorizer(stem="english", stop_words="english", min_df=2, max_terms=10000)
        ),
    }
    # Round by round, so that a slow moment of the machine falls on all of them alike.
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(options.repeats):
        for name, make in rivals.items():
            start = time.process_time()
            make().fit_transform(texts)  # type: ignore[attr-defined]
            seconds[name].append(time.process_time() - start)
    best = {name: min(times) for name, times in seconds.items()}
    print("| call of fit_transform | seconds | ratio |\n|---|---|---|")
    for name, time_taken in best.items():
        print(f"| `{name}` | {time_taken:.2f} | {time_taken / best['CountVectorizer()']:.2f} |")


def read_posts(archive: Path) -> list[str]:
    """Return the posts of a tar archive as text."""
    with tarfile.open(archive) as tar:
        members = (tar.extractfile(member) for member in tar if member.isfile())
        return [member.read().decode("latin-1") for member in members if member is not None]


if __name__ == "__main__":
    main()
