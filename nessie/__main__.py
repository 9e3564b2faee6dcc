"""python -m nessie, and the command `nessie`."""
from __future__ import annotations

import gc
import sys

# The garbage collector's thresholds. Cycles are few and small, and searching all objects of a long program for them
# would take as long as compiling it; while modules are imported, there are none.
RARELY = (500_000, 20, 50)


def main() -> int:
    """Runs the command line. What Ctrl-C does by default it does until there is work in hand (nessie.tool.signals):
    Python would tell where in its modules that was."""
    try:
        import signal
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        import os
        os._exit(130)
    gc.set_threshold(*RARELY)
    from nessie.base.system.deep import left_working
    from nessie.tool.cli import main as run
    from nessie.tool.signals import leave
    return leave(run(), left_working())


if __name__ == "__main__":
    sys.exit(main())
