"""Shows profiles as text and as JSON. docs/cost.md explains the numbers.

    sum({x * x : x in [0:9]})
                work     depth
      NESL        38         4
            elements  launches  bytes  host steps
      cpu          9         1      0           1
      elements/work 0.24  launches/depth 0.25
      seconds 0.000064: kernels 0.000021, host 0.000043

      kernel  launches  elements  bytes   seconds  at
      K1             1         9      0  0.000021  expression:1:1
"""
from __future__ import annotations

import json
from typing import Any

from nessie.base.source import NessieError
from nessie.measuring.kernels import KernelProfile
from nessie.measuring.table import columns, places_text
from nessie.session.profile import Profile, Profiler
from nessie.syntax import nodes as syntax

TITLE = 60                      # characters of a form in its profile's title


def title(form: syntax.TopLevel | NessieError) -> str:
    """The form's text on one line, cut if it is long."""
    if isinstance(form, NessieError) or form.span is None:
        return ""
    text = " ".join(form.span.source.text[form.span.start:form.span.end].split())
    return text if len(text) <= TITLE else text[:TITLE - 3] + "..."


def new_ones(session: Profiler, in_json: bool) -> list[str]:
    """The session's new profiles as text, or each as a line of JSON. They are new no more."""
    found, session.profiles = session.profiles, []
    return [json.dumps(as_json(profile)) + "\n" if in_json else as_text(profile) for profile in found]


def as_text(profile: Profile) -> str:
    spent = [profile.elements, profile.launches, profile.bytes, profile.steps]
    lines = [*columns([["", "work", "depth", "", ""], ["NESL", counted(profile.work), counted(profile.depth), "", ""],
                     ["", "elements", "launches", "bytes", "host steps"],
                     [profile.target, *map(counted, spent)]]), *ratios(profile), *times(profile)]
    lines += [f"{choice} took {version} {count:,} {'time' if count == 1 else 'times'}"
              for choice, version, count in profile.versions]
    if profile.kernels:
        rows = [["kernel", "launches", "elements", "bytes", "seconds"], *map(kernel_row, profile.kernels)]
        places = ["at", *(places_text(kernel.places) for kernel in profile.kernels)]
        lines += ["", *(f"{line}  {at}" for line, at in zip(columns(rows), places, strict=True))]
    return "\n".join([profile.title, *(f"  {line}".rstrip() for line in lines)]) + "\n\n"


def ratios(profile: Profile) -> list[str]:
    if profile.work is None or profile.depth is None:
        return [f"work and depth are not known: {profile.uncounted}"]
    return [f"elements/work {profile.elements / max(1, profile.work):.2f}  "
            f"launches/depth {profile.launches / max(1, profile.depth):.2f}"]


def times(profile: Profile) -> list[str]:
    if profile.wall is None:
        return []
    if profile.host is None or profile.seconds is None:
        return [f"seconds {profile.wall:.6f}"]
    return [f"seconds {profile.wall:.6f}: kernels {profile.seconds:.6f}, host {profile.host:.6f}"]


def kernel_row(kernel: KernelProfile) -> list[str]:
    seconds = "-" if kernel.seconds is None else f"{kernel.seconds:.6f}"
    return [kernel.name, counted(kernel.launches), counted(kernel.elements), counted(kernel.bytes), seconds]


def counted(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def as_json(profile: Profile) -> dict[str, Any]:
    return {"title": profile.title, "target": profile.target, "work": profile.work, "depth": profile.depth,
            **({"uncounted": profile.uncounted} if profile.uncounted else {}),
            "elements": profile.elements, "launches": profile.launches, "bytes": profile.bytes,
            "host_steps": profile.steps, "seconds": profile.seconds,
            "host_seconds": profile.host, "wall_seconds": profile.wall,
            **({"versions": [dict(zip(("choice", "version", "times"), taken, strict=True))
                             for taken in profile.versions]} if profile.versions else {}),
            "kernels": [kernel_json(kernel) for kernel in profile.kernels]}


def kernel_json(kernel: KernelProfile) -> dict[str, Any]:
    places = [{"source": span.source.name, "line": span.line, "column": span.column} for span in kernel.places]
    return {"name": kernel.name, "places": places, "launches": kernel.launches, "elements": kernel.elements,
            "bytes": kernel.bytes, "seconds": kernel.seconds}
