"""python -m nessie"""
from __future__ import annotations

import sys

from nessie.cli import main

sys.exit(main())
