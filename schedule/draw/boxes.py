"""Layered drawings whose boxes and lines are named by keys (schedule.draw.layers knows numbers alone)."""
from __future__ import annotations

from collections.abc import Hashable

from nessie.base.records import dataclass
from nessie.schedule.draw.layers import Box, Net, Point, Port, layered

Points = tuple[Point, ...]


@dataclass(frozen=True)
class Area:
    x: float
    y: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def moved(self, x: float, y: float) -> Area:
        return Area(self.x + x, self.y + y, self.width, self.height)


def moved(points: Points, x: float, y: float) -> Points:
    return tuple((u + x, v + y) for u, v in points)


class BoxDrawing:
    """Boxes and lines, each under a key; lines that leave a box at one place are one net. After `draw`, `areas` has
    the place of each box, and `paths` each line's path."""

    def __init__(self) -> None:
        self.boxes: dict[Hashable, Box] = {}
        self.numbers: dict[Hashable, int] = {}
        self.ends: dict[Port, dict[Hashable, Port]] = {}
        self.areas: dict[Hashable, Area] = {}
        self.paths: dict[Hashable, Points] = {}
        self.width = self.height = 0.0

    def box(self, key: Hashable, width: float, height: float, layer: int, first: bool = False) -> None:
        self.numbers[key] = len(self.boxes)
        self.boxes[key] = Box(width, height, layer, first)

    def line(self, key: Hashable, source: Hashable, target: Hashable, leaves: float | None = None,
             enters: float | None = None) -> None:
        """`leaves`, `enters`: distances from the boxes' left sides; the middle by default."""
        self.ends.setdefault(self.port(source, leaves), {})[key] = self.port(target, enters)

    def port(self, key: Hashable, offset: float | None) -> Port:
        return Port(self.numbers[key], self.boxes[key].width / 2 if offset is None else offset)

    def draw(self, gap: float) -> None:
        nets = [Net(source, tuple(found.values())) for source, found in self.ends.items()]
        drawn = layered(list(self.boxes.values()), nets, gap)
        self.width, self.height = drawn.width, drawn.height
        self.areas = {key: Area(*place, box.width, box.height)
                      for (key, box), place in zip(self.boxes.items(), drawn.places, strict=True)}
        self.paths = {key: path for found, paths in zip(self.ends.values(), drawn.paths, strict=True)
                      for key, path in zip(found, paths, strict=True)}
