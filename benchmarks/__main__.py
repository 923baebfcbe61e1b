"""Run one benchmark: ``python -m benchmarks NAME [options]``.

Every module of this package with a function ``main(argv)`` is a benchmark.
"""

import ast
import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks


def main(argv: list[str]) -> None:
    """Run the named benchmark with its options, or list all names."""
    known = _benchmarks()
    if argv and argv[0] in known:
        importlib.import_module(f"benchmarks.{argv[0]}").main(argv[1:])
        return
    print("usage: python -m benchmarks NAME [options]    (NAME --help lists the options)\n")
    for name, summary in known.items():
        print(f"  {name:<12} {summary}")
    if argv and argv[0] not in ("-h", "--help"):
        sys.exit(f"\nThere is no benchmark {argv[0]!r}. Use one of: {', '.join(known)}.")


def _benchmarks() -> dict[str, str]:
    """Return names and first docstring lines, without importing any benchmark."""
    found = {}
    for path in map(Path, benchmarks.__path__):
        for module in pkgutil.iter_modules([str(path)]):
            tree = ast.parse((path / f"{module.name}.py").read_text(encoding="utf-8"))
            if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
                found[module.name] = (ast.get_docstring(tree) or "").partition("\n")[0]
    found.pop("__main__", None)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
