// What is linked with what. Pure functions of the data: no document here.
//
// A focus is { spans, nodes, near }: expressions of the source and nodes of the graphs, by number. `near`: no node is
// made of these expressions alone, the nodes are those that have the smallest part of the source around them. Without
// any nodes, nothing of the entry is made of them.

/** A mark as nessie.inspect.collect writes it, by its parts. */
function readMark([start, end, spans, calls, nodes, label]) {
  return { start, end, spans, calls, nodes, label };
}

/** Gives each mark the place of the one around it, `parent`; -1 for none. Outer ones stand before inner ones. */
function nest(marks) {
  const around = [];
  marks.forEach((mark, place) => {
    while (around.length && marks[around.at(-1)].end <= mark.start) around.pop();
    mark.parent = around.length ? around.at(-1) : -1;
    around.push(place);
  });
  return marks;
}

function within(inner, outer) {
  return outer[0] <= inner[0] && inner[1] <= outer[1];
}

function union(lists) {
  return [...new Set(lists.flat())];
}

/** Of things with expressions, those around one of the wanted, by the smallest part of the source. */
function smallestAround(data, things, wanted) {
  let best = Infinity;
  let found = [];
  things.forEach((thing, place) => {
    for (const number of thing.spans) {
      const [start, end] = data.spans[number];
      if (end - start > best || !wanted.some((other) => within(data.spans[other], [start, end]))) continue;
      if (end - start < best) found = [];
      best = end - start;
      found.push(place);
    }
  });
  return union([found]);
}

/** Is this made of the wanted expressions, or by calls in them? */
function madeOf(data, thing, wanted) {
  return [...thing.spans, ...thing.calls].some((number) =>
    wanted.some((other) => within(data.spans[number], data.spans[other])));
}

function focusOnSpans(data, spans) {
  const made = data.nodes.flatMap((node, number) => (madeOf(data, node, spans) ? [number] : []));
  const nodes = made.length ? made : smallestAround(data, data.nodes, spans);
  return { spans, nodes, near: !made.length && nodes.length > 0 };
}

function focusOnNodes(data, nodes) {
  return { spans: union(nodes.map((number) => data.nodes[number].spans)), nodes, near: false };
}

/** The focus on what a mark shows; null if that is nothing. */
function focusOn(data, mark) {
  if (mark.nodes.length) return focusOnNodes(data, mark.nodes);
  return mark.spans.length ? focusOnSpans(data, mark.spans) : null;
}

/** For each of a stage's marks "hit", "near", "around" (a hit is inside it) or nothing, as [place, what] pairs. */
function hits(data, marks, focus) {
  const found = new Map();
  const nodes = new Set(focus.nodes);
  marks.forEach((mark, place) => {
    if (mark.nodes.length) {
      if (mark.nodes.some((number) => nodes.has(number))) found.set(place, focus.near ? "near" : "hit");
    } else if (mark.spans.length && madeOf(data, mark, focus.spans)) {
      found.set(place, "hit");
    }
  });
  if (!found.size) {
    const others = marks.map((mark) => (mark.nodes.length ? { spans: [] } : mark));
    for (const place of smallestAround(data, others, focus.spans)) found.set(place, "near");
  }
  for (const place of [...found.keys()].reverse()) {
    const { nodes: own, parent } = marks[place];
    if (own.length && parent >= 0 && found.has(parent)) found.set(parent, "around");
  }
  return [...found];
}

/** The place of the next mark when the reader goes in a direction from one (-1: from none). */
function step(marks, from, direction, lineOf) {
  const linked = marks.flatMap((mark, place) => (mark.nodes.length || mark.spans.length ? [place] : []));
  if (!linked.length) return -1;
  if (from < 0) return linked[0];
  const line = lineOf(marks[from].start);
  const choices = {
    right: () => linked.find((place) => place > from),
    left: () => linked.findLast((place) => place < from),
    down: () => linked.find((place) => place > from && lineOf(marks[place].start) > line),
    up: () => {
      const last = linked.findLast((place) => lineOf(marks[place].start) < line);
      return last && linked.find((place) => lineOf(marks[place].start) === lineOf(marks[last].start));
    },
    out: () => linked.findLast((place) => place === marks[from].parent),
    in: () => linked.find((place) => marks[place].parent === from),
  };
  return choices[direction]() ?? from;
}

/** Of boxes { x, y, width, height }, the place of the nearest one that lies in a direction from one. */
function nearest(boxes, from, direction) {
  const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  const [x, y] = middle(boxes[from]);
  let best = Infinity;
  let found = from;
  boxes.forEach((box, place) => {
    const [u, v] = middle(box);
    const [along, aside] = { right: [u - x, v - y], left: [x - u, v - y], down: [v - y, u - x], up: [y - v, u - x] }[direction];
    const distance = along + 2 * Math.abs(aside);
    if (along > 1 && distance < best) [best, found] = [distance, place];
  });
  return found;
}

/** So many bytes, or nanoseconds, for people. */
function amount(count, units) {
  const [scale, unit] = units.find(([least]) => count >= least) ?? units.at(-1);
  return `${Number((count / scale).toPrecision(3))} ${unit}`;
}
const bytesText = (count) => amount(count, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
const timeText = (count) => amount(count, [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]]);
const countText = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** The state that an address remembers: "#panes=source,graph&schedule=greedy&node=3". */
function readState(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}
function writeState(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(kept).toString().replaceAll("%2C", ",")}`;
}
