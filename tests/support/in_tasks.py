"""The tool, whose target cpu does every launch as a cluster does: in tasks of chunks of eight items, three at a time,
in this process, and what moves goes by levels. `.ci/run` has it answer what CMU NESL has answered.

    python tests/support/in_tasks.py eval --jsonl < cases.jsonl
"""
from __future__ import annotations

import sys
from typing import Any

from nessie.__main__ import main
from nessie.cudagen.cluster.device import Cluster
from nessie.cudagen.cluster.engine import InProcess
from nessie.cudagen.cluster.moving import exchange
from nessie.running.targets import Target

if __name__ == "__main__":
    def device(target: Target, built: Any) -> Cluster:
        return Cluster(built, InProcess(3), here=0, few=0, width=8, quick=True)

    exchange.DIRECT = 2
    Target.device = device  # type: ignore[method-assign, assignment]
    sys.exit(main())
