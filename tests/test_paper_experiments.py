"""Running cells: into one table that survives stops, kills, failures and other data."""

import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from paper_rows import PAPER, drawn, paper, tiny_cells, tiny_source

from vbnmf.paper.experiments import Tally, make_maps, run
from vbnmf.paper.folds import write_matrices
from vbnmf.paper.results import COLUMNS, METRICS, read_results, where, write_results
from vbnmf.paper.specification import Cell

CELLS = tiny_cells()
ONE = Cell("unsupervised", "test", 4, 0.5, 1.0, 15, 5, "drawn", 0)
BAD = replace(ONE, term_shape=-1.0)
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@pytest.fixture(autouse=True)
def _ctrl_c():
    """Ctrl-C works for the other tests, whatever a run does to it."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def source(tmp_path):
    return tiny_source(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of a run that nothing happened to, two cells at a time."""
    folder = tmp_path_factory.mktemp("whole")
    rows = run(CELLS, tiny_source(folder), folder / "results.csv", jobs=2)
    assert same(read_results(folder / "results.csv"), rows)
    return rows


def timeless(rows):
    """Rows without what differs from run to run."""
    return [
        {name: value for name, value in row.items() if not name.startswith("seconds")}
        for row in rows
    ]


def same(rows, others):
    return timeless(rows) == timeless(others)


def counted(*args, **kwargs):
    """Rows of a run, and what it reported."""
    reported = []
    return run(*args, **kwargs, progress=reported.append), reported


# --- rows


def test_rows_are_in_order_and_complete(whole):
    assert [Cell(**{name: row[name] for name in ONE.as_row()}) for row in whole] == CELLS
    for row in whole:
        assert set(row) == set(COLUMNS)
        assert (row["status"], row["reason"]) == ("done", "")
        assert row["source"] == "counts"
        assert row["vbnmf"]
        assert row["kernel"]
        assert row["seconds"] > 0


def test_each_method_has_its_metrics(whole):
    times = {"seconds", "seconds_fit"}
    knn = {"micro", "macro", "micro_projected", "macro_projected"}
    heads = {"micro_logistic", "macro_logistic", "micro_svm", "macro_svm"}
    fitted = {"sparsity", "inter_label_sparsity", "learned_term_shape", "n_iter", "bound"}
    for row in whole:
        known = {name for name in METRICS if row[name] is not None}
        if row["method"] == "svm":
            assert known == {"micro_svm", "macro_svm", "seconds"}
        else:
            expected = times | knn | (heads if row["heads"] else set())
            assert known == expected | (set() if row["method"] == "pca" else fitted)
    for row in where(whole, method="pca"):  # training documents are always projected
        assert row["micro_projected"] == row["micro"]
    for row in where(whole, method=("unsupervised", "supervised")):
        assert row["n_iter"] == row["iterations"]
        if row["term_shape"] != "free":
            assert row["learned_term_shape"] == row["term_shape"]
        assert 0 <= row["inter_label_sparsity"] <= 1


def test_the_numbers_mean_something(whole):
    """Labels have words of their own: everything is far above the one third of guessing."""
    for name in ("micro", "micro_projected", "micro_logistic", "micro_svm"):
        assert min(row[name] for row in whole if row[name] is not None) > 0.5
    seeds = where(whole, method="supervised", fold="test", parameter=1.0)
    assert seeds[0]["bound"] != seeds[1]["bound"]


def test_the_number_of_jobs_does_not_matter(whole, source, tmp_path):
    assert same(run(CELLS, source, tmp_path / "results.csv", jobs=1), whole)


# --- again


def test_what_is_done_is_not_done_again(whole, source, tmp_path):
    table = tmp_path / "results.csv"
    write_results(whole, table)
    before = table.read_bytes()
    rows, reported = counted(CELLS, source, table, jobs=1)
    assert reported == []
    assert rows == whole
    assert table.read_bytes() == before


def test_missing_rows_are_filled_in(whole, source, tmp_path):
    table = tmp_path / "results.csv"
    write_results([row for i, row in enumerate(whole) if i not in (0, 4, 7, 12)], table)
    rows, reported = counted(CELLS, source, table, jobs=1)
    assert [tally.done for tally in reported] == [1, 2, 3, 4]
    assert same(rows, whole)
    assert same(read_results(table), whole)


def test_rows_of_other_cells_are_kept(whole, source, tmp_path):
    table = tmp_path / "results.csv"
    write_results(whole, table)
    fewer, reported = counted([CELLS[3], BAD], source, table, jobs=1)
    assert len(reported) == 1
    assert [row["status"] for row in fewer] == ["done", "failed"]
    assert len(read_results(table)) == len(whole) + 1
    assert same(where(read_results(table)), [whole[3], *whole[:3], *whole[4:]])


def test_progress_adds_up(source, tmp_path):
    cells = [ONE, BAD, Cell("svm", "test", 0)]
    _, reported = counted(cells, source, tmp_path / "results.csv", jobs=1)
    assert [(tally.done, tally.total) for tally in reported] == [(1, 3), (2, 3), (3, 3)]
    assert reported[-1].failed == 1
    assert reported[-1].cost_done == reported[-1].cost_total == sum(cell.cost for cell in cells)
    assert reported[-1].seconds_left == 0
    assert reported[0].seconds_left > 0
    assert Tally(1, 3, 10.0, 40.0, 0, 5.0).seconds_left == 15.0
    assert Tally(0, 3, 0.0, 40.0, 0, 0.0).seconds_left == float("inf")


# --- what goes wrong


def test_a_failed_cell_says_why_and_is_tried_again(source, tmp_path):
    table = tmp_path / "results.csv"
    for open_ in (2, 1):
        rows, reported = counted([BAD, ONE], source, table, jobs=1)
        assert [row["status"] for row in rows] == ["failed", "done"]
        assert "ValueError" in rows[0]["reason"]
        assert "-1.0" in rows[0]["reason"]
        assert [rows[0][name] for name in METRICS] == [None] * len(METRICS)
        assert reported[0].failed == 1
        assert same(read_results(table), rows)
        assert [tally.total for tally in reported] == [open_] * open_


def test_a_classifier_that_does_not_converge_is_in_the_table(source, tmp_path, monkeypatch):
    cell = Cell("pca", "test", 5, heads=True)
    monkeypatch.setattr("vbnmf.paper.measure.MOST_ITERATIONS", 1)
    (row,), _ = counted([cell], source, tmp_path / "results.csv", jobs=1)
    assert row["status"] == "done"
    assert "failed to converge" in row["reason"]
    assert "\n" not in row["reason"]
    assert row["micro_logistic"] is not None


def test_other_warnings_of_a_cell_are_shown(source, tmp_path, monkeypatch):
    def measured(cell, matrices, threads):
        warnings.warn("something else", UserWarning, stacklevel=1)
        return {}

    monkeypatch.setattr("vbnmf.paper.experiments.measure", measured)
    with pytest.warns(UserWarning, match="something else"):
        (row,), _ = counted([ONE], source, tmp_path / "results.csv", jobs=1)
    assert (row["status"], row["reason"]) == ("done", "")


def test_an_impossible_cell_says_why_and_is_left(source, tmp_path):
    table = tmp_path / "results.csv"
    cells = [Cell("pca", "test", 50), Cell("pca", "test", 36)]  # 40 documents, 36 terms
    rows, reported = counted(cells, source, table, jobs=1)
    assert [row["status"] for row in rows] == ["impossible", "impossible"]
    assert "50 principal components of 40 documents" in rows[0]["reason"]
    assert "36 terms" in rows[1]["reason"]
    assert reported[-1].failed == 0
    again, reported = counted(cells, source, table, jobs=1)
    assert (reported, again) == ([], rows)


@pytest.mark.parametrize("fold", ["test", "validation"])
def test_other_matrices_are_other_rows(source, tmp_path, fold):
    table = tmp_path / "results.csv"
    cells = [replace(ONE, fold=fold), Cell("pca", fold, 5)]
    old = run(cells, source, table, jobs=1)
    write_matrices(drawn(seed=7), source.files[fold])
    new, reported = counted(cells, source, table, jobs=1)
    assert len(reported) == 2
    assert {row["data"] for row in new}.isdisjoint(row["data"] for row in old)
    assert new[0]["bound"] != old[0]["bound"]
    assert same(read_results(table), [*new, *old])


def test_the_same_matrices_in_another_file_are_the_same(whole, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    write_results(whole, folder / "results.csv")
    _, reported = counted(CELLS, tiny_source(folder), folder / "results.csv", jobs=1)
    assert reported == []


def test_a_damaged_table_is_refused_and_left(source, tmp_path):
    table = tmp_path / "results.csv"
    run([ONE], source, table, jobs=1)
    damaged = table.read_text(encoding="utf-8").replace(
        "unsupervised,test,4", "unsupervised,test,x"
    )
    table.write_text(damaged, encoding="utf-8")
    with pytest.raises(ValueError, match=r"results\.csv is damaged or not a table.*Move it away"):
        run([ONE], source, table, jobs=1)
    assert table.read_text(encoding="utf-8") == damaged


# --- stops


STOPPED = """
import signal, sys, time
from dataclasses import replace
from pathlib import Path
import vbnmf.paper.experiments as experiments
from vbnmf.paper.specification import Cell
from paper_rows import tiny_cells, tiny_source

signal.signal(signal.SIGINT, signal.default_int_handler)
experiments._SECONDS_BETWEEN_WRITES = 0
folder, jobs, how = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
cells = tiny_cells()
if how == "long":  # what is left when the signal comes is still being computed
    one = Cell("supervised", "test", 4, 10.0, 0.5, 10**7, 5, "drawn")
    cells[5:] = [replace(one, seed=seed) for seed in range(5)]

def progress(tally):
    print(tally.done, flush=True)
    while how == "hang" and tally.done == 5:
        time.sleep(0.1)

experiments.run(cells, tiny_source(folder), folder / "results.csv", jobs=jobs, progress=progress)
"""


def started(folder, jobs, how):
    """A process that has done five cells, with the table written, and is in the middle."""
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", STOPPED, str(folder), str(jobs), how],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in child.stdout:
        if line == "5\n":
            return child
    raise AssertionError(child.communicate()[1])


def end(child):
    """Whatever is left of a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def group(leader):
    """Living processes of a group; the dead that nobody has asked after do not count."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # gone meanwhile
            continue
        if int(number) == leader and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_is_completed_to_the_same_table(whole, tmp_path, jobs):
    child = started(tmp_path, jobs, "hang")
    end(child)
    table = tmp_path / "results.csv"
    assert len(read_results(table)) == 5
    rows, reported = counted(CELLS, tiny_source(tmp_path), table, jobs=1)
    assert len(reported) == len(CELLS) - 5
    assert same(rows, whole)
    assert same(read_results(table), whole)


@LINUX
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_leaves_the_table_and_nothing_else(tmp_path, jobs):
    child = started(tmp_path, jobs, "long")
    try:
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of them
        _, errors = child.communicate(timeout=20)  # else it hangs
        assert child.returncode != 0
        assert "KeyboardInterrupt" in errors
        for _ in range(100):
            if not group(child.pid):
                break
            time.sleep(0.1)  # those that are ending
        assert group(child.pid) == []
    finally:
        end(child)
    rows = read_results(tmp_path / "results.csv")
    assert [row["status"] for row in rows] == ["done"] * 5
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.csv",
        "test.npz",
        "validation.npz",
    }


def test_a_run_leaves_ctrl_c_as_it_was(source, tmp_path):
    def handler(number, frame):
        raise AssertionError("nobody pressed it")

    signal.signal(signal.SIGINT, handler)
    run([ONE], source, tmp_path / "results.csv")
    assert signal.getsignal(signal.SIGINT) is handler


# --- label maps


def test_maps_are_fitted_once(whole, source, tmp_path):
    chosen, path = paper(map_dimension=4), tmp_path / "maps.json"
    reported = []
    maps = make_maps(whole, chosen, source, path, threads=1, report=reported.append)
    assert len(reported) == 2
    assert (maps["fig4"].method, maps["fig5"].method) == ("unsupervised", "supervised")
    for made in maps.values():
        (row,) = where(
            whole, method=made.method, fold="test", parameter=made.parameter, seed=made.seed
        )
        # run again from its seed, it is the same decomposition
        assert made.map.sparsity == row["sparsity"]
        assert made.map.inter_label_sparsity == row["inter_label_sparsity"]
        assert made.map.micro == row["micro"]
        assert made.map.labels == ["bike", "coffee", "tea"]
        assert [len(words.split()) for words in made.map.components] == [5] * 4
        assert made.reported_sparsity == PAPER.reported[made.method]["sparsity"]
    assert make_maps(whole, chosen, source, path, threads=1, report=reported.append) == maps
    assert len(reported) == 2
    path.write_text("{", encoding="utf-8")
    assert make_maps(whole, chosen, source, path, threads=1) == maps


def test_maps_of_other_runs_are_fitted_again(whole, source, tmp_path):
    """As when a full run follows a quick one: the same parameters, but more iterations."""
    chosen, path = paper(map_dimension=4), tmp_path / "maps.json"
    make_maps(whole, chosen, source, path, threads=1)
    longer = [row | {"iterations": 20} if row["iterations"] else row for row in whole]
    reported = []
    make_maps(longer, chosen, source, path, threads=1, report=reported.append)
    assert len(reported) == 2
