// Tensors as heat maps: expected, got and difference side by side, on one scale.
{
  const SVG = "http://www.w3.org/2000/svg";
  // ColorBrewer's RdBu, which is told apart with every kind of colour vision: -1 to 1.
  const STOPS = [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]];
  const ROOM = 272, LARGEST = 36, LEFT = 40, TOP = 32, NUMBERS_FROM = 30;
  const NAMES = ["expected", "got", "difference"];

  const drawn = (name, attributes, text = "") => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const floats = (base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
  };
  const rgb = (ratio) => {
    const at = ((Math.max(-1, Math.min(1, ratio)) + 1) / 2) * (STOPS.length - 1);
    const low = Math.min(Math.floor(at), STOPS.length - 2);
    return STOPS[low].map((from, i) => Math.round(from + (at - low) * (STOPS[low + 1][i] - from)));
  };
  const long = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(5))) : special(x));
  const special = (x) => (Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞");
  const short = (x) => {
    if (!Number.isFinite(x)) return special(x);
    if (x === Math.round(x) && Math.abs(x) < 1000) return String(x);
    return Math.abs(x) < 10 ? x.toFixed(2).replace(/^-0\.00$/, "0.00") : Math.abs(x) < 1000 ? x.toFixed(0) : x.toExponential(0);
  };
  // Equal infinities differ by nothing.
  const minus = (got, expected) => (Object.is(got, expected) ? 0 : got - expected);
  const largest = (numbers) =>
    numbers.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0) || 1;

  class Picture {
    constructor(place, data) {
      this.axes = data.axes;
      this.shape = data.shape;
      const expected = floats(data.expected), got = floats(data.got);
      this.sides = [expected, got, got.map((x, i) => minus(x, expected[i]))];
      this.scale = largest(this.sides.flat());
      this.ownScale = largest(this.sides[2]);
      [this.rows, this.columns] = [1, 1, ...this.shape].slice(-2);
      this.leading = this.shape.slice(0, -2);
      const worst = this.worst();
      this.slice = Math.floor(worst / (this.rows * this.columns));
      this.cursor = worst % (this.rows * this.columns);
      this.magnified = false;
      this.build(place);
      this.draw();
    }

    worst() {
      let place = 0, most = -1;
      this.sides[2].forEach((x, i) => {
        const size = Number.isNaN(x) ? Infinity : Math.abs(x);
        if (size > most) [place, most] = [i, size];
      });
      return place;
    }

    build(place) {
      const controls = element("div", { class: "controls" });
      let stride = this.leading.reduce((a, b) => a * b, 1);
      this.leading.forEach((size, axis) => {
        stride /= size;
        if (size > 1) controls.append(this.slider(axis, size, stride));
      });
      if (this.ownScale < this.scale / 10) controls.append(this.magnifier());
      this.panels = element("div", {
        class: "panels", tabindex: 0, role: "group",
        "aria-label": "Expected, got and difference; the arrow keys move from value to value",
      });
      this.panels.addEventListener("keydown", (event) => this.moved(event));
      this.panels.addEventListener("pointermove", (event) => {
        const number = event.target.dataset.number;
        if (number !== undefined) this.point(Number(number));
      });
      this.readout = element("output", { class: "readout" });
      this.table = element("details", {}, element("summary", {}, "The values as a table"));
      this.table.addEventListener("toggle", () => this.fill());
      place.append(controls, this.panels, this.legend(), this.readout, this.table);
    }

    slider(axis, size, stride) {
      const input = element("input", { type: "range", min: 0, max: size - 1, step: 1 });
      input.value = Math.floor(this.slice / stride) % size;
      const shown = element("output");
      const tell = () => (shown.textContent = `${input.value} (0 to ${size - 1})`);
      tell();
      input.addEventListener("input", () => {
        const before = Math.floor(this.slice / stride) % size;
        this.slice += (Number(input.value) - before) * stride;
        tell();
        this.draw();
      });
      return element("label", {}, this.axes[axis], input, shown);
    }

    magnifier() {
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => {
        this.magnified = input.checked;
        this.draw();
      });
      return element("label", {}, input, "the difference on a scale of its own");
    }

    legend() {
      const bar = drawn("svg", { viewBox: "0 0 64 4", preserveAspectRatio: "none", "aria-hidden": true });
      for (let i = 0; i < 64; i++)
        bar.append(drawn("rect", { x: i, width: 1.1, height: 4, fill: `rgb(${rgb(i / 31.5 - 1)})` }));
      return element("p", { class: "legend" }, `−${long(this.scale)}`, bar, long(this.scale));
    }

    moved(event) {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      const row = Math.floor(this.cursor / this.columns) + step[0];
      const column = (this.cursor % this.columns) + step[1];
      if (row >= 0 && row < this.rows && column >= 0 && column < this.columns)
        this.point(row * this.columns + column);
    }

    at(side, number) {
      return this.sides[side][this.slice * this.rows * this.columns + number];
    }

    index(number) {
      const place = [Math.floor(number / this.columns), number % this.columns];
      const names = this.axes.slice(-2);
      return names.map((name, i) => `${name} ${place[place.length - names.length + i]}`).join(", ");
    }

    point(number) {
      this.cursor = number;
      const x = LEFT + (number % this.columns) * this.width;
      const y = TOP + Math.floor(number / this.columns) * this.height;
      for (const cursor of this.panels.querySelectorAll(".cursor")) {
        cursor.setAttribute("x", x);
        cursor.setAttribute("y", y);
      }
      const told = NAMES.map((name, side) => `${name} ${long(this.at(side, number))}`).join(", ");
      const where = this.index(number);
      this.readout.textContent = where ? `${where}: ${told}` : told;
    }

    draw() {
      this.width = Math.min(LARGEST, ROOM / this.columns);
      this.height = Math.min(LARGEST, ROOM / this.rows, Math.max(this.width, 10));
      this.panels.replaceChildren(...NAMES.map((name, side) => this.panel(name, side)));
      this.point(this.cursor);
      this.fill();
    }

    panel(name, side) {
      const width = LEFT + this.columns * this.width + 2, height = TOP + this.rows * this.height + 2;
      const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": true });
      const scale = side === 2 && this.magnified ? this.ownScale : this.scale;
      for (let number = 0; number < this.rows * this.columns; number++)
        svg.append(...this.cell(number, this.at(side, number), scale));
      svg.append(...this.ticks(), drawn("rect", { class: "cursor", width: this.width, height: this.height }));
      return element("figure", {}, element("figcaption", {}, name), svg);
    }

    cell(number, x, scale) {
      const left = LEFT + (number % this.columns) * this.width;
      const top = TOP + Math.floor(number / this.columns) * this.height;
      const colour = Number.isFinite(x) ? rgb(x / scale) : Number.isNaN(x) ? [255, 214, 10] : [26, 26, 26];
      const place = { x: left, y: top, width: this.width + 0.2, height: this.height + 0.2 };
      const parts = [drawn("rect", { ...place, fill: `rgb(${colour})`, "data-number": number })];
      const text = this.width >= NUMBERS_FROM && this.height >= 14 ? short(x) : Number.isFinite(x) ? "" : special(x);
      if (text && this.width >= 8) {
        const bright = (0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]) > 130;
        const middle = { x: left + this.width / 2, y: top + this.height / 2, "pointer-events": "none" };
        parts.push(drawn("text", { ...middle, class: bright ? "in unlit" : "in lit" }, text));
      }
      return parts;
    }

    ticks() {
      const [down, across] = ["", "", ...this.axes].slice(-2);
      const middle = TOP + (this.rows * this.height) / 2;
      const parts = [
        drawn("text", { x: LEFT, y: 10 }, across),
        drawn("text", { x: 10, y: middle, transform: `rotate(-90 10 ${middle})`, "text-anchor": "middle" }, down),
      ];
      const every = (size, room) => Math.ceil(room / size);
      for (let c = 0; c < this.columns; c += every(this.width, 18))
        parts.push(drawn("text", { x: LEFT + (c + 0.5) * this.width, y: TOP - 6, "text-anchor": "middle" }, c));
      if (this.shape.length > 1)
        for (let r = 0; r < this.rows; r += every(this.height, 13))
          parts.push(drawn("text", { x: LEFT - 5, y: TOP + (r + 0.5) * this.height + 4, "text-anchor": "end" }, r));
      return parts;
    }

    fill() {
      if (!this.table.open) return;
      const head = ["at", ...NAMES].map((name) => element("th", { scope: "col" }, name));
      const rows = Array.from({ length: this.rows * this.columns }, (_, number) =>
        element("tr", {}, element("th", { scope: "row" }, this.index(number) || "the number"),
          ...NAMES.map((_, side) => element("td", { class: "number" }, long(this.at(side, number))))));
      const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
      const region = element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Numbers" }, table);
      this.table.replaceChildren(this.table.firstChild, region);
    }
  }

  for (const details of document.querySelectorAll("details.picture")) {
    const show = () => {
      const place = details.querySelector(".canvas");
      if (!details.open || place.childElementCount) return;
      new Picture(place, JSON.parse(details.querySelector("script").textContent));
    };
    details.addEventListener("toggle", show);
    show();
  }
}
