// A stage as text. Its marks are nested elements, which light up and can be walked through.

/** A function that slices the text by characters. JavaScript counts a character beyond U+FFFF as two. */
function slicer(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (start, end) => text.slice(start, end);
  const characters = Array.from(text);
  return (start, end) => characters.slice(start, end).join("");
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

class TextStage {
  /** `tell(focus, how)` is called when the reader looks at something: "hover", "pin" or "walk". */
  constructor(data, stage, tell) {
    Object.assign(this, { data, stage, tell });
    this.marks = nest(stage.marks.map(readMark));
    this.slice = slicer(stage.text);
    this.lit = [];
    this.cursor = -1;
    this.body = element("pre", { className: "text", tabIndex: 0 });
    this.body.setAttribute("role", "group");
    this.body.setAttribute("aria-label", `${stage.name}: ${stage.title}. Arrow keys walk through it.`);
    this.build();
    this.listen();
  }

  build() {
    const { marks, slice, stage } = this;
    this.elements = [];
    const open = [{ box: this.body, end: Infinity }];
    let at = 0;
    const write = (to) => {
      if (to <= at) return;
      const text = slice(at, to);
      open.at(-1).box.append(open.length > 1 ? text : element("span", { className: "between" }, text));
      at = to;
    };
    const close = (until) => {
      while (open.at(-1).end <= until) {
        write(open.at(-1).end);
        open.pop();
      }
    };
    marks.forEach((mark, place) => {
      close(mark.start);
      write(mark.start);
      const box = element("span", { className: "mark" });
      box.dataset.place = place;
      open.at(-1).box.append(box);
      open.push({ box, end: mark.end });
      this.elements.push(box);
    });
    close(Number.MAX_SAFE_INTEGER);
    write(stage.text.length);
    if (stage.note) this.body.prepend(element("span", { className: "note" }, `${stage.note}\n`));
    if (!stage.text.trim()) this.body.append(element("span", { className: "note" }, "nothing here"));
  }

  listen() {
    this.body.addEventListener("mouseover", (event) => this.tell(this.focusAt(event.target), "hover"));
    this.body.addEventListener("mouseleave", () => this.tell(null, "hover"));
    this.body.addEventListener("click", (event) => {
      if (getSelection().isCollapsed) this.tell(this.focusAt(event.target), "pin");
    });
    this.body.addEventListener("keydown", (event) => {
      const direction = event.shiftKey ? { ArrowLeft: "out", ArrowRight: "in" }[event.key]
        : { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" }[event.key];
      if (!direction || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.walk(direction);
    });
  }

  /** The focus on the smallest mark around the target that shows something. */
  focusAt(target) {
    let place = Number(target.closest(".mark")?.dataset.place ?? -1);
    while (place >= 0 && !focusOn(this.data, this.marks[place])) place = this.marks[place].parent;
    this.cursor = place;
    return place < 0 ? null : focusOn(this.data, this.marks[place]);
  }

  walk(direction) {
    this.cursor = step(this.marks, this.cursor, direction, (at) => this.lineOf(at));
    if (this.cursor < 0) return;
    this.tell(focusOn(this.data, this.marks[this.cursor]), "walk");
    this.elements[this.cursor].classList.add("cursor");
    this.lit.push(this.elements[this.cursor]);
    this.show(this.elements[this.cursor]);
  }

  lineOf(at) {
    this.lines ??= [...this.stage.text.matchAll(/\n/g)].map((found) => found.index);
    let [low, high] = [0, this.lines.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lines[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  light(focus) {
    for (const box of this.lit) box.classList.remove("hit", "near", "around", "cursor");
    const found = focus ? hits(this.data, this.marks, focus) : [];
    this.lit = found.map(([place, what]) => {
      this.elements[place].classList.add(what);
      return this.elements[place];
    });
    this.places = found.filter(([, what]) => what !== "around").map(([place]) => place)
      .filter((place, _, all) => !all.includes(this.marks[place].parent)).map((place) => this.elements[place]);
    return this.places.length;
  }

  /** Bring the n-th of the lit places into view. */
  showPlace(n) {
    if (!this.places?.length) return;
    const box = this.places[n % this.places.length];
    if (!box.getClientRects().length) this.only("");
    this.show(box);
  }

  show(box) {
    const [outer, inner] = [this.body.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      this.body.scrollTop += inner.top - outer.top - Math.max(8, (outer.height - inner.height) / 3);
    }
  }

  /** Scroll to the program's beginning, past the sites that can fail, for example. */
  start() {
    const first = this.marks.findIndex((mark) => mark.parent < 0 && mark.label);
    if (first >= 0 && !this.stage.note && this.body.scrollTop === 0) {
      this.body.scrollTop = this.elements[first].offsetTop - this.body.offsetTop - 8;
    }
  }

  parts() {
    return union([this.marks.filter((mark) => mark.parent < 0 && mark.label).map((mark) => mark.label)]);
  }

  only(label) {
    if (this.partChoice) this.partChoice.value = label;
    this.body.classList.toggle("only", Boolean(label));
    this.marks.forEach((mark, place) => {
      if (mark.parent < 0) this.elements[place].classList.toggle("chosen", mark.label === label);
    });
    this.body.scrollTop = 0;
  }
}
