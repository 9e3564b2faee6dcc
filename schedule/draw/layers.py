"""Computes layered drawings: the places of boxes, and the paths of lines between them.

  in    boxes, each with its size and its layer; nets, each from one box to boxes of later layers
  out   a place for each box, and for each end of a net a path. No two boxes overlap, no path crosses a box
  how   A net has a point of its own in every layer that it passes, shared by its ends. In each layer boxes and points
        stand side by side. Turns downwards and upwards order them by the places of their neighbours, and the turn with
        the fewest crossings is kept; then they move as near to their neighbours as the order allows (after Sugiyama
        et al.)
"""
from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import field

from nessie.base.records import dataclass

ORDERINGS, PATIENCE, ALIGNMENTS = 16, 4, 16             # turns; PATIENCE: turns without improvement
BETWEEN, BESIDE_LINE = 22.0, 9.0        # gaps: between boxes; between a line and its neighbour
FAN = 9.0                               # the gap between lines that end at one place
STRAIGHT, HELD = 8.0, 1e-3              # weights: of a straight line; of a box without lines in its place

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """`first`: the box stands before all others of its layer. A box without a width is treated as the end of lines."""
    width: float
    height: float
    layer: int
    first: bool = False


@dataclass(frozen=True)
class Port:
    """The place where a line meets a box, so far from its left side: at the bottom it begins, at the top it ends."""
    box: int
    offset: float


@dataclass(frozen=True)
class Net:
    source: Port
    targets: tuple[Port, ...]


@dataclass(frozen=True)
class Layered:
    """`places`: each box's left top corner; `paths`: for each net, a path to each of its targets. Paths run straight
    down beside boxes, and bend only between layers."""
    places: tuple[Point, ...]
    paths: tuple[tuple[tuple[Point, ...], ...], ...]
    width: float
    height: float


@dataclass
class Item:
    """A box, or a point that a net passes. `up`, `down`: its lines to the layers above and below."""
    width: float
    first: bool = False
    line: bool = False
    x: float = 0.0
    leaves: list[float] = field(default_factory=list)       # the offsets at which the lines in `down` begin
    up: list[Tie] = field(default_factory=list)
    down: list[Tie] = field(default_factory=list)


Tie = tuple[float, Item, float]         # a line is straight if its other item is so far to the right; its weight


def layered(boxes: Sequence[Box], nets: Sequence[Net], gap: float) -> Layered:
    """Compute the drawing. `gap`: the least height between two layers."""
    count = 1 + max((box.layer for box in boxes), default=-1)
    items = [Item(box.width, box.first, not box.width) for box in boxes]
    layers: list[list[Item]] = [[] for _ in range(count)]
    for box, item in zip(boxes, items, strict=True):
        layers[box.layer].append(item)
    points = [passed(net, boxes, items, layers) for net in nets]
    arrange(layers)
    left = min((item.x for layer in layers for item in layer), default=0.0)
    for layer in layers:
        for item in layer:
            item.x -= left
    bands = heights(boxes, layers, gap)
    places = tuple((item.x, bands[box.layer][0]) for box, item in zip(boxes, items, strict=True))
    enters = spread(nets, points, boxes, places)
    paths = tuple(tuple(path(net.source, target, through, boxes, places, bands, enters[n, k])
                        for k, target in enumerate(net.targets))
                  for n, (net, through) in enumerate(zip(nets, points, strict=True)))
    return Layered(places, paths, max((item.x + item.width for layer in layers for item in layer),
                                                    default=0.0), bands[-1][1] if bands else 0.0)


def passed(net: Net, boxes: Sequence[Box], items: Sequence[Item], layers: Sequence[list[Item]]) -> list[Item]:
    """Make the net's points in the layers between its ends, and join them to each other and to the ends."""
    first = boxes[net.source.box].layer
    last = max((boxes[target.box].layer for target in net.targets), default=first)
    points: list[Item] = []
    above, offset = items[net.source.box], net.source.offset
    for layer in range(first + 1, last + 1):
        for target in net.targets:
            if boxes[target.box].layer == layer:
                join(above, offset, items[target.box], target.offset)
        if layer < last:
            point = Item(0.0, line=True)
            layers[layer].append(point)
            join(above, offset, point, 0.0)
            points.append(point)
            above, offset = point, 0.0
    return points


def join(above: Item, offset: float, below: Item, into: float) -> None:
    strength = STRAIGHT if above.line and below.line else 1.0
    above.down.append((offset - into, below, strength))
    below.up.append((into - offset, above, strength))
    above.leaves.append(offset)


# Where things stand side by side --------------------------------------------------------------------


def arrange(layers: Sequence[list[Item]]) -> None:
    """Order each layer and place its items."""
    for layer in layers:
        layer.sort(key=lambda item: not item.first)
        place_items(layer, [0.0] * len(layer), [1.0] * len(layer))
    best, order, found_at = crossings(layers), [list(layer) for layer in layers], 0
    for turn in range(ORDERINGS):
        if best == 0 or turn > found_at + PATIENCE:
            break
        downwards = turn % 2 == 0
        for layer in layers if downwards else reversed(layers):
            wanted = {id(item): middle(item.up if downwards else item.down, item) for item in layer}
            layer.sort(key=lambda item: (not item.first, wanted[id(item)] + item.width / 2))
            place_items(layer, [wanted[id(item)] for item in layer], [1.0] * len(layer))
        if (found := crossings(layers)) < best:
            best, order, found_at = found, [list(layer) for layer in layers], turn
    for layer, items in zip(layers, order, strict=True):
        layer[:] = items
        place_items(layer, [item.x for item in layer], [1.0] * len(layer))
    align(layers)


def align(layers: Sequence[list[Item]]) -> None:
    """Move items towards their neighbours, in turns downwards and upwards, and in the last turns towards both at once.
    Items with `first` go to the left side of all."""
    for turn in range(ALIGNMENTS):
        left = min((item.x for layer in layers for item in layer if not item.first), default=0.0)
        for layer in layers if turn % 2 == 0 else reversed(layers):
            near = [item.up + item.down if turn > ALIGNMENTS // 2 else (item.up, item.down)[turn % 2] or item.up
                    + item.down for item in layer]
            place_items(layer, [left if item.first else middle(lines, item) for lines, item in zip(near, layer)],
                   [weight(item) for item in layer])


def weight(item: Item) -> float:
    return STRAIGHT if item.line else len(item.up) + len(item.down) or HELD


def middle(ties: Sequence[Tie], item: Item) -> float:
    """The x at which the item's lines are straight, on weighted average; its own x if it has no lines."""
    total = weights = 0.0
    for distance, other, strength in ties:
        total += strength * (other.x - distance)
        weights += strength
    return total / weights if ties else item.x


def place_items(layer: Sequence[Item], wanted: Sequence[float], weights: Sequence[float]) -> None:
    """Place the items in their order, without overlap, at the least weighted sum of squared distances from the wanted
    places. With the widths taken off this is isotonic regression: neighbours that would overlap become a group that
    moves as one."""
    starts = [0.0]
    for one, other in zip(layer, layer[1:]):
        starts.append(starts[-1] + one.width + (BESIDE_LINE if one.line or other.line else BETWEEN))
    groups: list[tuple[float, float, int]] = []             # its place, its weight, the number of its members
    for start, at, heavy in zip(starts, wanted, weights):
        group = at - start, heavy, 1
        while groups and groups[-1][0] > group[0]:
            x, w, members = groups.pop()
            group = (x * w + group[0] * group[1]) / (w + group[1]), w + group[1], members + group[2]
        groups.append(group)
    shifts = [x for x, _, members in groups for _ in range(members)]
    for item, start, shift in zip(layer, starts, shifts):
        item.x = start + shift


def crossings(layers: Iterable[Sequence[Item]]) -> int:
    """The number of pairs of lines that cross."""
    count = 0
    for layer in layers:
        ends: list[float] = []
        lines = [(item.x + leaves, other.x + leaves - distance) for item in layer
                 for leaves, (distance, other, _) in zip(item.leaves, item.down, strict=True)]
        for _, end in sorted(lines):
            count += len(ends) - bisect_right(ends, end)
            insort(ends, end)
    return count


# How they stand below each other --------------------------------------------------------------------


def heights(boxes: Sequence[Box], layers: Sequence[Sequence[Item]], gap: float) -> list[tuple[float, float]]:
    """The top and the bottom of each layer; layers between which long lines bend are further apart."""
    bands: list[tuple[float, float]] = []
    top = 0.0
    tallest = [0.0] * len(layers)
    for box in boxes:
        tallest[box.layer] = max(tallest[box.layer], box.height)
    for layer, height in zip(layers, tallest, strict=True):
        bands.append((top, top + height))
        bends = [abs(item.x + distance - other.x) for item in layer for distance, other, _ in item.down]
        top += height + max([gap, *(min(4 * gap, bend / 6) for bend in bends)])
    return bands


def spread(nets: Sequence[Net], points: Sequence[Sequence[Item]], boxes: Sequence[Box],
           places: Sequence[Point]) -> dict[tuple[int, int], float]:
    """The x at which each net's line to each target ends; lines that share an end at a box are spread side by side."""
    groups: dict[Port, list[tuple[float, tuple[int, int]]]] = {}
    for n, (net, through) in enumerate(zip(nets, points, strict=True)):
        for k, target in enumerate(net.targets):
            layers = boxes[target.box].layer - boxes[net.source.box].layer
            x = through[layers - 2].x if layers > 1 else places[net.source.box][0] + net.source.offset
            groups.setdefault(target, []).append((x, (n, k)))
    found = {}
    for target, ends in groups.items():
        step = min(FAN, 0.8 * boxes[target.box].width / len(ends))
        middle = places[target.box][0] + target.offset
        for number, (_, end) in enumerate(sorted(ends)):
            found[end] = middle + step * (number - (len(ends) - 1) / 2)
    return found


def path(source: Port, target: Port, points: Sequence[Item], boxes: Sequence[Box], places: Sequence[Point],
         bands: Sequence[tuple[float, float]], end: float) -> tuple[Point, ...]:
    """The path from the source's bottom to the target's top, at x = `end`, with at most two points in each layer, one
    below the other."""
    (x, y), box = places[source.box], boxes[source.box]
    found = [(x + source.offset, y + box.height), (x + source.offset, bands[box.layer][1])]
    for layer in range(box.layer + 1, boxes[target.box].layer):
        point = points[layer - box.layer - 1]
        found += [(point.x, side) for side in bands[layer]]
    return tuple(dict.fromkeys([*found, (end, places[target.box][1])]))
