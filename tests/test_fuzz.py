"""A few cases of each kind of ``python -m tests.fuzz``; docs/trust.md has the long runs."""

import fuzz
import pytest


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_damage_is_refused_or_harmless(kind, tmp_path):
    target = fuzz.made(kind, tmp_path)
    found = [fuzz.tried(target, kind, number) for number in range(120)]
    assert set(found) <= {fuzz.REFUSED, fuzz.WORKS}
    assert fuzz.WORKS in found
    assert kind == "page" or found.count(fuzz.REFUSED) > 60


def test_a_crash_and_an_error_are_told(monkeypatch, capsys):
    """The command would notice: a case that kills its process, and one that raises."""

    first = {fuzz.random.Random(f"model {number}").random(): number for number in range(10)}

    def case(rng):
        number = first[rng.random()]
        if number == 3:
            fuzz.os._exit(9)
        return 1 / (number - 5) and fuzz.WORKS

    monkeypatch.setitem(fuzz.TARGETS, "model", lambda folder: case)
    assert fuzz.main(["model", "--cases", "10"]) == 1
    said = capsys.readouterr().out
    assert "model 3: the process crashed" in said
    assert "model 5: ZeroDivisionError" in said
    assert '"works": 8, "refused": 0, "failed": 1, "crashed": 1' in said
