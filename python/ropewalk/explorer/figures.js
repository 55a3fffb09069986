// Draws what Python computed. Values arrive as arrays; texts become text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, 'Noto Sans CJK JP', 'Hiragino Sans', 'Yu Gothic', sans-serif";
const COLOURS = ["var(--first)", "var(--second)"]; // of two curves, or hands of a clock
const CLOCKS = 128; // most of them that are drawn

// Nine colours of cividis (Nunez, Anderson and Renslow, 2018) and of ColorBrewer's red and blue,
// between which the rest is interpolated.
const FROM_ZERO = colours(
  "00224e 1a386f 434e6c 61656f 7d7c78 9b9476 bcae6c dec958 fee838",
);
const AROUND_ZERO = colours(
  "053061 2a71b2 6bacd1 c2ddec f7f6f6 fbccb4 e48066 ba2832 67001f",
);
const NOT_FINITE = pixel([153, 153, 153]);
const DECADES = 4; // of a logarithmic scale

function pixel([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0; // as image data has it
}

function colours(anchors) {
  const rgb = anchors
    .split(" ")
    .map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (rgb.length - 1);
    const below = Math.min(Math.floor(place), rgb.length - 2);
    const part = place - below;
    return pixel(rgb[below].map((c, k) => Math.round(c + part * (rgb[below + 1][k] - c))));
  });
}

// Elements

function element(tag, attributes = {}, ...inside) {
  return filled(document.createElement(tag), attributes, inside);
}

function shape(tag, attributes = {}, ...inside) {
  return filled(document.createElementNS(SVG, tag), attributes, inside);
}

function filled(node, attributes, inside) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...inside);
  return node;
}

function label(x, y, text, attributes = {}) {
  return shape("text", { x, y, fill: "var(--text)", "font-size": 12, ...attributes }, text);
}

function figure(name, attributes = {}) {
  return shape("svg", { "aria-label": name, role: "img", "font-family": FONT, ...attributes });
}

// Of an element; the page may hold many views, each with a module of its own.
function id() {
  return `ropewalk-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
}

// A function that says an English text in the language of the model, with values for its {}.
function speaker(model) {
  const words = model.get("words");
  return (text, ...values) => (words[text] ?? text).replace(/{}/g, () => values.shift());
}

// A text whose every character can be seen. Those that XML has not, that turn round what follows
// them, or that take no room are named; in place of control characters stand their pictures.
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u00ad\u200b\u2060\ufeff\ufffe\uffff]/gu;

function visible(text) {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

// Arrays

function unpacked({ shape, values }) {
  const bytes = values.buffer.slice(values.byteOffset, values.byteOffset + values.byteLength);
  const isDouble = bytes.byteLength === 8 * shape.reduce((a, b) => a * b, 1);
  return { shape, values: new (isDouble ? Float64Array : Float32Array)(bytes) };
}

function row({ shape, values }, index) {
  const length = shape.slice(1).reduce((a, b) => a * b, 1);
  return { shape: shape.slice(1), values: values.subarray(index * length, (index + 1) * length) };
}

function points({ shape, values }) {
  return Array.from({ length: shape[0] }, (_, i) => [values[2 * i], values[2 * i + 1]]);
}

function number(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const short = value.toPrecision(5);
  const rounded = Number(short); // infinite of the largest numbers
  return String(Number.isFinite(rounded) ? rounded : short).replaceAll("-", "−");
}

// A map of values

// A matrix of no more rows and columns than `most`: where several cells come to share one, it has
// the largest of weights, which may be a peak, and of others the mean of those that are not hidden.
function reduced(matrix, most, centred) {
  const [rows, columns] = matrix.shape;
  const [down, across] = matrix.shape.map((length, way) => Math.min(length, most[way]));
  if (down === rows && across === columns) return matrix;
  const values = new matrix.values.constructor(down * across);
  const edge = (index, count, length) => Math.floor((index * length) / count);
  for (let i = 0; i < down; i++) {
    for (let j = 0; j < across; j++) {
      let [largest, mean, seen] = [-Infinity, 0, 0];
      for (let row = edge(i, down, rows); row < edge(i + 1, down, rows); row++) {
        for (let c = edge(j, across, columns); c < edge(j + 1, across, columns); c++) {
          const value = matrix.values[row * columns + c];
          largest = Math.max(largest, value); // NaN where one of them is
          if (value === -Infinity) continue;
          seen++;
          mean += value / seen - mean / seen; // a sum, or a difference, could be infinite
        }
      }
      values[i * across + j] = centred && seen ? mean : largest;
    }
  }
  return { shape: [down, across], values };
}

// The value of cells that are left out.
function hidden(centred) {
  return centred ? -Infinity : 0;
}

// Paints a matrix, one pixel a cell and at least `side` pixels large, so that cells keep their
// edges; what is hidden is left transparent.
function painted({ shape: [rows, columns], values }, { reach, centred, logarithmic }, side) {
  const table = centred ? AROUND_ZERO : FROM_ZERO;
  const place = (value) => {
    if (centred) return (value / reach + 1) / 2;
    return logarithmic ? 1 + Math.log10(value / reach) / DECADES : value / reach;
  };
  const small = element("canvas", { width: columns, height: rows });
  const context = small.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  values.forEach((value, i) => {
    if (value === hidden(centred)) return;
    pixels[i] = Number.isFinite(value)
      ? table[Math.max(0, Math.min(255, Math.round(place(value) * 255)))]
      : NOT_FINITE;
  });
  context.putImageData(image, 0, 0);
  const scale = Math.ceil(side / Math.max(rows, columns));
  const large = element("canvas", { width: columns * scale, height: rows * scale });
  const copy = large.getContext("2d");
  copy.imageSmoothingEnabled = false;
  copy.drawImage(small, 0, 0, large.width, large.height);
  return large;
}

// A heat map with a cursor, which the pointer and the arrow keys move. `moved(row, column)` is
// called with the cell, which is kept when the pointer leaves.
class HeatMap {
  constructor(name, say, readout, moved) {
    Object.assign(this, { say, moved });
    this.wanted = [0, 0]; // a cell, which a map of another size may not have
    this.hatch = id();
    this.svg = figure(name, { tabindex: 0, role: "application", class: "map" });
    this.svg.setAttribute("aria-roledescription", say("heat map, arrow keys move"));
    this.svg.setAttribute("aria-describedby", readout.id);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("keydown", (event) => this.step(event));
  }

  // What is drawn: `values`, the texts of `rows` and `columns`, names of both axes, and how
  // values become colours. Cells are square unless the map is `wide`.
  show({ values, rows, columns, names, scale, wide = false }) {
    const [down, across] = values.shape;
    const size = 440;
    const cell = Math.min(48, size / Math.max(down, across));
    this.width = wide ? 560 : Math.max(across * cell, 24);
    this.height = wide ? 320 : Math.max(down * cell, 24);
    Object.assign(this, { values, rows, columns });
    const high = this.height / down;
    const broad = this.width / across;
    const rowLabels = ticks(rows, 13 / high);
    const columnLabels = ticks(columns, 13 / broad);
    const left = 26 + longest(rowLabels, 14);
    const labelWidth = longest(columnLabels, 0);
    const upright = labelWidth > broad * roundStep(13 / broad) - 4;
    const top = 26 + (upright ? labelWidth : 14);
    this.corner = [left, top];
    const middle = top + this.height / 2;
    const below = Math.ceil(Math.max(top + this.height, middle + breadth(names[0]) / 2) + 8);
    const pixels = [this.height, this.width].map((side) => Math.floor(side * devicePixelRatio));
    const drawn = reduced(values, pixels, scale.centred);
    const note = this.explained(drawn.values, scale);
    const outer = [
      Math.max(left + this.width + 86, Math.ceil(breadth(note)) + 12),
      below + (note ? 18 : 0),
    ];
    this.svg.setAttribute("viewBox", `0 0 ${outer.join(" ")}`);
    this.svg.style.flexBasis = `${outer[0]}px`;
    const texts = shape("g");
    for (const [i, text] of rowLabels) {
      const y = top + (i + 0.5) * high + 4;
      texts.append(label(left - 5, y, text, { "text-anchor": "end" }));
    }
    for (const [i, text] of columnLabels) {
      const x = left + (i + 0.5) * broad;
      const turned = { transform: `rotate(-90 ${x + 4} ${top - 5})` };
      texts.append(
        upright
          ? label(x + 4, top - 5, text, turned)
          : label(x, top - 5, text, { "text-anchor": "middle" }),
      );
    }
    texts.append(
      label(left + this.width / 2, 14, names[1], { "text-anchor": "middle", "font-weight": 600 }),
      label(12, middle, names[0], {
        "text-anchor": "middle",
        "font-weight": 600,
        transform: `rotate(-90 12 ${middle})`,
      }),
      ...(note ? [label(6, below + 10, note, { fill: "var(--faint)" })] : []),
    );
    const place = { x: left, y: top, width: this.width, height: this.height };
    const hatch = shape(
      "pattern",
      { id: this.hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
      shape("path", { d: "M-1 1L1 -1M0 6L6 0M5 7L7 5", stroke: "var(--faint)", fill: "none" }),
    );
    this.band = shape("g", { "pointer-events": "none" });
    this.svg.replaceChildren(
      shape("defs", {}, hatch),
      shape("rect", { ...place, fill: "var(--panel)" }),
      shape("rect", { ...place, fill: `url(#${this.hatch})` }),
      shape("image", {
        ...place,
        preserveAspectRatio: "none",
        style: `image-rendering: ${drawn === values ? "pixelated" : "auto"}`,
        href: painted(drawn, scale, 480).toDataURL(),
      }),
      texts,
      this.band,
      ...colourBar(left + this.width + 16, top, this.height, scale),
    );
    this.mark();
  }

  // What a colour that the scale has not means, where there is one.
  explained(values, { centred }) {
    const out = hidden(centred);
    const hatched = centred ? this.say("hatched: hidden") : this.say("hatched: hidden, or 0");
    const grey = this.say("grey: not finite");
    return [
      ...(values.includes(out) ? [hatched] : []),
      ...(values.some((v) => v !== out && !Number.isFinite(v)) ? [grey] : []),
    ].join(" · ");
  }

  // The cell of this map that is next to one.
  nearest(cell) {
    return cell.map((at, way) => Math.max(0, Math.min(this.values.shape[way] - 1, at)));
  }

  move(down, across) {
    this.wanted = this.nearest([down, across]);
    if (this.wanted.some((at, way) => at !== this.cell[way])) this.mark();
  }

  mark() {
    const [rows, columns] = this.values.shape;
    this.cell = this.nearest(this.wanted);
    const high = this.height / rows;
    const broad = this.width / columns;
    const [x, y] = [this.corner[0] + this.cell[1] * broad, this.corner[1] + this.cell[0] * high];
    const frame = (attributes) =>
      shape("rect", { fill: "none", stroke: "var(--mark)", "stroke-width": 1.5, ...attributes });
    this.band.replaceChildren(
      frame({ x: this.corner[0], y, width: this.width, height: high }),
      frame({ x, y: this.corner[1], width: broad, height: this.height }),
      frame({ x, y, width: broad, height: high, "stroke-width": 3 }),
    );
    this.moved(...this.cell);
  }

  point(event) {
    const { a, d, e, f } = this.svg.getScreenCTM();
    const x = (event.clientX - e) / a - this.corner[0];
    const y = (event.clientY - f) / d - this.corner[1];
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return;
    const [rows, columns] = this.values.shape;
    this.move(Math.floor((y / this.height) * rows), Math.floor((x / this.width) * columns));
  }

  step(event) {
    const corners = { Home: [-Infinity, -Infinity], End: [Infinity, Infinity] };
    const steps = {
      ...{ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] },
      ...{ PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] },
    };
    const ways = event.ctrlKey ? corners : steps;
    if (!(event.key in ways) || event.altKey || event.metaKey) return;
    taken(event);
    this.move(...this.cell.map((at, way) => at + ways[event.key][way]));
  }

  get value() {
    return this.values.values[this.cell[0] * this.values.shape[1] + this.cell[1]];
  }
}

// Keeps an event from the page; a notebook would go to another of its cells.
function taken(event) {
  event.preventDefault();
  event.stopPropagation();
}

const ruler = element("canvas").getContext("2d");
ruler.font = `12px ${FONT}`;
const LONGEST = 112; // label on an axis (pixels)

function breadth(text) {
  return ruler.measureText(text).width;
}

function short(text) {
  if (breadth(text) <= LONGEST) return text;
  const letters = Array.from(text).slice(0, LONGEST);
  while (breadth(`${letters.join("")}…`) > LONGEST) letters.pop();
  return `${letters.join("")}…`;
}

// The labels of an axis that are drawn, each with its index: `least` apart.
function ticks(texts, least) {
  const step = roundStep(least);
  const count = Math.ceil(texts.length / step);
  return Array.from({ length: count }, (_, i) => [i * step, short(texts[i * step])]);
}

// The width that labels need.
function longest(labels, least) {
  return Math.ceil(labels.reduce((most, [, text]) => Math.max(most, breadth(text)), least));
}

// The smallest of 1, 2, 5, 10, 20 .. that is not below `least`.
function roundStep(least) {
  let step = 1;
  for (let i = 0; step < least; i++) step *= i % 3 === 1 ? 2.5 : 2;
  return step;
}

// The bar that says which colour means what.
function colourBar(x, y, height, scale) {
  const { reach, centred, logarithmic } = scale;
  const at = (place) => {
    if (centred) return reach * (2 * place - 1);
    return reach * (logarithmic ? 10 ** (DECADES * (place - 1)) : place);
  };
  const values = Array.from({ length: 64 }, (_, i) => at((63.5 - i) / 64));
  const bar = painted({ shape: [64, 1], values }, scale, 64).toDataURL();
  return [
    shape("image", { x, y, width: 12, height, preserveAspectRatio: "none", href: bar }),
    ...(height < 45 ? [1, 0] : [1, 0.5, 0]).map((place) =>
      label(x + 16, y + 8 + (1 - place) * (height - 8), number(at(place))),
    ),
  ];
}

const FRAME = [68, 30, 420, 150]; // of curves: left, top, width, height
const VERTICES = 4096; // most of a curve

// Indices of a curve's vertices: of more values than that, the least and the largest of each part.
function vertices(values) {
  if (values.length <= VERTICES) return Array.from(values.keys());
  return Array.from({ length: VERTICES / 2 }, (_, part) => {
    const [begin, end] = [part, part + 1].map((p) =>
      Math.floor((p * values.length * 2) / VERTICES),
    );
    let [least, largest] = [begin, begin];
    for (let i = begin; i < end; i++) {
      if (values[i] < values[least]) least = i;
      if (values[i] > values[largest]) largest = i;
    }
    return [least, largest].sort((a, b) => a - b);
  }).flat();
}

// Curves over positions, with a mark at one of them.
class Curves {
  constructor(name) {
    this.svg = figure(name);
    this.band = shape("g");
  }

  // `lines` are arrays of one length; the second is dashed. `places` of their values, from 0 to 1,
  // ascend; without them values are dots, one beside the other. `ends` are texts of the first and
  // the last position.
  show({ lines, places, names, ends, reach }) {
    const [left, top, width, height] = FRAME;
    const last = Math.max(1, lines[0].length - 1);
    this.x = (i) => left + width * (places ? places[i] : i / last);
    this.y = (value) => top + (height * (1 - value / reach)) / 2;
    this.lines = lines;
    const heights = [reach, 0, -reach].map((value) =>
      label(left - 6, this.y(value) + 4, number(value), { "text-anchor": "end" }),
    );
    this.svg.setAttribute("viewBox", `0 0 ${left + width + 20} ${top + height + 30}`);
    this.svg.style.flexBasis = `${left + width + 20}px`;
    this.svg.replaceChildren(
      shape("rect", { x: left, y: top, width, height, fill: "var(--panel)" }),
      shape("path", { d: `M${left} ${this.y(0)}h${width}`, stroke: "var(--faint)" }),
      ...heights,
      label(left, top + height + 18, ends[0]),
      label(left + width, top + height + 18, ends[1], { "text-anchor": "end" }),
    );
    lines.forEach((line, i) => {
      const colour = COLOURS[i];
      const style = { fill: "none", stroke: colour, class: "curve" };
      const all = vertices(line).map((j) => `${this.x(j)} ${this.y(line[j])}`);
      const dash = i ? { "stroke-dasharray": "5 3" } : {};
      const dots = { "stroke-width": 4, "stroke-linecap": "round" };
      this.svg.append(
        places
          ? shape("path", { ...style, "stroke-width": 1.8, ...dash, d: `M${all.join("L")}` })
          : shape("path", { ...style, ...dots, d: all.map((at) => `M${at}h0`).join("") }),
        label(left + 190 * i, 18, names[i], { fill: colour, "font-weight": 600 }),
      );
    });
    this.svg.append(this.band);
  }

  mark(at) {
    const x = this.x(at);
    const [, top, , height] = FRAME;
    this.band.replaceChildren(
      shape("path", { d: `M${x} ${top}v${height}`, stroke: "var(--mark)", "stroke-width": 2 }),
    );
    this.lines.forEach((line, i) => {
      if (!Number.isFinite(line[at])) return;
      this.band.append(shape("circle", { cx: x, cy: this.y(line[at]), r: 4, fill: COLOURS[i] }));
    });
  }
}

// Pairs as hands on the faces of clocks. A hand is a point, drawn from the middle; counted
// counterclockwise from the right, as angles are.
class Clocks {
  constructor(name, say) {
    this.svg = figure(name);
    this.say = say;
  }

  show({ hands, title, wavelengths, chosen = -1 }) {
    const shown = Math.min(CLOCKS, hands[0].length);
    const columns = Math.min(16, Math.ceil(Math.sqrt(shown * 2)));
    const [step, radius, top] = [40, 16, 26];
    const rows = Math.ceil(shown / columns);
    const width = Math.max(columns * step, 380);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${top + rows * step + 4}`);
    this.svg.style.flexBasis = `${width}px`;
    const all = hands[0].length === shown;
    const head = all ? title : this.say("{}, pairs 0 to {}", title, shown - 1);
    this.svg.replaceChildren(label(4, 16, head, { "font-weight": 600 }));
    for (let pair = 0; pair < shown; pair++) {
      const x = ((pair % columns) + 0.5) * step;
      const y = top + (Math.floor(pair / columns) + 0.5) * step;
      const turn = number(wavelengths[pair]);
      const hand = ([right, up], i) =>
        shape("path", {
          d: `M${x} ${y}l${radius * right} ${-radius * up}`,
          stroke: COLOURS[i],
          "stroke-width": i ? 2 : 2.5,
          "stroke-linecap": "round",
          class: "hand",
          ...(i ? { "stroke-dasharray": "3 3" } : {}),
        });
      this.svg.append(
        shape(
          "g",
          {},
          shape("title", {}, this.say("pair {}: a turn in {} positions", pair, turn)),
          shape("circle", {
            cx: x,
            cy: y,
            r: radius,
            fill: "var(--panel)",
            stroke: pair === chosen ? "var(--mark)" : "var(--faint)",
            "stroke-width": pair === chosen ? 3 : 1,
          }),
          ...hands.map((of, i) => hand(of[pair], i)),
        ),
      );
    }
  }
}

const LINES = 256; // most of them that are drawn, those of the largest weights

// The values and the outputs as points of the plane, each with the hull around it, and the weights
// of one query as lines between them.
class Polygons {
  constructor(name, say) {
    this.svg = figure(name);
    this.say = say;
    this.title = label(80, 18, "", { fill: "var(--second)", "font-weight": 600 });
    this.lines = shape("g");
    this.large = shape("circle", { r: 6, fill: "var(--second)" });
  }

  show({ values, outputs, value_hull: valueHull, output_hull: outputHull, tokens, keyTokens }) {
    const all = [...values, ...outputs];
    const [low, high] = [0, 1].map((way) =>
      [Math.min, Math.max].map((end) => all.reduce((e, p) => end(e, p[way]), all[0][way])),
    );
    const size = 330;
    const reach = Math.max(low[1] - low[0], high[1] - high[0]) || 1;
    const x = ([a]) => 35 + size / 2 + ((a - (low[0] + low[1]) / 2) / reach) * size;
    const y = ([, b]) => 60 + size / 2 - ((b - (high[0] + high[1]) / 2) / reach) * size;
    const hull = (corners, colour) =>
      shape("polygon", {
        points: corners.map((p) => `${x(p)},${y(p)}`).join(" "),
        fill: colour,
        "fill-opacity": 0.15,
        stroke: colour,
      });
    const dots = (of, colour, width) =>
      shape("path", {
        d: of.map((p) => `M${x(p)} ${y(p)}h0`).join(""),
        stroke: colour,
        "stroke-width": width,
        "stroke-linecap": "round",
        class: "dots",
      });
    const names = [];
    const boxes = [];
    const name = (p, token) => {
      const text = short(token);
      const leftwards = x(p) > 220; // from the middle on, or it would be cut
      const at = leftwards ? x(p) - 6 - breadth(text) : x(p) + 6;
      const box = [at, y(p) - 18, at + breadth(text), y(p) - 4];
      const meets = (other) =>
        [0, 1].every((way) => box[way] < other[way + 2] && other[way] < box[way + 2]);
      if (boxes.some(meets)) return;
      boxes.push(box);
      names.push(label(at, y(p) - 6, text, { class: "token" }));
    };
    if (values.length <= 24) values.forEach((p, key) => name(p, keyTokens[key]));
    Object.assign(this, { x, y, values, outputs, tokens });
    this.svg.setAttribute("viewBox", "0 0 440 430");
    this.svg.style.flexBasis = "440px";
    this.svg.replaceChildren(
      label(4, 18, this.say("values"), { fill: "var(--first)", "font-weight": 600 }),
      this.title,
      hull(valueHull, "var(--first)"),
      hull(outputHull, "var(--second)"),
      this.lines,
      dots(values, "var(--first)", 8),
      dots(outputs, "var(--second)", 6),
      this.large,
      ...names,
    );
  }

  mark(query, weights) {
    const [x, y] = [this.x, this.y].map((at) => at(this.outputs[query]));
    const heaviest = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]);
    const largest = weights[heaviest[0]] || 1;
    const lines = heaviest.slice(0, LINES).map((key) =>
      shape("path", {
        d: `M${x} ${y}L${this.x(this.values[key])} ${this.y(this.values[key])}`,
        stroke: "var(--second)",
        "stroke-width": (4 * weights[key]) / largest,
        class: "weight",
      }),
    );
    this.lines.replaceChildren(...lines);
    filled(this.large, { cx: x, cy: y }, []);
    this.title.textContent = this.say("outputs, that of query {} larger", short(this.tokens[query]));
  }
}
