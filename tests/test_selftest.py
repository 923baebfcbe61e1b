"""The checks of an installation: right here, and wrong where something is wrong."""

import json

import numpy as np
import oracle
import pytest
from click.testing import CliRunner

from vbnmf import selftest
from vbnmf.cli import cli

pytestmark = pytest.mark.kernel


def test_the_known_bound_is_that_of_the_oracle():
    X, _ = selftest.drawn_documents()
    prior = {"a_t": 0.5, "b_t": 1.0, "a_v": 0.5, "b_v": 1.0}
    model = oracle.random_start(X, None, 1, 0, **prior)
    for _ in range(200):
        model = oracle.iterate(model)
    assert oracle.bound(model) == pytest.approx(selftest.KNOWN_BOUND, rel=1e-11)


def test_all_checks_pass_here():
    checks = list(selftest.check_installation())
    assert [check for check in checks if not check.passed] == []
    assert len({check.name for check in checks}) == 7


def broken(monkeypatch, name, value):
    monkeypatch.setattr(selftest, name, value)
    return [check for check in selftest.check_installation() if not check.passed]


def test_another_bound_is_noticed(monkeypatch):
    [check] = broken(monkeypatch, "KNOWN_BOUND", selftest.KNOWN_BOUND * (1 + 1e-6))
    assert check.name == "the bound is the known one"
    assert "expected -2097.1020" in check.found


def test_another_term_is_noticed(monkeypatch):
    [check] = broken(monkeypatch, "TEXT", selftest.TEXT + " more")
    assert check.name == "texts have the known terms"


def test_a_file_that_changes_bits_is_noticed(monkeypatch):
    def other(path):
        model = load(path)
        model.predict_proba = lambda texts: np.full((len(texts), 2), 0.5)
        return model

    load = selftest.load
    [check] = broken(monkeypatch, "load", other)
    assert check.name == "a saved model predicts the same bits"


def test_a_check_that_raises_has_failed_and_others_run(monkeypatch):
    def refuse(path):
        raise OSError("no space left")

    [check] = broken(monkeypatch, "load", refuse)
    assert check.found == "OSError: no space left"


def test_doctor_prints_versions_and_checks():
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 0
    assert "\nkernel " in result.output
    assert result.output.count("\nok ") == 7
    printed = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)
    assert len(printed["checks"]) == 7
    assert printed["versions"]["vbnmf"]


def test_doctor_ends_with_1_if_a_check_fails(monkeypatch):
    monkeypatch.setattr(selftest, "KNOWN_TERMS", "other")
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "FAIL  texts have the known terms" in result.output
    assert "Error: 1 of 7 checks failed." in result.output
