"""``python -m unfooled``."""

from unfooled.cli import main

main()
