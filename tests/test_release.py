"""The release command: a dry run changes nothing, a real one commits and tags."""

import importlib.util
import shutil
from pathlib import Path

import pytest

import vbnmf

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)


@pytest.fixture
def clone(tmp_path):
    for name in release.PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    release.git(tmp_path, "init", "--quiet")
    release.git(tmp_path, "config", "user.name", "someone")
    release.git(tmp_path, "config", "user.email", "someone@example.org")
    release.git(tmp_path, "add", "--all")
    release.git(tmp_path, "commit", "--quiet", "--message", "all")
    return tmp_path


def test_a_dry_run_shows_every_place_and_changes_nothing(clone, capsys):
    release.release(clone, "9.8.7", "2030-01-02", dry_run=True)
    shown = capsys.readouterr().out
    assert '+__version__ = "9.8.7"' in shown
    assert f'-__version__ = "{vbnmf.__version__}"' in shown
    assert "+## 9.8.7 (2030-01-02)" in shown
    assert "+version: 9.8.7" in shown
    assert release.git(clone, "status", "--porcelain") == ""
    assert release.git(clone, "tag", "--list") == ""


def test_a_release_is_a_commit_and_a_tag(clone):
    release.release(clone, "9.8.7", "2030-01-02", dry_run=False)
    assert release.git(clone, "tag", "--list") == "v9.8.7\n"
    assert release.git(clone, "log", "-1", "--format=%s", "v9.8.7") == "MNT Version 9.8.7\n"
    assert '__version__ = "9.8.7"' in (clone / "src/vbnmf/__init__.py").read_text(encoding="utf-8")
    assert "(unreleased)" not in (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"v9\.8\.7 is tagged already"):
        release.release(clone, "9.8.7", "2030-01-02", dry_run=True)


@pytest.mark.parametrize("version", ["1", "1.2", "v1.2.3", "1.2.3;", "1.2.3 "])
def test_a_version_has_three_numbers(clone, version):
    with pytest.raises(ValueError, match="is not a version"):
        release.release(clone, version, "2030-01-02", dry_run=True)


def test_other_changes_are_not_released(clone):
    (clone / "other").write_text("new", encoding="utf-8")
    with pytest.raises(ValueError, match="not committed"):
        release.release(clone, "9.8.7", "2030-01-02", dry_run=False)


def test_a_place_that_is_missing_is_named(clone):
    (clone / "CHANGELOG.md").write_text("# Changelog\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"CHANGELOG\.md must have one line"):
        release.release(clone, "9.8.7", "2030-01-02", dry_run=True)
