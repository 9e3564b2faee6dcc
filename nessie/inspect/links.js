// The links between the stages. Pure functions of the data: they touch no document.
//
// A focus is { spans, nodes, near }: expressions of the source and nodes of the graphs, by number. `near`: no node is
// made of these expressions alone, and the nodes are those of the smallest part of the source around them. A focus
// without nodes means that nothing of the entry is made of the expressions.

/** A mark as an object, from the array that nessie.inspect.collect writes. */
function readMark([start, end, spans, calls, nodes, label]) {
  return { start, end, spans, calls, nodes, label };
}

/** Gives each mark `parent`, the index of the mark around it, or -1. Outer marks come before inner ones. */
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

/** The things whose expressions are the smallest part of the source around one of the wanted expressions. */
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

/** Whether the thing is made of the wanted expressions, or by calls in them. */
function madeOf(data, thing, wanted) {
  return [...thing.spans, ...thing.calls].some((number) =>
    wanted.some((other) => within(data.spans[number], data.spans[other])));
}

function focusOnSpans(data, spans) {
  const made = data.nodes.flatMap((node, number) => (madeOf(data, node, spans) ? [number] : []));
  const nodes = made.length ? made : smallestAround(data, data.nodes, spans);
  return { spans, nodes, near: !made.length && nodes.length > 0 };
}

/** The numbers of the nodes whose name, operation or binding holds the text, whatever its capitals; of none the expressions
 *  that hold it. */
function search(data, slice, text) {
  const wanted = text.trim().toLowerCase();
  const holds = (words) => words.toLowerCase().includes(wanted);
  if (!wanted) return null;
  const nodes = data.nodes.flatMap((node, number) =>
    ([node.name, node.op, node.binding].some(holds) ? [number] : []));
  if (nodes.length) return focusOnNodes(data, nodes);
  const spans = data.spans.flatMap(([start, end], number) => (holds(slice(start, end)) ? [number] : []));
  return spans.length ? focusOnSpans(data, spans) : { spans: [], nodes: [], near: false };
}

/** The operations in the schedule's graphs, with what they do, as far as that is said. */
function operationsOf(schedule, said) {
  const there = union([schedule.regions.flatMap((region) => region.nodes.map((node) => node.op))]);
  return there.sort().filter((name) => name in said).map((name) => [name, said[name]]);
}

function focusOnNodes(data, nodes) {
  return { spans: union(nodes.map((number) => data.nodes[number].spans)), nodes, near: false };
}

/** The focus on what a mark shows, or null if it shows nothing. */
function focusOn(data, mark) {
  if (mark.nodes.length) return focusOnNodes(data, mark.nodes);
  return mark.spans.length ? focusOnSpans(data, mark.spans) : null;
}

/** The marks of a stage that are "hit", "near" or "around" (a hit is inside them), as [place, what] pairs. */
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

/** The place of the next mark in a direction from the mark `from` (-1: from none). */
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

/** The place of the nearest of the boxes { x, y, width, height } in a direction from the box `from`. */
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

/** A number of bytes or nanoseconds with a fitting unit, for people. */
function amount(count, units) {
  const [scale, unit] = units.find(([least]) => count >= least) ?? units.at(-1);
  return `${Number((count / scale).toPrecision(3))} ${unit}`;
}
const bytesText = (count) => amount(count, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
const timeText = (count) => amount(count, [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]]);
const countText = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** The state of the page in its address: "#panes=source,graph&schedule=greedy&node=3". */
function readState(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}
function writeState(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(kept).toString().replaceAll("%2C", ",")}`;
}
