"""Run the command line by ``python -m vbnmf``."""

from vbnmf.cli import main

main()
