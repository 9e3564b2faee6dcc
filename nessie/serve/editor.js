// The source as a stage that can be edited. Its expressions light up as in the inspector; errors stand below their lines.

const { Decoration, EditorState, EditorView, HighlightStyle, StateEffect, StateField, StreamLanguage, WidgetType, tags } =
  CodeMirror;

const NAME = /^[^\s%."!\-+#&'()*,/:;<=>@[\]\\^`{}?|$]+/;
const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/;
const OPERATOR = /^(?:->|<-|=>|::|:=|\|=|&=|\+\+|\|\||==|\/=|<=|>=|[-+*/^<>#@=|])/;

/** NESL's tokens, as CodeMirror reads them: { keywords, types, library } are lists of names. */
function nesl(words) {
  const kinds = new Map([...words.library.map((name) => [name, "standard"]), ...words.types.map((name) => [name, "typeName"]),
    ...words.keywords.map((name) => [name, "keyword"])]);
  const until = (stream, state, end, kind) => {
    let character;
    while ((character = stream.next()) !== undefined) {
      if (character === end) {
        state.inside = "";
        break;
      }
      if (character === "\\" && end === '"') stream.next();
    }
    return kind;
  };
  return StreamLanguage.define({
    name: "nesl",
    startState: () => ({ inside: "" }),
    token(stream, state) {
      if (!state.inside) {
        if (stream.eatSpace()) return null;
        if (stream.match(NUMBER)) return "number";
        const name = stream.match(NAME);
        if (name) return kinds.get(name[0].toLowerCase()) ?? null;
        if (stream.eat("`")) {
          stream.next();
          return "string";
        }
        if (stream.match(OPERATOR)) return "operator";
        state.inside = { "%": "%", '"': '"' }[stream.next()] ?? "";
        if (!state.inside) return null;
      }
      return until(stream, state, state.inside, state.inside === "%" ? "comment" : "string");
    },
    tokenTable: { standard: tags.standard(tags.name) },
  });
}

const COLOURED = HighlightStyle.define([
  { tag: tags.keyword, class: "t-keyword" }, { tag: tags.typeName, class: "t-type" }, { tag: tags.number, class: "t-number" },
  { tag: tags.string, class: "t-string" }, { tag: tags.comment, class: "t-comment" }, { tag: tags.operator, class: "t-operator" },
  { tag: tags.standard(tags.name), class: "t-library" }]);

/** A line below another one: carets, and what is wrong there. */
class Carets extends WidgetType {
  constructor(column, width, words) {
    super();
    Object.assign(this, { column, width, words });
  }

  eq(other) {
    return this.column === other.column && this.width === other.width && this.words === other.words;
  }

  toDOM() {
    return element("div", { className: "carets" }, `${" ".repeat(this.column)}${"^".repeat(this.width)} ${this.words}`);
  }
}

/** Decorations that an effect sets, and that move with the text. */
function decorations() {
  const set = StateEffect.define();
  const field = StateField.define({
    create: () => Decoration.none,
    update(held, transaction) {
      const effect = transaction.effects.find((other) => other.is(set));
      return effect ? effect.value : held.map(transaction.changes);
    },
    provide: (of) => EditorView.decorations.from(of),
  });
  return { set, field };
}

class EditorStage {
  /** `changed()` is called when the text has been changed, `tell(focus, how)` as in other stages. */
  constructor(text, words, tell, changed) {
    Object.assign(this, { tell, changed, marks: [], places: [], lit: decorations(), wrong: decorations() });
    this.answer = element("div", { className: "answer", tabIndex: 0 });
    this.answer.setAttribute("role", "region");
    this.answer.setAttribute("aria-label", "Result");
    this.answer.setAttribute("aria-live", "polite");
    const { defaultKeymap, history: undoing, historyKeymap, keymap, lineNumbers, drawSelection, highlightActiveLine,
      bracketMatching, syntaxHighlighting } = CodeMirror;
    this.view = new EditorView({ state: EditorState.create({ doc: text, extensions: [
      lineNumbers(), undoing(), drawSelection(), highlightActiveLine(), bracketMatching(), nesl(words),
      syntaxHighlighting(COLOURED), keymap.of([...defaultKeymap, ...historyKeymap]), EditorState.tabSize.of(2),
      this.lit.field, this.wrong.field, EditorView.updateListener.of((update) => this.updated(update)),
      EditorView.contentAttributes.of({ "aria-label": "The program. Tab leaves it.", spellcheck: "false" }),
      EditorView.domEventHandlers({ mousemove: (event) => this.hover(event), mouseleave: () => this.tell(null, "hover") }),
    ] }) });
    this.body = element("div", { className: "editing" }, this.view.dom, this.answer);
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Whether a result is to come, of which the one that stands there may be none. */
  waits(still) {
    this.answer.setAttribute("aria-busy", still);
  }

  /** Write another program. */
  set(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 },
      effects: this.wrong.set.of(Decoration.none) });
    this.view.scrollDOM.scrollTop = 0;
  }

  /** Show the marks of what has been made of the text. */
  show(data, stage) {
    Object.assign(this, { data, made: stage.text, slice: slicer(stage.text), marks: nest(stage.marks.map(readMark)) });
    this.at = offsets(stage.text);
  }

  /** Whether the stages are those of the text that stands here. */
  fresh() {
    return this.made === this.text;
  }

  updated(update) {
    if (update.docChanged) {
      this.light(null);
      this.changed();
    } else if (update.selectionSet && update.transactions.some((one) => one.isUserEvent("select"))) {
      this.tell(this.focusAt(update.state.selection.main.head), "pin");
    }
  }

  hover(event) {
    const at = this.view.posAtCoords({ x: event.clientX, y: event.clientY });
    this.tell(at === null ? null : this.focusAt(at), "hover");
  }

  /** The focus on the smallest expression around a place in the text. */
  focusAt(place) {
    if (!this.fresh()) return null;
    const mark = this.marks.findLast((other) => this.at(other.start) <= place && place <= this.at(other.end));
    return mark ? focusOn(this.data, mark) : null;
  }

  light(focus) {
    const found = focus && this.fresh() ? hits(this.data, this.marks, focus) : [];
    if (!found.length && !this.view.state.field(this.lit.field).size) {
      this.places = [];
      return 0;
    }
    const ranges = found.map(([place, what]) =>
      Decoration.mark({ class: what }).range(this.at(this.marks[place].start), this.at(this.marks[place].end)));
    this.view.dispatch({ effects: this.lit.set.of(Decoration.set(ranges, true)) });
    this.places = found.filter(([, what]) => what !== "around").map(([place]) => this.at(this.marks[place].start));
    return this.places.length;
  }

  showPlace(n) {
    if (this.places.length && this.fresh()) {
      this.view.dispatch({ effects: EditorView.scrollIntoView(this.places[n % this.places.length], { y: "nearest", yMargin: 40 }) });
    }
  }

  /** Show errors below the lines in which they are. Their places are in characters of the text. */
  mistakes(errors) {
    const { doc } = this.view.state;
    if (!errors.length && !this.view.state.field(this.wrong.field).size) return;
    const at = offsets(this.text);
    const found = errors.flatMap((error) => error.places.filter(([name]) => name === "program").flatMap(([, start, end, label], place) => {
      const [from, to] = [start, end].map((one) => Math.min(doc.length, at(one)));
      const line = doc.lineAt(from);
      const words = place ? label : [label ? error.message.replace(/\.$/, "") : error.message, label].filter(Boolean).join(": ");
      const width = Math.max(1, Math.min(to, line.to) - from);
      const below = Decoration.widget({ widget: new Carets(from - line.from, width, words), block: true, side: 1 });
      return [below.range(line.to), ...(to > from ? [Decoration.mark({ class: "wrong" }).range(from, to)] : [])];
    }));
    this.view.dispatch({ effects: this.wrong.set.of(Decoration.set(found, true)) });
  }

  parts() {
    return [];
  }

  only() {}

  start() {}
}

/** A function from places in characters to places in JavaScript's text. */
function offsets(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (place) => place;
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (place) => starts[place] ?? at;
}
