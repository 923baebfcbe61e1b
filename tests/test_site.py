"""The built site: links resolve, questions of new users are answered, public names have examples.

Build it first: python -m sphinx -W docs docs/_build/html
"""

import doctest
import importlib
import inspect
import json
import pkgutil
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docruns import FLAGS, blocks_of
from safetensors import safe_open

import vbnmf

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = DOCS / "_build" / "html"
SOURCES = [ROOT / "README.md", *(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]


class Page(HTMLParser):
    """Links, anchors and text of a page; `main` has the links of its article alone."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.text, self.main = [], {""}, [], []
        self.in_main = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        self.in_main += tag == "article"
        for key in ("href", "src"):
            if found.get(key):
                self.links.append(found[key])
                if self.in_main:
                    self.main.append(found[key])

    def handle_endtag(self, tag):
        self.in_main -= tag == "article"

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def pages():
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: python -m sphinx -W docs docs/_build/html")
    found = [path for path in SITE.rglob("*.html") if not _is_of_theme(path)]
    return {path: Page(path) for path in found}


def _is_of_theme(path):
    return path.relative_to(SITE).parts[0] in ("_static", "_modules")


def target(path, link):
    """The file and the anchor that a link leads to, or None if it leaves the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link.startswith("data:"):
        return None
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return file, unquote(parts.fragment)


def test_links_inside_the_site_resolve(pages):
    missing = []
    for path, page in pages.items():
        for link in page.links:
            found = target(path, link)
            if found is None:
                continue
            file, anchor = found
            if not file.exists():
                missing.append(f"{path.relative_to(SITE)}: {link}")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                missing.append(f"{path.relative_to(SITE)}: {link} (no such place)")
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert missing == []


# question: the page that answers it, words of the answer, what is typed into the search box
QUESTIONS = {
    "how to choose n_components": ("guide/components", "n_components", "choose n_components"),
    "label_shape": ("guide/components", "label_shape", "label_shape"),
    "what a scope is": ("guide/scopes", "shared", "scope"),
    "bigrams": ("guide/text", "--ngram-range", "bigrams"),
    "my own tokenizer": ("guide/text", "analyzer=jieba.lcut", "tokenizer"),
    "a REST service": ("tutorials/production", "FastAPI", "REST service"),
    "sentences in context": ("start/page", "every occurrence in its sentence", "sentence context"),
    "a GPU": ("questions", "GPU", "GPU"),
    "citation": ("questions", "CITATION.cff", "cite"),
    "the API of DocumentModel": (
        "reference/generated/vbnmf.DocumentModel",
        "vectorizer",
        "DocumentModel",
    ),
    "the model file": ("reference/modelfile", "component_shapes", "model file"),
    "German stop words": ("questions", "german", "German stop words"),
    "mislabelled documents": ("tutorials/mislabelled", "vbnmf review", "mislabelled"),
    "two months": ("tutorials/months", "vbnmf compare", "month changed"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_of_new_users_are_answered_in_two_clicks(pages, question):
    name, words, _ = QUESTIONS[question]
    answer = SITE / f"{name}.html"
    first = {SITE / "index.html"}
    for _ in range(2):
        links = [target(path, link) for path in first for link in pages[path].links]
        first |= {found[0] for found in links if found and found[0] in pages}
    assert answer in first
    assert words in re.sub(r"\s+", " ", "".join(pages[answer].text))


@pytest.fixture(scope="module")
def index():
    raw = (SITE / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(raw[raw.index("{") : raw.rindex("}") + 1])


def found_by_search(index, typed):
    """Pages that have all words, as the script of the search box finds them."""
    search = pytest.importorskip("sphinx.search.en").SearchEnglish({})
    results = []
    for word in typed.lower().split():
        hits = [index[part].get(search.stem(word), []) for part in ("terms", "titleterms")]
        numbers = [n for hit in hits for n in (hit if isinstance(hit, list) else [hit])]
        results.append({index["docnames"][n] for n in numbers})
    return set.intersection(*results)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_of_new_users_are_found_by_the_search(pages, index, question):
    """The answer is among the results, or is linked in the text of the page of questions."""
    name, _, typed = QUESTIONS[question]
    found = found_by_search(index, typed)
    if name not in found:
        assert "questions" in found
        page = SITE / "questions.html"
        answers = [target(page, link) for link in pages[page].main]
        assert SITE / f"{name}.html" in {answer[0] for answer in answers if answer}


def test_each_page_has_a_twin_and_is_listed_for_programs(pages):
    listed = (SITE / "llms.txt").read_text(encoding="utf-8")
    for path in pages:
        name = path.relative_to(SITE).with_suffix(".md").as_posix()
        if name not in ("genindex.md", "search.md", "py-modindex.md"):
            assert (SITE / name).exists(), f"{name}: python -m sphinx -b markdown docs {SITE}"
            assert f"({name})" in listed or name == "index.md"


def test_code_that_is_not_run_says_why():
    for page in SOURCES:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            said = block.file or block.skipped or block.language != "bash"
            assert said, f"{page}: use console, which is run, or say why not:\n{block.body}"


def test_model_files_hold_what_the_page_of_the_format_lists(tmp_path):
    texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "coffee"] * 15
    labels = ["tea", "tea", "coffee", "coffee"] * 15
    vbnmf.DocumentModel().fit(texts, labels).save(tmp_path / "tea.vbnmf")
    page = (DOCS / "reference" / "modelfile.md").read_text(encoding="utf-8")
    with safe_open(tmp_path / "tea.vbnmf", "numpy") as file:
        header, names = json.loads(file.metadata()["vbnmf"]), list(file.keys())
    entries = {*header, *header["estimator"]}
    assert {name for name in entries if f"`{name}`" not in page} == set()
    entries = {name.removesuffix(".fill") for name in names if name.endswith(".fill")}
    stems = entries | {name for name in names if name.rpartition(".")[0] not in entries}
    own = {stem.removeprefix("estimator.").split(".")[-1] for stem in stems}
    assert len(own) > 20
    assert {name for name in own if not re.search(rf"`[\w.]*\b{name}`", page)} == set()


def listed_names():
    """Names on the page of the API."""
    found, module = [], None
    for line in (DOCS / "reference" / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_]+", line):
            found.append(f"{module}.{line.strip()}")
    return found


def public_names():
    rooms = ["vbnmf", "vbnmf.text", "vbnmf.data", "vbnmf.metrics", "vbnmf.shards"]
    for room in rooms:
        module = importlib.import_module(room)
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield f"{room}.{name}", found


def test_every_public_name_is_in_the_reference():
    homes = {id(found): name for name, found in public_names()}
    listed = {
        id(getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]))
        for name in listed_names()
    }
    assert [name for key, name in homes.items() if key not in listed] == []


@pytest.mark.parametrize("name", listed_names())
def test_every_public_name_has_an_example(name):
    room, _, last = name.rpartition(".")
    assert ">>>" in inspect.getdoc(getattr(importlib.import_module(room), last))


RESULTS = [  # of public functions and methods
    "vbnmf.description.explanations.Explanations",
    "vbnmf.pipeline.predicting.DocumentPredictor",
    "vbnmf.report.explorer.Report",
]


def public_methods():
    """Methods that are defined here, of public classes and of what public functions return."""
    for name in [*listed_names(), *RESULTS]:
        room, _, last = name.rpartition(".")
        found = getattr(importlib.import_module(room), last)
        for key, member in inspect.getmembers_static(found) if inspect.isclass(found) else []:
            member = getattr(member, "fn", getattr(member, "__func__", member))
            if key.startswith("_") or not inspect.isfunction(member):
                continue
            if inspect.unwrap(member).__module__.startswith("vbnmf"):
                yield f"{name}.{key}", member


def test_every_public_method_has_an_example():
    found = dict(public_methods())
    assert len(found) > 90
    assert [name for name, member in found.items() if ">>>" not in (member.__doc__ or "")] == []


MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(vbnmf.__path__, "vbnmf.")
    if not module.name.endswith("__main__") and "_native" not in module.name
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    module = importlib.import_module(name)
    assert "doctest: +SKIP" not in inspect.getsource(module)
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
