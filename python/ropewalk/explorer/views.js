// Controls and views, and what a notebook calls: goes on from figures.js in the same module.

// Controls: each sets a trait of the model, and follows it. A saved page has no Python to ask, and
// its model says which traits it can answer, and with which values.

function control(model, trait, text, input, read, write) {
  input.disabled = model.answers ? !model.answers(trait) : false;
  const follow = () => write(model.get(trait));
  input.addEventListener("input", () => {
    const value = read();
    if (Number.isNaN(value)) return;
    model.set(trait, value);
  });
  model.on(`change:${trait}`, follow);
  follow();
  return element("label", {}, element("span", {}, speaker(model)(text)), input);
}

function checkbox(model, trait, text) {
  const input = element("input", { type: "checkbox" });
  const write = (value) => {
    input.checked = value;
  };
  return control(model, trait, text, input, () => input.checked, write);
}

function select(model, trait, text, options) {
  const offered = options.filter((o) => !model.answers || model.answers(trait, o));
  const say = speaker(model);
  const input = element("select", {}, ...offered.map((o) => element("option", { value: o }, say(o))));
  const write = (value) => {
    input.value = value;
  };
  return control(model, trait, text, input, () => input.value, write);
}

function slider(model, trait, text, { min, max, step, logarithmic = false }) {
  const input = element("input", { type: "range", min, max, step });
  const shown = element("output", { "aria-live": "off" }); // the slider says it too
  const read = () =>
    logarithmic ? Number((10 ** Number(input.value)).toPrecision(2)) : Number(input.value);
  const write = (value) => {
    input.value = logarithmic ? Math.log10(value) : value;
    shown.textContent = number(value);
    input.setAttribute("aria-valuetext", number(value));
  };
  const whole = control(model, trait, text, input, read, write);
  whole.append(shown);
  return whole;
}

// An integer; left empty, it is none where that is allowed.
function integer(model, trait, text, attributes, emptyAllowed) {
  const input = element("input", { type: "number", step: 1, ...attributes });
  const read = () => {
    if (input.value === "") return emptyAllowed && !input.validity.badInput ? null : NaN;
    return input.validity.valid ? Number(input.value) : NaN;
  };
  const write = (value) => {
    if (document.activeElement !== input) input.value = value ?? "";
  };
  input.addEventListener("blur", () => write(model.get(trait))); // not what was refused
  return control(model, trait, text, input, read, write);
}

// All heads, small, and which of them is shown. The tab key reaches one, arrow keys the rest.
class Heads {
  constructor(model, say) {
    this.model = model;
    this.buttons = model.get("heads").map((name, head) => {
      const button = element("button", { type: "button" }, element("canvas"), name);
      button.addEventListener("click", () => model.set("head", head));
      return button;
    });
    const group = { class: "heads", role: "group", "aria-label": say("heads") };
    this.strip = element("div", group, ...this.buttons);
    this.strip.addEventListener("keydown", (event) => this.step(event));
  }

  draw(logarithmic) {
    const small = unpacked(this.model.get("thumbnails"));
    const reach = small.values.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0) || 1;
    this.buttons.forEach((button, head) => {
      button.firstChild.replaceWith(painted(row(small, head), { reach, logarithmic }, 64));
    });
  }

  choose(head) {
    if (head === this.head) return;
    this.head = head;
    this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === head));
    this.reach(head);
    if (this.strip.isConnected) this.reveal();
    else requestAnimationFrame(() => this.reveal()); // by then the page has laid it out
  }

  reveal() {
    const pair = [this.strip, this.buttons[this.head]];
    const [outer, inner] = pair.map((node) => node.getBoundingClientRect());
    const above = Math.min(0, inner.top - outer.top);
    this.strip.scrollTop += above || Math.max(0, inner.bottom - outer.bottom);
  }

  reach(head) {
    this.buttons.forEach((button, i) => button.setAttribute("tabindex", i === head ? 0 : -1));
  }

  step(event) {
    const [at, last] = [this.buttons.indexOf(event.target), this.buttons.length - 1];
    const [back, on] = [Math.max(0, at - 1), Math.min(last, at + 1)];
    const arrows = { ArrowUp: back, ArrowLeft: back, ArrowDown: on, ArrowRight: on };
    const ways = { ...arrows, Home: 0, End: last };
    if (!(event.key in ways) || event.altKey || event.ctrlKey || event.metaKey) return;
    taken(event);
    this.reach(ways[event.key]);
    this.buttons[ways[event.key]].focus();
  }
}

// Views: each returns its controls, its figures, and how to draw a picture.

function attentionView(model, say) {
  const tokens = model.get("tokens").map(visible);
  const keys = model.get("key_tokens").map(visible);
  const readout = element("p", { class: "readout", "aria-live": "polite", id: id() });
  const polygons = new Polygons(say("Values and outputs of attention"), say);
  let stage; // of the numbers that are drawn: the model's may be ahead of them
  let weights; // of the polygon
  let logarithmic = false;
  const map = new HeatMap(say("Attention"), say, readout, (query, column) => {
    const across =
      stage === "output" ? say("feature {}", column) : say("key {} “{}”", column, keys[column]);
    const found = [say(stage), number(map.value)];
    readout.textContent = say("query {} “{}” · {} · {} {}", query, tokens[query], across, ...found);
    if (weights) polygons.mark(query, row(weights, query).values);
  });
  const names = model.get("heads");
  const heads = new Heads(model, say);
  const drawHeads = () => heads.draw(logarithmic);
  const draw = () => {
    const picture = model.get("picture");
    stage = picture.stage;
    if (picture.plane) {
      const plane = { tokens, keyTokens: keys };
      const { weights: drawn, ...polygon } = picture.plane;
      weights = unpacked(drawn ?? picture.map);
      for (const name in polygon) plane[name] = points(unpacked(polygon[name]));
      polygons.show(plane);
    }
    heads.choose(picture.head);
    const values = unpacked(picture.map);
    const features = Array.from({ length: values.shape[1] }, (_, i) => String(i));
    map.show({
      values,
      rows: tokens,
      columns: stage === "output" ? features : keys,
      names: [say("query"), say(stage === "output" ? "feature" : "key")],
      scale: { reach: picture.reach, centred: stage !== "weights", logarithmic },
    });
    const isOfWeights = stage === "weights"; // a scale around zero has no logarithm
    colouring.parentElement.style.display = isOfWeights ? "" : "none";
  };
  const caption = () => {
    const { head, stage, causal, left, right, masked, temperature } = model.get("picture");
    const isLogarithmic = logarithmic && stage === "weights";
    return [
      ...(names.length > 1 ? [names[head]] : []),
      say(stage),
      ...(causal ? [say("causal")] : []),
      ...(left === null ? [] : [`${say("window: before")} ${left}`]),
      ...(right === null ? [] : [`${say("window: after")} ${right}`]),
      ...(masked ? [say("mask")] : []),
      ...(temperature === 1 ? [] : [`${say("temperature")} ${number(temperature)}`]),
      ...(isLogarithmic ? [say("logarithmic colours")] : []),
    ].join(" · ");
  };
  const colouring = element("input", { type: "checkbox" });
  colouring.addEventListener("input", () => {
    logarithmic = colouring.checked;
    drawHeads();
    draw();
  });
  const controls = [
    element("label", {}, say("logarithmic colours"), colouring),
    select(model, "stage", "stage", model.get("stages")),
    slider(model, "temperature", "temperature", { min: -1, max: 1, step: 0.02, logarithmic: true }),
  ];
  if (model.get("placed")) {
    const side = { min: 0, max: 2 ** 53 };
    controls.push(
      checkbox(model, "causal", "causal"),
      integer(model, "left", "window: before", side, true),
      integer(model, "right", "after", { ...side, "aria-label": say("window: after") }, true),
    );
  }
  if (model.get("maskable")) controls.push(checkbox(model, "masked", "mask"));
  const figures = [map.svg];
  if (model.get("picture").plane) figures.push(polygons.svg);
  drawHeads();
  model.on("change:thumbnails", drawHeads);
  return { controls, before: [heads.strip], figures, after: [readout], draw, caption };
}

function encodingView(model, say) {
  const rows = model.get("rows");
  const readout = element("p", { class: "readout", "aria-live": "polite", id: id() });
  const wave = new Curves(say("Wave of a dimension"));
  const clocks = new Clocks(say("Hands of a position"), say);
  const places = model.get("places") && unpacked(model.get("places")).values;
  let table;
  let wavelengths;
  const map = new HeatMap(say("Encoding"), say, readout, (position, dimension) => {
    const dim = table.shape[1];
    const column = rows.map((_, i) => table.values[i * dim + dimension]);
    const encoded = row(table, position).values;
    const pair = Math.floor(dimension / 2);
    const kind = dimension % 2 ? "cos" : "sin";
    const name = say("dimension {} ({})", dimension + 1, kind); // from 1, as figures count them
    wave.show({
      lines: [column],
      names: [say("{}, wavelength {}", name, number(wavelengths[pair]))],
      places,
      ends: [rows[0], rows[rows.length - 1]],
      reach: 1,
    });
    wave.mark(position);
    clocks.show({
      hands: [
        Array.from({ length: dim / 2 }, (_, i) => [encoded[2 * i + 1], encoded[2 * i]]),
      ],
      title: say("hands of position {}", rows[position]),
      wavelengths,
      chosen: pair,
    });
    readout.textContent = say("position {} · {} · {}", rows[position], name, number(map.value));
  });
  const draw = () => {
    const picture = model.get("picture");
    table = unpacked(picture.table);
    wavelengths = unpacked(picture.wavelengths).values;
    map.show({
      values: table,
      rows,
      columns: Array.from({ length: table.shape[1] }, (_, i) => String(i + 1)),
      names: [say("position"), say("dimension")],
      scale: { reach: 1, centred: true },
      wide: true,
    });
  };
  const caption = () => {
    const { schedule, base, factor } = model.get("picture");
    const stretched = schedule === "standard" ? [] : [`${say("factor")} ${number(factor)}`];
    return [say(schedule), `${say("base")} ${number(base)}`, ...stretched].join(" · ");
  };
  const controls = [
    slider(model, "base", "base", { min: 1, max: 7, step: 0.05, logarithmic: true }),
    slider(model, "dim", "dim", { min: 4, max: 256, step: 2 }),
    select(model, "schedule", "schedule", ["standard", "linear", "ntk", "yarn"]),
    slider(model, "factor", "factor", { min: 0, max: 2, step: 0.02, logarithmic: true }),
  ];
  const figures = [map.svg, wave.svg, clocks.svg];
  return { controls, before: [], figures, after: [readout], draw, caption };
}

function rotationView(model, say) {
  const readout = element("p", { class: "readout", "aria-live": "polite", id: id() });
  const clocks = new Clocks(say("Pairs of the query"), say);
  const scores = new Curves(say("Score against distance"));
  const distance = element("input", { type: "range", min: 0, step: 1, value: 0 });
  const shown = element("output", { "aria-live": "off" });
  const play = element("button", { type: "button", "aria-pressed": false }, say("play"));
  let parts;
  let timer;
  const move = () => {
    const at = Number(distance.value);
    const [exact, rounded] = [parts.scores.values, parts.rounded_scores.values];
    clocks.show({
      hands: [points(row(parts.exact, at)), points(row(parts.rounded, at))],
      title: say("pairs of the query at position {}", parts.start + at),
      wavelengths: parts.wavelengths.values,
    });
    scores.mark(at);
    shown.textContent = String(at);
    const found = [exact, rounded].map((of) => number(of[at]));
    readout.textContent = say("distance {} · score {} · with float32 angles {}", at, ...found);
  };
  const draw = () => {
    const { start, ...arrays } = model.get("picture");
    parts = { start };
    for (const name in arrays) parts[name] = unpacked(arrays[name]);
    const lines = [parts.scores.values, parts.rounded_scores.values];
    const [last, largest] = [lines[0].length - 1, (a, b) => Math.max(a, Math.abs(b))];
    distance.max = last;
    scores.show({
      lines,
      places: lines[0].map((_, i) => i / last),
      names: [say("score, exact angles"), say("score, float32 angles")],
      ends: [say("distance {}", 0), String(last)],
      reach: lines.reduce((reach, line) => line.reduce(largest, reach), 0) || 1,
    });
    move();
  };
  const stop = () => {
    clearInterval(timer);
    play.setAttribute("aria-pressed", false);
    readout.setAttribute("aria-live", "polite");
  };
  distance.addEventListener("input", move);
  play.addEventListener("click", () => {
    if (play.getAttribute("aria-pressed") === "true") return stop();
    play.setAttribute("aria-pressed", true);
    readout.setAttribute("aria-live", "off"); // it changes faster than it can be said
    timer = setInterval(() => {
      distance.value = (Number(distance.value) + 1) % parts.exact.shape[0];
      move();
    }, 80);
  });
  const field = { min: -(2 ** 52), max: 2 ** 52, class: "position" };
  const controls = [
    element("label", {}, element("span", {}, say("distance")), distance, shown),
    play,
    integer(model, "start", "first position", field, false),
  ];
  return { controls, before: [], figures: [scores.svg, clocks.svg], after: [readout], draw, stop };
}

const VIEWS = { attention: attentionView, encoding: encodingView, rotation: rotationView };

// Pictures

// Returns all figures as one SVG text, placed as they are on the screen, in the colours of now,
// under lines of text, the first of which is the title.
function pictureOf(root, lines, svgs) {
  const area = svgs[0].parentElement.getBoundingClientRect();
  const head = 16 + 18 * lines.length;
  const size = { width: Math.ceil(area.width), height: Math.ceil(area.height) + head };
  const whole = figure(lines.join(" · "), size);
  whole.append(
    shape("rect", { ...size, fill: "var(--ground)" }),
    label(8, 22, lines[0], { "font-size": 16, "font-weight": 600 }),
    ...lines.slice(1).map((line, i) => label(8, 42 + 18 * i, line)),
  );
  for (const svg of svgs) {
    const { left, top, width, height } = svg.getBoundingClientRect();
    const copy = svg.cloneNode(true);
    const ofThePage = ["style", "class", "tabindex", "aria-describedby"];
    ofThePage.forEach((name) => copy.removeAttribute(name));
    filled(copy, { x: left - area.left, y: top - area.top + head, width, height }, []);
    whole.append(copy);
  }
  const probe = element("span");
  root.append(probe);
  for (const { attributes } of whole.querySelectorAll("*")) {
    for (const attribute of attributes) {
      if (!attribute.value.startsWith("var(")) continue;
      probe.style.color = attribute.value;
      attribute.value = getComputedStyle(probe).color;
    }
  }
  probe.remove();
  return { text: new XMLSerializer().serializeToString(whole), ...size };
}

function download(href, name) {
  element("a", { href, download: name }).click();
}

function savers(root, lines, svgs, say) {
  const svgHref = (text) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  const asSvg = element("button", { type: "button" }, say("save SVG"));
  asSvg.addEventListener("click", () => {
    download(svgHref(pictureOf(root, lines(), svgs).text), "ropewalk.svg");
  });
  const asPng = element("button", { type: "button" }, say("save PNG"));
  asPng.addEventListener("click", async () => {
    const { text, width, height } = pictureOf(root, lines(), svgs);
    const image = element("img", { src: svgHref(text) });
    await image.decode();
    const canvas = element("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(canvas.toDataURL(), "ropewalk.png");
  });
  return [asSvg, asPng];
}

// The traits of a model, and what listens to them until `close`.
function traits(model) {
  const listeners = [];
  return {
    answers: model.answers,
    get: (name) => model.get(name),
    set: (name, value) => {
      model.set(name, value);
      model.save_changes();
    },
    on: (event, heard) => {
      model.on(event, heard);
      listeners.push([event, heard]);
    },
    close: () => listeners.forEach((listener) => model.off(...listener)),
  };
}

// What a notebook calls, and a saved page too.
function render({ model: given, el }) {
  const model = traits(given);
  const say = speaker(model);
  const view = VIEWS[model.get("view")](model, say);
  const title = visible(model.get("title"));
  const named = { "aria-label": title, lang: model.get("lang") };
  const root = element("section", { class: "ropewalk", ...named });
  const controls = element("div", { class: "controls" }, ...view.controls);
  const figures = element("div", { class: "figures" }, ...view.figures);
  root.append(element("h2", {}, title), ...view.before, controls, figures, ...view.after);
  const lines = () => [title, ...(view.caption ? [view.caption()] : [])];
  controls.append(...savers(root, lines, view.figures, say));
  controls.addEventListener("keydown", (event) => event.stopPropagation()); // the notebook's keys
  if (model.answers) {
    const note = say("A saved page: what is greyed out needs Python.");
    root.append(element("p", { class: "note" }, note));
  }
  el.append(root);
  view.draw();
  model.on("change:picture", view.draw);
  return () => {
    model.close();
    view.stop?.();
  };
}

// Renders what Python saved in the page, with a model that answers from it.
function showSaved(page) {
  const [inBase64, rest] = page.querySelectorAll('script[type="application/json"]');
  const arrays = JSON.parse(inBase64.textContent).map((letters) => {
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    return new DataView(bytes.buffer);
  });
  const { state, answered, answers } = JSON.parse(rest.textContent, (_, part) =>
    part?.shape ? { shape: part.shape, values: arrays[part.values] } : part,
  );
  const key = (values) => JSON.stringify(values);
  const pictures = new Map(answers.map(([values, picture]) => [key(values), picture]));
  const listeners = {};
  const model = {
    answers: (trait, value) => {
      const at = answered.indexOf(trait);
      return at >= 0 && (value === undefined || answers.some(([values]) => values[at] === value));
    },
    get: (name) =>
      name === "picture" ? pictures.get(key(answered.map((trait) => state[trait]))) : state[name],
    set: (name, value) => {
      state[name] = value;
    },
    on: (event, heard) => (listeners[event] ??= []).push(heard),
    off: () => {},
    save_changes: () => {
      for (const name of [...answered, "picture"]) {
        (listeners[`change:${name}`] ?? []).forEach((heard) => heard());
      }
    },
  };
  render({ model, el: page.querySelector("main") });
}

export default { render };
