"""``python -m ltocompat``."""

from ltocompat.cli import main

main()
