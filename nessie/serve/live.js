// The live page: the inspector's page, which asks a server what becomes of the text in its editor.

const PAUSE = 120;                      // ms without a change until details are asked for, and the program is run
const AGAIN = 200;                      // ms until a server that has too much to do is asked again
const MACHINES = [["cpu", "a CPU of two cores"], ["h200", "an H200"]];
const NO_ANSWER = { errors: [{ text: "The server does not answer. Is nessie serve still running?", places: [] }] };

class LivePage extends Page {
  begin(state) {
    document.body.classList.add("live");
    this.known = { entry: state.entry ?? "", data: state.data ?? "", machine: state.machine ?? "cpu", size: state.size ?? "",
      cut: readPairs(state.cut), fuse: readPairs(state.fuse) };
    this.editor = new EditorStage(this.data.program, this.data.words, (focus, how) => this.tell(focus, how, "source"),
      () => this.edited());
    this.stages.set("source", this.editor);
    this.makeBar();
    this.packed = state.program ?? "";
    this.first = state;
    this.opened(state.program);
  }

  /** Open the program of the address, if it has one, else the one that the page came with. */
  async opened(letters) {
    const text = await unpacked(letters ?? "");
    if (text && text !== this.editor.text) this.editor.set(text);
    else this.edited();
  }

  // The bar ---------------------------------------------------------------------------------------

  makeBar() {
    const { known } = this;
    const change = (name) => (event) => {
      known[name] = event.target.value;
      this.ask();
    };
    const option = ([value, words]) => element("option", { value }, words ?? value);
    const field = (words, made, kind = "") => element("label", { className: `field ${kind}` }, element("span", {}, words), made);
    this.examples = element("select", { onchange: () => this.startFrom(this.examples.value) }, option(["", "an example \u2026"]),
      ...Object.keys(this.data.examples).map((name) => option([name])));
    this.entry = element("select", { onchange: change("entry") });
    this.given = element("input", { type: "text", value: known.data, spellcheck: false, autocomplete: "off", oninput: change("data") });
    this.machine = element("select", { onchange: change("machine") }, ...MACHINES.map(option));
    this.machine.value = known.machine;
    this.size = element("input", { type: "text", value: known.size, spellcheck: false, autocomplete: "off", oninput: change("size") });
    this.price = element("output", { className: "price" });
    this.wishes = element("span", { className: "wishes" });
    const copy = element("button", { type: "button", title: "copy the address, which holds the program", onclick: async () => {
      await this.packing;
      super.remember();
      await navigator.clipboard.writeText(location.href);
      this.status.textContent = "The address is copied: it holds the program, the data and what you see.";
    } }, "copy link");
    this.bar = element("form", { className: "bar", onsubmit: (event) => event.preventDefault() },
      field("start from", this.examples), field("call", this.entry), field("on", this.given, "wide"),
      field("what if", this.size), field("on", this.machine), this.price, this.wishes, copy);
    this.bar.setAttribute("aria-label", "What is called, on what, and where");
    this.given.setAttribute("aria-label", "Arguments, as they stand in a call");
    this.size.setAttribute("aria-label", "Sizes to expect, such as n=1e8");
    this.machine.setAttribute("aria-label", "Machine whose prices count");
    this.main.before(this.bar);
    this.showWishes();
  }

  startFrom(name) {
    if (!name) return;
    Object.assign(this.known, { entry: "", data: "", size: "", cut: [], fuse: [] });
    [this.given.value, this.size.value] = ["", ""];
    this.data.file = `${name}.nesl`;
    this.begins = true;                 // at its beginning, wherever the program before was looked at
    this.showWishes();
    this.editor.set(this.data.examples[name]);
  }

  wish(kind, pair) {
    const names = [pair.first, pair.second];
    const same = (other) => other.every((name) => names.includes(name));
    const opposite = { cut: "fuse", fuse: "cut" }[kind];
    const unsaid = this.known[opposite].length;
    this.known[opposite] = this.known[opposite].filter((other) => !same(other));
    if (this.known[opposite].length === unsaid) this.known[kind].push(names);
    this.showWishes();
    this.ask();
  }

  showWishes() {
    const chip = (kind) => (pair) => element("button", { type: "button", title: "take it back", onclick: () => {
      this.known[kind] = this.known[kind].filter((other) => other !== pair);
      this.showWishes();
      this.ask();
    } }, `${kind} ${pair.join(", ")} \u00d7`);
    this.wishes.replaceChildren(...this.known.cut.map(chip("cut")), ...this.known.fuse.map(chip("fuse")));
  }

  /** Show what there is to choose from, and what is chosen where nothing was said. */
  showFacts({ functions, entry, data, names }) {
    const wanted = Object.keys(functions);
    if (wanted.join() !== [...this.entry.options].map((option) => option.value).join()) {
      this.entry.replaceChildren(...wanted.map((name) => element("option", { value: name }, name)));
    }
    this.entry.value = entry;
    this.entry.title = functions[entry] ?? "";
    this.given.placeholder = data.replace(/\s+/g, " ") || "nothing: its own type says what it takes";
    this.size.placeholder = names.length ? `${names[0]}=1e8` : "";
    this.size.title = `sizes to expect, of ${names.join(", ")}`;
  }

  // Asking ----------------------------------------------------------------------------------------

  edited() {
    this.changed = performance.now();
    this.packing = packed(this.editor.text).then((letters) => {
      this.packed = letters;
      this.remember();
    });
    this.ask();
  }

  question() {
    const { entry, data, machine, size, cut, fuse } = this.known;
    const sizes = readSizes(size);
    this.size.setAttribute("aria-invalid", sizes === null);
    return { program: this.editor.text, entry, data, machine, sizes: sizes ?? {}, cut, fuse };
  }

  /** Ask for the stages that are shown, of the program as it is now. One question is asked at a time; what comes in
   *  the meantime waits for its answer. */
  async ask() {
    this.asked = performance.now();
    this.rest?.abort();
    this.editor.waits(true);
    this.wanted = true;
    if (this.asking) return;
    this.asking = true;
    let answer = null;
    while (this.wanted) {
      this.wanted = false;
      answer = await post("look", { ...this.question(), stages: this.panes });
    }
    this.asking = false;
    this.show(answer);
    if (!answer.errors.length) this.afterwards();
    this.remember();
  }

  /** When nothing has changed for a while: run the program, and ask for the details of what is shown. */
  async afterwards() {
    const rest = this.rest = new AbortController();
    await new Promise((done) => setTimeout(done, PAUSE));
    for (const [what, more] of [["run", {}], ["look", { stages: this.panes, details: true }]]) {
      if (rest.signal.aborted) return;
      const answer = await post(what, { ...this.question(), ...more }, rest.signal);
      if (rest.signal.aborted) return;
      if (what === "run") this.showResult(answer);
      else if (!answer.errors.length) this.show(answer);
    }
  }

  /** Ask for the stages that are shown and have not come yet. */
  async fill() {
    await null;
    if (this.asking || this.filling || !this.data.collected) return;
    this.filling = true;
    const answer = await post("look", { ...this.question(), stages: this.panes, details: this.data.detailed });
    this.filling = false;
    if (!this.asking && !answer.errors.length) this.show(answer);
  }

  // Showing ---------------------------------------------------------------------------------------

  show(answer) {
    const scrolled = new Map(this.panes.map((name) => [name, this.stage(name).body.scrollTop]));     // before anything changes
    const wrong = answer.errors.length > 0;
    this.main.classList.toggle("stale", wrong);
    if (wrong) {
      this.showErrors(answer.errors);
      return;
    }
    const same = answer.collected === this.data.collected;
    if (!same) this.showErrors([]);
    this.showFacts(answer);
    this.update(same ? this.merged(answer) : { ...this.data, ...answer, file: this.data.file || "program" }, same, scrolled);
    const { cost } = this.data.schedules.find((schedule) => schedule.mode === this.data.mode);
    this.price.textContent = `\u2248 ${timeText(cost)}`;
    this.price.title = "the scheduler's estimate for one run of each region; arrays of which no size is said have a million elements";
    document.title = `${this.data.entry} \u2013 Nessie`;
    requestAnimationFrame(() => setTimeout(() => { document.body.dataset.took = Math.round(performance.now() - this.asked); }));
  }

  showErrors(errors) {
    this.editor.mistakes(errors);
    if (errors.length) this.editor.waits(false);
    const { answer } = this.editor;
    if (errors.length || answer.querySelector(".wrong")) {
      answer.replaceChildren(...errors.map(({ text }) => element("pre", { className: "wrong" }, text)));
    }
  }

  /** The data with what an answer about the same stages adds. */
  merged(answer) {
    const held = new Map(this.data.stages.map((stage) => [stage.name, stage]));
    const stages = answer.stages.map((stage) => (stage.text === null ? held.get(stage.name) : stage));
    const kept = this.data.detailed && !answer.detailed
      ? { nodes: this.data.nodes, schedules: this.data.schedules, detailed: true } : {};
    return { ...this.data, ...answer, stages, ...kept, file: this.data.file };
  }

  /** Show other data in the panes as they are. `same`: expressions and nodes have the numbers that they had; `scrolled`:
   *  how far the panes' texts are. */
  update(data, same, scrolled) {
    const before = new Map(this.stages);
    this.data = data;
    if (!same) [this.pinned, this.hovered] = [null, null];
    this.stages = new Map([["source", this.editor]]);
    this.editor.show(data, data.stages.find((stage) => stage.name === "source"));
    document.querySelector("h1").textContent = data.entry;
    const focused = this.panes.map((name, place) =>
      (name === "source" ? null : this.renew(name, place, before.get(name), scrolled.get(name)))).find(Boolean);
    focused?.focus();
    this.begins = false;
    this.modeChosen();
    if (this.first) {
      this.stage("graph").setMode?.(this.first.schedule ?? data.mode);
      this.restore(this.first);
      this.first = null;
    }
  }

  /** Make the stage of a pane anew; what was shown of the one before stays in view. Returns what has the focus then, if
   *  the pane has it. */
  renew(name, place, old, scrolled) {
    const pane = this.main.children[place];
    const stageData = this.data.stages.find((stage) => stage.name === name);
    if (old instanceof GraphStage && this.data.schedules.length) {
      this.stages.set(name, old);
      old.renew(this.data, stageData);
      if (this.begins) old.start();
      this.offerParts(old, old.partChoice, old.region);
      return null;
    }
    if (!old.waits && old.stage.text === stageData.text && JSON.stringify(old.stage.marks) === JSON.stringify(stageData.marks)) {
      this.stages.set(name, Object.assign(old, { data: this.data }));
      return null;
    }
    const held = pane.contains(document.activeElement) ? document.activeElement : null;
    const part = old.partChoice?.value ?? "";
    const fresh = this.pane(name, place);
    const stage = this.stage(name);
    pane.replaceWith(fresh);
    if (old.waits || this.begins || stage instanceof GraphStage) stage.start();
    else if (scrolled) stage.body.scrollTop = scrolled;
    if (part && stage.parts().includes(part)) stage.only(part);
    return held && fresh.querySelector(held.matches("select") ? "select" : held.closest(".details") ? ".details" : "[tabindex='0']");
  }

  make(stage) {
    if (stage.name === "source") return this.editor;
    const there = stage.name === "graph" ? this.data.schedules.length > 0 : stage.text !== null;
    if (there && stage.name === "graph") {
      return new GraphStage(this.data, stage, (focus, how) => this.tell(focus, how, "graph"), () => this.modeChosen(),
        (kind, pair) => this.wish(kind, pair));
    }
    if (there) return super.make(stage);
    this.fill();
    return Object.assign(new TextStage(this.data, { ...stage, text: "", marks: [], note: "\u2026" }, () => {}), { waits: true });
  }

  showResult(answer) {
    const { entry, data, value, type, printed, seconds, ran, launches, errors, nothing, pictures } = answer;
    this.editor.waits(false);
    if (errors) {
      this.showErrors(errors);
      return;
    }
    if (nothing) {
      this.editor.answer.replaceChildren(element("p", { className: "soft" }, nothing));
      return;
    }
    const call = `${entry}(${data.replace(/\s+/g, " ")})`;
    const told = `compiled and run in ${timeText(1e9 * seconds)}; the run alone, ${countText(launches, "kernel")}: ${timeText(1e9 * ran)}`;
    this.editor.answer.replaceChildren(element("p", { className: "call" }, call.length > 300 ? `${call.slice(0, 297)}...` : call),
      element("pre", { className: "value" }, `${value} : ${type}`), ...(printed ? [element("pre", {}, printed)] : []),
      ...(pictures ?? []).map(({ title, width, height, svg }) => element("img", { className: "picture", alt: title || "what the program draws",
        width, height, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` })),
      element("p", { className: "soft" }, told));
  }

  /** The address remembers all, a moment later: nobody waits for it. */
  remember() {
    this.remembering ??= setTimeout(() => {
      this.remembering = null;
      super.remember();
    }, SOON);
  }

  state() {
    const { entry, data, machine, size, cut, fuse } = this.known;
    return { ...super.state(), program: this.packed, entry, data, machine: machine === "cpu" ? "" : machine, size,
      cut: pairsText(cut), fuse: pairsText(fuse) };
  }
}

/** The server's answer to a question. */
async function post(what, question, signal) {
  try {
    for (;;) {
      const answer = await fetch(what, { method: "POST", headers: { "Content-Type": "application/json" }, signal,
        body: JSON.stringify(question), credentials: "omit" });
      if (answer.ok) return { ...(what === "look" ? { errors: [] } : {}), ...await answer.json() };
      if (answer.status !== 503) return { errors: [{ text: `The server refuses this (${answer.status}).`, places: [] }] };
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  } catch {
    return NO_ANSWER;
  }
}
