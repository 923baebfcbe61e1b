"""Release a version: set its number and date everywhere, commit and tag.

    python .ci/release.py 0.2.0 --dry-run    # print what would change
    python .ci/release.py 0.2.0              # change, commit and tag

The tag starts `.github/workflows/release.yml`, which builds, tests and publishes all wheels.
"""

import argparse
import difflib
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

PLACES = {
    "src/vbnmf/__init__.py": [(r'^__version__ = ".*"$', '__version__ = "{version}"')],
    "CHANGELOG.md": [(r"^## \S+ \(unreleased\)$", "## {version} ({today})")],
    "CITATION.cff": [(r"^version: .*$", "version: {version}")],
}
"""Files that name the version: the line to find, and what replaces it."""


def main() -> None:
    """Read the arguments, and release."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", help="number of the new version, such as 0.2.0")
    parser.add_argument("--dry-run", action="store_true", help="print what would change")
    asked = parser.parse_args()
    try:
        release(Path.cwd(), asked.version, date.today().isoformat(), asked.dry_run)
    except ValueError as error:
        sys.exit(f"Error: {error}")


def release(root: Path, version: str, today: str, dry_run: bool) -> None:
    """Change all places, commit and tag; or print the changes."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", version):
        raise ValueError(f"{version!r} is not a version. Use three numbers, such as 0.2.0.")
    if git(root, "status", "--porcelain") and not dry_run:
        raise ValueError("there are changes that are not committed. Commit or stash them first.")
    if git(root, "tag", "--list", f"v{version}"):
        raise ValueError(f"v{version} is tagged already. Choose the next number.")
    changes = {name: changed(root, name, version, today) for name in PLACES}
    if dry_run:
        for name, text in changes.items():
            before = (root / name).read_text(encoding="utf-8").splitlines(keepends=True)
            sys.stdout.writelines(
                difflib.unified_diff(before, text.splitlines(keepends=True), name, name, n=0)
            )
        return
    for name, text in changes.items():
        (root / name).write_text(text, encoding="utf-8")
    git(root, "commit", "--all", "--quiet", "--message", f"MNT Version {version}")
    git(root, "tag", "--annotate", f"v{version}", "--message", f"Version {version}")
    sys.stdout.write(f"Tagged v{version}. To publish it: git push origin main v{version}\n")


def changed(root: Path, name: str, version: str, today: str) -> str:
    """Return the text of a file with the new version."""
    text = (root / name).read_text(encoding="utf-8")
    for pattern, line in PLACES[name]:
        new = line.format(version=version, today=today)
        text, found = re.subn(pattern, new, text, flags=re.MULTILINE)
        if found != 1:
            raise ValueError(f"{name} must have one line like {pattern!r}; found {found}.")
    return text


def git(root: Path, *words: str) -> str:
    """Run git in a folder, and return what it prints."""
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    main()
