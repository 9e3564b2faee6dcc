// Draws the graphs with a schedule. The positions have been computed (schedule.draw.layout).

const SVG = "http://www.w3.org/2000/svg";
const GAP = 50;                         // between regions
const [READABLE, LARGEST, CLEAREST] = [0.65, 1.2, 2.5];         // scales: least readable, largest at first, largest
const PULLED = 24;                      // how far a line is pulled that is pulled aside
const COLOURS = 8;                      // colours of kernels: classes c0 to c7
const SOON = 60;                        // ms until what is not in view is drawn

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The path through the points: straight down, or bent where the next point is to the side. */
function curve(points) {
  let [x, y] = points[0];
  const parts = [`M${x},${y}`];
  for (const [u, v] of points.slice(1)) {
    const middle = (y + v) / 2;
    parts.push(Math.abs(u - x) < 0.5 ? `L${u},${v}` : `C${x},${middle} ${u},${middle} ${u},${v}`);
    [x, y] = [u, v];
  }
  return parts.join(" ");
}

/** What is drawn of a region, as a text. */
function keyOf({ pairs, cost, bytes, status, ...drawn }) {
  return JSON.stringify(drawn);
}

class GraphStage {
  /** `choose()` is called when another schedule is drawn, `wish(kind, pair)` when the reader wants two nodes to be cut
   *  apart or fused, where that can be wished. */
  constructor(data, stage, tell, choose, wish = null) {
    Object.assign(this, { data, stage, tell, choose, wish });
    this.view = { x: 0, y: 0, scale: 1 };
    this.least = 1;
    this.region = "";
    this.svg = shape("svg", { class: "drawing", role: "group", "aria-label":
      "The dependence graph. Arrow keys go from node to node, plus and minus zoom, 0 shows all." });
    this.table = element("table", { className: "schedules" });
    this.details = element("div", { className: "details", tabIndex: 0 });
    this.details.setAttribute("role", "region");
    this.details.setAttribute("aria-label", "Details");
    const buttons = element("div", { className: "zoom" },
      this.button("+", "Zoom in", () => this.zoom(1.25)), this.button("\u2212", "Zoom out", () => this.zoom(0.8)),
      this.button("fit", "Show all", () => this.fit()));
    this.body = element("div", { className: "graph" }, element("div", { className: "scroll" }, this.table), element("div", { className: "canvas" }, this.svg, buttons),
      this.details);
    this.mode = data.mode;
    this.drawn = new Map();             // the drawings of regions, by what is drawn
    this.room = { width: 0, height: 0 };
    this.fillTable();
    this.listen();
  }

  /** Show the same of other data: schedule, region and place. Regions that look as before stay as they are. */
  renew(data, stage) {
    Object.assign(this, { data, stage, focus: null });
    this.mode = data.schedules.some((schedule) => schedule.mode === this.mode) ? this.mode : data.mode;
    if (!this.regions().length) this.region = "";
    this.fillTable();
    this.draw(this.inView());
    this.place();
  }

  /** Where the drawing is in view: from which height to which. */
  inView() {
    const { y, scale } = this.view;
    return [-y / scale, (this.room.height - y) / scale];
  }

  button(text, title, act) {
    const made = element("button", { type: "button", title, onclick: act }, text);
    made.setAttribute("aria-label", title);
    return made;
  }

  schedule() {
    return this.data.schedules.find((schedule) => schedule.mode === this.mode);
  }

  fillTable() {
    const cells = (name, values) => values.map((value) => element(name, {}, value));
    const head = element("tr", {}, ...cells("th", ["fused", "kernels", "memory traffic", "estimated time", "which is"]));
    head.querySelectorAll("th").forEach((cell) => { cell.scope = "col"; });
    const rows = this.data.schedules.map((schedule) => {
      const radio = element("input", { type: "radio", name: "schedule", value: schedule.mode,
        checked: schedule.mode === this.mode, onchange: () => this.setMode(schedule.mode) });
      const label = element("label", {}, radio, ` ${schedule.mode}`);
      return element("tr", {}, element("th", { scope: "row" }, label),
        ...cells("td", [String(schedule.kernels), bytesText(schedule.bytes), timeText(schedule.cost), schedule.status]));
    });
    this.table.replaceChildren(element("caption", {}, "Schedules"), element("thead", {}, head), element("tbody", {}, ...rows));
  }

  setMode(mode) {
    this.mode = this.data.schedules.some((schedule) => schedule.mode === mode) ? mode : this.data.mode;
    for (const radio of this.table.querySelectorAll("input")) radio.checked = radio.value === this.mode;
    this.draw();
    this.start();
    this.choose();
  }

  regions() {
    return this.schedule().regions.filter((region) => !this.region || this.regionName(region) === this.region);
  }

  regionName(region) {
    return `${region.function}, region ${region.region}`;
  }

  parts() {
    return this.schedule().regions.length > 1 ? this.schedule().regions.map((region) => this.regionName(region)) : [];
  }

  only(label) {
    if (this.partChoice) this.partChoice.value = label;
    this.region = label;
    this.draw();
    this.start();
  }

  // Drawing ---------------------------------------------------------------------------------------

  /** Draw the regions; those outside of what is in view, if that is given, a moment later. */
  draw(view = [-Infinity, Infinity]) {
    clearTimeout(this.later);
    this.later = null;
    this.world ??= this.canvas();
    const before = this.drawn;
    this.drawn = new Map();
    this.size = { width: 1, height: 1 };
    let top = 0;
    let waits = false;
    for (const region of this.regions()) {
      const key = keyOf(region);
      const there = before.get(key);
      const seen = top <= view[1] && top + region.height + GAP >= view[0];
      if (there || seen) this.drawn.set(key, this.at(there ?? this.drawRegion(region), top + 26));
      else waits = true;
      this.size.width = Math.max(this.size.width, region.width, 7 * region.title.length);
      top += region.height + GAP;
    }
    this.size.height = Math.max(1, top - GAP + 26);
    const all = [...this.drawn.values()];
    this.hold(all.map((one) => one.group));
    this.boxes = all.flatMap((one) => one.boxes);               // the nodes' shapes, numbers and positions
    this.kernels = all.flatMap((one) => one.kernels);
    this.edges = all.flatMap((one) => one.edges);
    const first = this.boxes.find((item) => item.shape === document.activeElement) ?? this.boxes[0];
    if (first) this.rove(first);
    this.light(this.focus);
    if (waits) this.later = setTimeout(() => this.draw(), SOON);
  }

  /** Put these into the drawing and nothing else; what is in its place is not touched, which would draw it anew. */
  hold(groups) {
    const wanted = new Set(groups);
    for (const other of [...this.world.children]) if (!wanted.has(other)) other.remove();
    groups.forEach((group, place) => {
      const there = this.world.children[place];
      if (there !== group) this.world.insertBefore(group, there ?? null);
    });
  }

  /** The drawing, without anything in it. */
  canvas() {
    const world = shape("g", {});
    const tip = (id, kind) => shape("marker", { id, markerWidth: 9, markerHeight: 8, refX: 8, refY: 4, orient: "auto",
      markerUnits: "userSpaceOnUse" }, shape("path", { d: "M0,0 L9,4 L0,8 z", class: kind }));
    this.svg.replaceChildren(shape("defs", {}, tip("tip", "tip"), tip("memory-tip", "tip memory")), world);
    return world;
  }

  /** The drawing of a region at this height. */
  at(drawn, top) {
    if (drawn.top === top) return drawn;
    drawn.top = top;
    drawn.group.setAttribute("transform", `translate(0,${top})`);
    for (const box of drawn.boxes) box.y = box.node.y + top;
    return drawn;
  }

  drawRegion(region) {
    const group = shape("g", {}, shape("text", { class: "heading", y: -10 }, region.title));
    const [boxes, kernels, edges] = [[], [], []];
    const box = ({ x, y, width, height }, rx) => shape("rect", { x, y, width, height, rx });
    const text = (words, { x, y, width }, down, kind) => shape("text",
      { x: x + width / 2, y: y + down, class: kind, "text-anchor": "middle" }, words);
    region.kernels.forEach((kernel, place) => {
      const own = region.nodes.filter((node) => node.kernel === place).map((node) => node.id);
      const made = shape("g", { class: `kernel c${place % COLOURS}` }, box(kernel, 8),
        shape("text", { class: "small", x: kernel.x + 10, y: kernel.y + 20 }, kernel.title));
      made.addEventListener("click", () => this.pinKernel(region, place));
      made.addEventListener("mouseover", () => this.tell(focusOnNodes(this.data, own), "hover"));
      kernels.push({ shape: made, nodes: own, box: kernel });
      group.append(made);
    });
    for (const array of region.arrays.filter((other) => other.node !== null)) {
      const made = shape("path", { class: "line memory", d: curve(array.stem) });
      edges.push({ shape: made, ends: [region.nodes[array.node].id] });
      group.append(made);
    }
    for (const line of region.lines) {
      const order = line.modes.length === 1 && line.modes[0] === "order";
      const kinds = ["line", line.memory && "memory", line.modes.includes("gather") && "gather", order && "order"];
      const made = shape("path", { class: kinds.filter(Boolean).join(" "), d: curve(line.points),
        "marker-end": `url(#${line.memory && !order ? "memory-tip" : "tip"})` },
      shape("title", {}, `${line.names.join(", ")}: ${line.modes.join(", ")}`));
      const ends = [line.from, line.to].filter((end) => end !== null).map((end) => region.nodes[end].id);
      edges.push({ shape: made, ends });
      group.append(made);
      if (this.wish && ends.length === 2) group.append(this.grip(line, made, ends));
    }
    for (const array of region.arrays) {
      group.append(shape("g", { class: array.output ? "array output" : "array" },
        shape("title", {}, array.output ? `${array.name}: a result` : array.name), box(array, 9), text(array.text, array, 13, "")));
    }
    for (const node of region.nodes) {
      const made = shape("g", { class: node.copy ? "node copy" : "node", tabindex: -1, role: "button",
        "aria-label": `${node.name}, ${node.op}, ${region.kernels[node.kernel].title}` },
      shape("title", {}, node.name), box(node, 4), text(node.lines[0], node, 17, ""), text(node.lines[1], node, 32, "small"));
      const item = { shape: made, id: node.id, node, x: node.x, y: node.y, width: node.width, height: node.height };
      made.addEventListener("click", () => this.pin(item));
      made.addEventListener("focus", () => this.walkTo(item));
      made.addEventListener("mouseover", () => this.tell(focusOnNodes(this.data, [node.id]), "hover"));
      boxes.push(item);
      group.append(made);
    }
    return { group, boxes, kernels, edges, top: null };
  }

  /** What the mouse takes a line between these nodes by. Pulled aside, it cuts them apart, or fuses them if they are
   *  apart. */
  grip(line, drawn, ends) {
    const title = shape("title", {});
    const made = shape("path", { class: "grip", d: curve(line.points) }, title);
    let [pair, wish] = [null, ""];
    made.addEventListener("pointerenter", () => {
      pair = pairOf(regionOf(this.data, this.schedule(), ends[0]), ends);
      wish = wishOf(pair);
      made.classList.toggle("fixed", !wish);
      title.textContent = `${line.names.join(", ")}: ${wish ? `pull it aside to ${wish} ${pair.first} and ${pair.second}`
        : `${pair ? pair.verdict : "an order"}${pair?.reason ? `, ${pair.reason}` : ""}`}`;
    });
    const let_go = () => {
      drawn.setAttribute("d", curve(line.points));
      drawn.classList.remove("pulled");
    };
    let from = null;
    made.addEventListener("pointerdown", (event) => {
      if (!wish) return;
      event.stopPropagation();
      from = { x: event.clientX, y: event.clientY };
      made.setPointerCapture(event.pointerId);
    });
    made.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y].map((way) => way / this.view.scale);
      const [first, last] = [line.points[0], line.points.at(-1)];
      const middle = [(first[0] + last[0]) / 2 + 2 * dx, (first[1] + last[1]) / 2 + 2 * dy];
      drawn.setAttribute("d", `M${first} Q${middle} ${last}`);
      drawn.classList.toggle("pulled", Math.hypot(dx, dy) > PULLED);
    });
    made.addEventListener("pointerup", () => {
      if (!from) return;
      const pulled = drawn.classList.contains("pulled");
      from = null;
      let_go();
      if (pulled) this.wish(wish, pair);
      else this.tell(focusOnNodes(this.data, pair.ids), "pin");
    });
    made.addEventListener("pointercancel", () => {
      from = null;
      let_go();
    });
    return made;
  }

  // Looking ---------------------------------------------------------------------------------------

  listen() {
    const { svg } = this;
    svg.addEventListener("mouseleave", () => this.tell(null, "hover"));
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY);
      else this.pan(-event.deltaX, -event.deltaY);
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => { this.drag = { x: event.clientX, y: event.clientY, far: false }; });
    svg.addEventListener("pointermove", (event) => {
      if (!this.drag || !event.buttons) return;
      const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
      if (!this.drag.far && Math.hypot(dx, dy) < 4) return;
      if (!this.drag.far) svg.setPointerCapture(event.pointerId);
      this.drag = { x: event.clientX, y: event.clientY, far: true };
      this.pan(dx, dy);
    });
    svg.addEventListener("click", (event) => {
      if (this.drag?.far) event.stopPropagation();
      else if (event.target === svg) this.tell(null, "pin");
      this.drag = null;
    }, true);
    svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => {
      this.room = { width: svg.clientWidth, height: svg.clientHeight };
      if (this.world) this.place();
    }).observe(svg);
    this.details.addEventListener("scroll", () => { this.scrolled = true; });
  }

  key(event) {
    const direction = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" }[event.key];
    const at = this.boxes.findIndex((item) => item.shape === document.activeElement);
    const act = direction ? () => at >= 0 && this.boxes[nearest(this.boxes, at, direction)].shape.focus()
      : { "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.fit(),
          Enter: () => at >= 0 && this.pin(this.boxes[at]), " ": () => at >= 0 && this.pin(this.boxes[at]) }[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.place();
  }

  zoom(by, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const scale = Math.min(CLEAREST, Math.max(this.least, this.view.scale * by));
    const ratio = scale / this.view.scale;
    this.view = { x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio, scale };
    this.place();
  }

  /** Show the whole drawing. */
  fit() {
    const { width, height } = this.room = { width: this.svg.clientWidth, height: this.svg.clientHeight };
    if (!width) return;
    this.least = Math.min(CLEAREST, (width - 24) / this.size.width, (height - 24) / this.size.height);
    const scale = Math.min(LARGEST, this.least);
    this.view = { x: (width - this.size.width * scale) / 2, y: 12, scale };
    this.place();
  }

  /** Show the whole drawing if it is readable then, else its beginning. */
  start() {
    if (!this.world) this.draw();
    this.fit();
    const { width } = this.svg.getBoundingClientRect();
    const first = this.kernels[0]?.box;
    if (!width || !first || this.view.scale >= READABLE) return;
    const scale = Math.max(READABLE, Math.min(LARGEST, (width - 24) / this.size.width));
    const whole = this.size.width * scale < width;
    const centred = width / 2 - (first.x + first.width / 2) * scale;
    this.view = { x: whole ? (width - this.size.width * scale) / 2 : Math.min(12, centred), y: 12, scale };
    this.place();
  }

  place() {
    const { x, y, scale } = this.view;
    const { width, height } = this.room;
    const keep = (at, room, size) => Math.min(room - 60, Math.max(60 - size * scale, at));
    this.view.x = keep(x, width, this.size.width);
    this.view.y = keep(y, height, this.size.height);
    this.world.setAttribute("transform", `translate(${this.view.x},${this.view.y}) scale(${scale})`);
  }

  show(item) {
    const { x, y, scale } = this.view;
    const { width, height } = this.room;
    const [left, top] = [x + item.x * scale, y + item.y * scale];
    if (left < 0 || left + item.width * scale > width) this.view.x = (width - item.width * scale) / 2 - item.x * scale;
    if (top < 0 || top + item.height * scale > height) this.view.y = height / 3 - item.y * scale;
    this.place();
  }

  // Focus -----------------------------------------------------------------------------------------

  pin(item) {
    this.tell(focusOnNodes(this.data, [item.id]), "pin");
    this.rove(item);
  }

  walkTo(item) {
    this.rove(item);
    this.show(item);
    if (item.shape.matches(":focus-visible")) this.tell(focusOnNodes(this.data, [item.id]), "walk");
  }

  rove(item) {
    for (const other of this.boxes) other.shape.setAttribute("tabindex", other === item ? 0 : -1);
  }

  pinKernel(region, place) {
    const own = region.nodes.filter((node) => node.kernel === place).map((node) => node.id);
    this.tell(focusOnNodes(this.data, own), "pin");
    this.told = null;
    this.details.replaceChildren(...kernelDetails(this.data, this.schedule(), region, place, this.links()));
  }

  /** The actions of the links in the details. */
  links() {
    return { node: (id) => this.goTo(id), kernel: (region, place) => this.pinKernel(region, place), wish: this.wish };
  }

  goTo(id) {
    const item = this.boxes.find((box) => box.id === id);
    if (!item) return;
    this.pin(item);
    this.show(item);
  }

  light(focus) {
    this.focus = focus;
    const nodes = new Set(focus?.nodes ?? []);
    const what = focus?.near ? "near" : "hit";
    this.world.classList.toggle("focused", nodes.size > 0);
    for (const { shape: made, id } of this.boxes) {
      made.classList.toggle("hit", nodes.has(id) && what === "hit");
      made.classList.toggle("near", nodes.has(id) && what === "near");
    }
    for (const { shape: made, nodes: own } of this.kernels) {
      made.classList.toggle("around", own.some((id) => nodes.has(id)));
    }
    for (const { shape: made, ends } of this.edges) made.classList.toggle("hit", ends.some((id) => nodes.has(id)));
    this.places = this.boxes.filter((item) => nodes.has(item.id));
    return nodes.size;
  }

  /** Show the details of the nodes in focus. */
  tellDetails(focus) {
    const one = focus?.nodes.length === 1 && !focus.near;
    const told = focus ? null : JSON.stringify(this.schedule().regions.map(({ title, nodes, kernels }) =>
      [title, nodes.map((node) => node.op), kernels.length]));
    if (told && told === this.told) return;
    this.told = told;
    this.details.replaceChildren(...(one ? nodeDetails(this.data, this.schedule(), focus.nodes[0], this.links())
      : focus ? severalDetails(this.data, focus, this.links())
        : [...legend(this.data, this.schedule()), ...this.overview()]));
    if (this.scrolled) this.details.scrollTop = 0;
    this.scrolled = false;
  }

  /** The regions of a large program, each with its size; a choice shows it alone. */
  overview() {
    const { regions } = this.schedule();
    if (regions.length < 2) return [];
    const row = (region) => element("tr", {},
      element("th", { scope: "row" }, button(this.regionName(region), () => this.only(this.regionName(region)))),
      element("td", {}, countText(region.nodes.length, "node")), element("td", {}, countText(region.kernels.length, "kernel")));
    return [element("h3", {}, "Regions"), element("table", { className: "regions" }, element("tbody", {}, ...regions.map(row)))];
  }

  showPlace(n) {
    if (!this.places?.length && this.focus?.nodes.length) this.only("");
    if (this.places?.length) this.show(this.places[n % this.places.length]);
  }
}

// Details ------------------------------------------------------------------------------------------

function button(text, act) {
  return element("button", { type: "button", className: "link", onclick: act }, text);
}

function link(data, id, go) {
  return button(data.nodes[id].name, () => go.node(id));
}

function severalDetails(data, focus, go) {
  const title = focus.near ? "Part of" : focus.nodes.length ? "Became" : `Nothing of ${data.entry} is made of this`;
  const items = focus.nodes.map((id) => [link(data, id, go), ` ${data.nodes[id].op} in ${data.nodes[id].function}`]);
  return [element("h2", {}, title), element("ul", { className: "several" }, ...items.map((item) => element("li", {}, ...item)))];
}

function listOf(title, items) {
  return items.length ? [element("section", {}, element("h3", {}, title),
    element("ul", {}, ...items.map((item) => element("li", {}, ...item))))] : [];
}

function regionOf(data, schedule, id) {
  const { function: name, region } = data.nodes[id];
  return schedule.regions.find((other) => other.function === name && other.region === region);
}

function nodeDetails(data, schedule, id, go) {
  const node = data.nodes[id];
  const region = regionOf(data, schedule, id);
  const drawn = region.nodes.findIndex((other) => other.id === id);
  const place = region.nodes[drawn].kernel;
  const code = codeName(data, schedule, id);
  const about = [`${node.op} over ${node.size.toLocaleString("en")}, in `,
    button(region.kernels[place].title, () => go.kernel(region, place)), code && `, ${code}`,
    node.by ? `, walked by ${node.by}` : ""];
  const results = node.results.map(({ name, type, bytes }) =>
    [element("code", {}, `${name} : ${type}`), bytes ? ` ${bytesText(bytes)}` : ""]);
  const edge = (line, end) => [line[end] === null ? "what is in memory:" : link(data, region.nodes[line[end]].id, go),
    ` ${line.names.join(", ")} (${line.modes.join(", ")}, ${line.memory ? "between kernels" : "in the kernel"})`];
  const pairs = region.pairs.filter((pair) => pair.ids.includes(id)).map((pair) =>
    [link(data, pair.ids[0] === id ? pair.ids[1] : pair.ids[0], go), ` ${pair.verdict}`, pairReason(pair),
      ...wishButton(pair, go.wish)]);
  const [into, out] = [["to", "from"], ["from", "to"]].map(([here, there]) =>
    region.lines.filter((line) => line[here] === drawn).map((line) => edge(line, there)));
  return [element("h2", {}, node.name), element("p", {}, ...about), element("pre", {}, node.binding),
    element("div", { className: "lists" }, ...listOf("Makes", results), ...listOf("Uses", into), ...listOf("Used by", out),
      ...listOf("Beside others that use the same data", pairs))];
}

/** The name of the node's kernel in the code; empty unless the code is of this schedule. */
function codeName(data, schedule, id) {
  const fused = data.stages.find((stage) => stage.name === "fused").marks.map(readMark);
  const kernel = fused.find((mark) => mark.label && mark.nodes.includes(id));
  return kernel && schedule.mode === data.mode ? `${kernel.label} in the code` : "";
}

function pairOf(region, ends) {
  return region.pairs.find((pair) => pair.ids.every((id) => ends.includes(id)));
}

/** What may be wished of two nodes: that they are cut apart, or fused. */
function wishOf(pair) {
  if (pair?.verdict === "never") return pair.reason === "cut" ? "fuse" : "";         // it was a wish
  return { together: "cut", apart: "fuse" }[pair?.verdict] ?? "";
}

function wishButton(pair, wish) {
  const kind = wish ? wishOf(pair) : "";
  if (!kind) return [];
  const made = element("button", { type: "button", className: "wish", onclick: () => wish(kind, pair) }, kind);
  made.setAttribute("aria-label", `${kind} ${pair.first} and ${pair.second}`);
  return [" ", made];
}

function pairReason(pair) {
  if (pair.verdict === "never") return `: ${pair.reason}${pair.witness ? `, ${pair.witness}` : ""}`;
  if (pair.verdict !== "apart") return `, by ${pair.rule}`;
  return `, by ${pair.rule}; ${pair.price ? `together ${priceText(pair.price)}` : "not priced"}`;
}

/** The extra cost of the best schedule that joins a pair, as a text. */
function priceText({ cost, more, status }) {
  const times = (count, word) => (count ? [`${word} ${countText(Math.abs(count), "time")} ${count > 0 ? "more" : "less"}`] : []);
  const moved = more.slice(0, 3).map(({ name, read, written }) =>
    `${name} ${[...times(read, "read"), ...times(written, "written")].join(" and ")}`);
  return `it would cost ${status === "optimal" ? "" : "about "}${timeText(cost)} more${moved.length ? `: ${moved.join(", ")}` : ""}`;
}

function kernelDetails(data, schedule, region, place, go) {
  const kernel = region.kernels[place];
  const own = region.nodes.filter((node) => node.kernel === place);
  const written = region.arrays.filter((array) => array.node !== null && region.nodes[array.node].kernel === place);
  const read = new Set(region.lines.filter((line) => line.memory && region.nodes[line.to].kernel === place)
    .flatMap((line) => line.names));
  const about = [codeName(data, schedule, own[0].id), region.title].filter(Boolean).join("; ");
  return [element("h2", {}, kernel.title), element("p", {}, about), element("div", { className: "lists" },
    ...listOf("Computes", own.map((node) => [link(data, node.id, go), ` ${node.op}${node.copy ? ", again" : ""}`])),
    ...listOf("Finds in memory", [...read].map((name) => [element("code", {}, name)])),
    ...listOf("Leaves in memory", written.map((array) => [element("code", {}, array.text)])))];
}

/** The meaning of the lines, and of the operations that are there. */
function legend(data, schedule) {
  const sample = (kind, words) => {
    const drawing = shape("svg", { class: "sample", width: 36, height: 10, "aria-hidden": "true" },
      shape("path", { class: kind, d: "M0,5 h36" }));
    return element("li", {}, drawing, ` ${words}`);
  };
  return [element("p", {}, "A box is a kernel; rounded names are arrays in memory, those with a thick edge the results. " +
    "Choose a node for its binding, its edges and what each of its neighbours is to it."),
  element("ul", { className: "legend" }, sample("line", "inside a kernel"), sample("line memory", "through memory"),
    sample("line memory gather", "gathered"), sample("line order", "an order only")),
  element("dl", { className: "kinds" }, ...operationsOf(schedule, data.operations).flatMap(([name, does]) =>
    [element("dt", {}, name), element("dd", {}, does)]))];
}
