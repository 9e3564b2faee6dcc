"""python -m nessie, and the command `nessie`."""
from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line. A Ctrl-C while modules are loaded ends it as one later does."""
    try:
        from nessie.cli import main as run
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        exec("")            # see nessie.cli.main
        return 1
    return run()


if __name__ == "__main__":
    sys.exit(main())
