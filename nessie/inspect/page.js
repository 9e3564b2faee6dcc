// The page. It has panes, each with a stage; the focus of one pane lights up in all.

const KEYS = "Arrow keys walk, Shift with left and right goes out and in, Escape lets go, Tab goes on.";

class Page {
  constructor(data) {
    this.data = data;
    this.pinned = null;
    this.stages = new Map();
    this.main = document.querySelector("main");
    this.status = document.querySelector("#status");
    const state = readState(location.hash);
    this.begin(state);
    const names = data.stages.map((stage) => stage.name);
    const wanted = (state.panes ?? "").split(",").filter((name) => names.includes(name));
    this.panes = wanted.length ? wanted.slice(0, 3) : ["source", "graph", data.measured ? "measured" : "fused"];
    document.querySelector("h1").textContent = data.entry;
    this.countButtons();
    this.arrange();
    if (state.schedule) this.stage("graph").setMode?.(state.schedule);
    else this.modeChosen();
    this.restore(state);
    this.searching();
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.tell(null, "pin");
    });
  }

  /** What comes before the panes are made: nothing here. */
  begin() {}

  /** The stage of this name. Each is made once, when it is first shown. */
  stage(name) {
    if (!this.stages.has(name)) this.stages.set(name, this.make(this.data.stages.find((other) => other.name === name)));
    return this.stages.get(name);
  }

  make(stage) {
    const tell = (focus, how) => this.tell(focus, how, stage.name);
    return stage.name === "graph" ? new GraphStage(this.data, stage, tell, () => this.modeChosen())
      : new TextStage(this.data, stage, tell);
  }

  /** What is typed lights up what holds it; Enter goes to the next place. */
  searching() {
    const box = document.querySelector("#search");
    let place = 0;
    box.addEventListener("input", () => {
      place = 0;
      this.tell(search(this.data, this.stage("source").slice, box.value), "pin", "search");
    });
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      place += 1;
      for (const name of this.panes) this.stage(name).showPlace(place);
    });
  }

  countButtons() {
    const box = document.querySelector("#count");
    for (const count of [1, 2, 3]) {
      const radio = element("input", { type: "radio", name: "count", value: count, checked: count === this.panes.length,
        onchange: () => this.setCount(count) });
      box.append(element("label", {}, radio, ` ${count}`));
    }
  }

  setCount(count) {
    const others = ["source", "graph", "fused", "flat"].filter((name) => !this.panes.includes(name));
    this.panes = [...this.panes, ...others].slice(0, count);
    this.arrange();
  }

  arrange() {
    this.main.replaceChildren(...this.panes.map((name, place) => this.pane(name, place)));
    this.main.style.gridTemplateColumns = this.panes.map((name) => (name === "graph" ? "minmax(0,1.5fr)" : "minmax(0,1fr)")).join(" ");
    for (const name of this.panes) this.stage(name).start();
    if (this.panes.includes("graph")) this.stage("graph").tellDetails?.(this.pinned);
    this.light(this.pinned);
    this.remember();
  }

  pane(name, place) {
    const stage = this.stage(name);
    const order = ["First", "Second", "Third"][place];
    const choice = element("select", { title: "which stage is shown" }, ...this.data.stages.map((other) =>
      element("option", { value: other.name, selected: other.name === name }, other.name)));
    choice.setAttribute("aria-label", `${order} pane`);
    choice.addEventListener("change", () => this.change(place, choice.value));
    const part = element("select", { className: "part", title: "which part of it" });
    part.setAttribute("aria-label", `Part of ${name}`);
    part.addEventListener("change", () => stage.only(part.value));
    this.offerParts(stage, part, stage.partChoice?.value ?? "");
    const places = element("button", { type: "button", className: "places", disabled: true, title: "go to the next" });
    let next = 0;
    places.addEventListener("click", () => stage.showPlace(next++));
    stage.counter = places;
    const pane = element("section", { className: "pane" }, element("header", {}, choice, part, places), stage.body);
    pane.setAttribute("aria-label", `${order} pane: ${name}`);
    pane.dataset.stage = name;
    return pane;
  }

  /** The parts of a stage to choose from. */
  offerParts(stage, part, chosen) {
    const parts = stage.parts();
    part.replaceChildren(element("option", { value: "" }, "all of it"),
      ...parts.map((label) => element("option", { value: label }, label)));
    part.disabled = parts.length < 2;
    part.value = chosen;
    stage.partChoice = part;
  }

  change(place, name) {
    const other = this.panes.indexOf(name);
    if (other >= 0) this.panes[other] = this.panes[place];
    this.panes[place] = name;
    this.arrange();
    this.main.children[place].querySelector("select").focus();
  }

  // Focus -----------------------------------------------------------------------------------------

  /** Set what the reader looks at in a stage: while the mouse is there, or until something else is chosen. */
  tell(focus, how, from) {
    if (how === "hover") {
      this.hovered = focus;
      this.waiting ??= requestAnimationFrame(() => {
        this.waiting = null;
        this.light(this.hovered ?? this.pinned);
      });
      return;
    }
    this.pinned = focus;
    this.light(focus);
    if (this.panes.includes("graph")) this.stage("graph").tellDetails?.(focus);
    for (const name of focus ? this.panes : []) if (name !== from) this.stage(name).showPlace(0);
    this.remember();
  }

  /** Update the line about the schedules: the code is of one schedule, and the graph may show another. */
  modeChosen() {
    const { file, target, mode } = this.data;
    const drawn = this.stages.get("graph")?.mode ?? mode;
    const other = drawn === mode ? "" : `; the graph shows ${drawn}, all code is still that of ${mode}`;
    document.querySelector("#file").textContent = `${file} \u00b7 for ${target}, fused by ${mode}${other}`;
    if (this.panes.includes("graph")) this.stage("graph").tellDetails?.(this.pinned);
    this.light(this.pinned);
    this.remember();
  }

  light(focus) {
    for (const name of this.panes) {
      const stage = this.stage(name);
      const count = stage.light(focus);
      if (name === "source") lightTogether(this.data, stage, focus);
      stage.counter.textContent = count ? countText(count, "place") : "";
      stage.counter.disabled = !count;
    }
    this.status.textContent = focus ? this.describe(focus) : KEYS;
  }

  describe(focus) {
    const source = this.stage("source");
    const text = ([start, end]) => source.slice(start, end).replace(/\s+/g, " ");
    const short = (words) => (words.length > 70 ? `${words.slice(0, 67)}...` : words);
    const written = focus.spans.slice(0, 3).map((number) => short(text(this.data.spans[number]))).join("  \u00b7  ");
    const schedule = this.data.schedules.find((other) => other.mode === (this.stages.get("graph")?.mode ?? this.data.mode));
    const kernels = union(focus.nodes.map((id) => {
      const region = regionOf(this.data, schedule, id);
      return `${region.kernels[region.nodes.find((node) => node.id === id).kernel].title} of ${region.function}`;
    }));
    const where = kernels.length > 3 ? countText(kernels.length, "kernel") : kernels.join(", ");
    const became = where ? (focus.near ? `part of ${where}` : where) : `nothing of ${this.data.entry} is made of this`;
    return [measuredText(this.data, focus), written, became].filter(Boolean).join("  \u2192  ");
  }

  remember() {
    history.replaceState(null, "", writeState(this.state()));
  }

  /** What the address remembers. */
  state() {
    const { pinned } = this;
    return { panes: this.panes.join(","), schedule: this.stages.get("graph")?.mode,
      nodes: pinned && !pinned.near ? pinned.nodes.join(",") : "", spans: pinned?.spans.join(",") };
  }

  restore(state) {
    const numbers = (text, all) => (text ?? "").split(",").filter(Boolean).map(Number).filter((n) => n in all);
    const [nodes, spans] = [numbers(state.nodes, this.data.nodes), numbers(state.spans, this.data.spans)];
    if (spans.length) this.tell({ ...focusOnSpans(this.data, spans), ...(nodes.length ? { nodes, near: false } : {}) }, "pin");
    else if (nodes.length) this.tell(focusOnNodes(this.data, nodes), "pin");
  }
}
