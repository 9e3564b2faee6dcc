"""The command `nessie serve`: a live page on this computer, until Ctrl-C."""
from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace

from nessie.base.source import NessieError
from nessie.serve.workers import Limits
from nessie.session.streams import say
from nessie.syntax.parse import read_source
from nessie.tool.options import widths_of


def serve(options: argparse.Namespace) -> int:
    """Serve the page, with the program of FILE if there is one. Its address is told when it can be opened."""
    from nessie.serve.server import Site, serving
    start = read_source(options.operand) if options.operand else None
    asked = {"seconds": options.time_limit, "memory": options.memory, "threads": options.threads}
    limits = replace(Limits(widths=widths_of(options)),
                     **{name: value for name, value in asked.items() if value is not None})

    def ready(site: Site) -> None:
        say(f"{site.address}\n")
        if options.open:
            import webbrowser
            webbrowser.open(site.address)

    try:
        asyncio.run(serving(start, options.port or 0, limits, ready, asyncio.Event().wait))
    except KeyboardInterrupt:
        say("\n")
    except OSError as error:
        raise NessieError(f"cannot serve at port {options.port}: {error.strerror}") from None
    return 0
