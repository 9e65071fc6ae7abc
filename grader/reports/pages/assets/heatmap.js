// Tests by submissions on one canvas, of which only what can be seen is drawn.

// Where many submissions share a pixel, one that went wrong must not drown among those that passed.
const LOUDER = 4;

class Heatmap {
  constructor() {
    this.cells = document.getElementById("cells");
    this.canvas = this.cells.querySelector("canvas");
    this.width = document.getElementById("width");
    this.names = document.getElementById("rownames");
    this.told = document.getElementById("cell");
    this.orderBy = document.getElementById("order");
    this.rowsOf = document.getElementById("rows");
    this.zoom = 1;
    this.column = this.row = 0;
    DATA.exercises.forEach((name, number) => this.rowsOf.append(element("option", { value: number }, name)));
    this.orderBy.addEventListener("input", () => this.order());
    this.rowsOf.addEventListener("input", () => this.choose());
    document.getElementById("in").addEventListener("click", () => this.zoomBy(2));
    document.getElementById("out").addEventListener("click", () => this.zoomBy(0.5));
    this.cells.addEventListener("scroll", () => this.draw(), { passive: true });
    this.cells.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => {
      this.point(event);
      this.open();
    });
    this.cells.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - this.cells.getBoundingClientRect().left);
    }, { passive: false });
    document.addEventListener("theme", () => this.recolour());
    new ResizeObserver(() => this.draw()).observe(this.cells);
    this.legend();
    this.table();
    this.colours = this.palette();
    this.order();
    this.choose();
  }

  palette() {
    const colours = { ".": channels("--card") };
    for (const letter of "pfemtcn") colours[letter] = channels(`--cell-${letter}`);
    colours.u = channels("--unreadable");
    return colours;
  }

  recolour() {
    this.colours = this.palette();
    this.draw();
  }

  legend() {
    const used = new Set(DATA.patterns.join(""));
    const letters = [..."pfemtcnu"].filter((letter) => used.has(letter));
    document.getElementById("letters").append(
      ...letters.map((letter) => element("span", {}, element("i", { class: letter }), OUTCOMES[letter])));
  }

  order() {
    const orders = {
      class: places,
      name: () => places().sort((a, b) => byName.compare(DATA.names[a], DATA.names[b])),
      score: () => places().sort((a, b) => DATA.scores[b] - DATA.scores[a] || a - b),
      similar: () => DATA.similar,
    };
    this.places = orders[this.orderBy.value]();
    this.draw();
  }

  choose() {
    const chosen = this.rowsOf.value;
    const tests = DATA.tests.map((_, number) => number);
    this.tests = chosen === "" ? tests : tests.filter((number) => DATA.tests[number][1] === Number(chosen));
    this.rowHeight = chosen === "" ? Math.max(3, Math.min(12, Math.floor(640 / this.tests.length))) : 16;
    this.row = Math.min(this.row, this.tests.length - 1);
    this.label(chosen !== "");
    this.draw();
  }

  // The names of the exercises, or, where only one is shown, of its tests.
  label(each) {
    const labels = [];
    let first = 0;
    this.tests.forEach((test, row) => {
      const last = row + 1 === this.tests.length;
      const ends = each || last || DATA.tests[this.tests[row + 1]][1] !== DATA.tests[test][1];
      if (!ends) return;
      const text = each ? DATA.tests[test][0] : exerciseName(DATA.tests[test][1]);
      const height = (row + 1 - first) * this.rowHeight;
      const name = element("span", { title: text }, shortened(text, innerWidth < 640 ? 13 : 40));
      name.style.top = `${first * this.rowHeight}px`;
      name.style.lineHeight = `${height}px`;
      if (height >= 10) labels.push(name);
      first = row + 1;
    });
    this.names.replaceChildren(...labels);
    const longest = Math.max(...labels.map((label) => label.textContent.length), 0);
    this.names.style.width = `${longest * 0.42 + 1.25}rem`;
    this.names.style.height = `${this.height}px`;
  }

  get height() {
    return this.tests.length * this.rowHeight;
  }

  get columnWidth() {
    return (this.cells.clientWidth / COUNT) * this.zoom;
  }

  zoomBy(factor, at = this.cells.clientWidth / 2) {
    const column = (this.cells.scrollLeft + at) / this.columnWidth;
    const most = Math.max(4, (24 * COUNT) / this.cells.clientWidth);
    this.zoom = Math.max(1, Math.min(most, this.zoom * factor));
    this.draw();
    this.cells.scrollLeft = column * this.columnWidth - at;
    this.draw();
  }

  draw() {
    if (!this.tests || !this.cells.clientWidth) return;
    const ratio = devicePixelRatio || 1;
    const wide = this.cells.clientWidth, step = this.columnWidth;
    this.width.style.width = `${Math.max(step * COUNT, wide)}px`;
    this.canvas.style.width = `${wide}px`;
    this.canvas.style.height = `${this.height}px`;
    const across = Math.round(wide * ratio);
    this.canvas.width = across;
    this.canvas.height = Math.round(this.height * ratio);
    const strip = document.createElement("canvas");
    strip.width = across;
    strip.height = this.tests.length;
    const context = strip.getContext("2d");
    const image = context.createImageData(across, this.tests.length);
    for (let x = 0; x < across; x++) this.drawColumn(image, x, across, step * ratio);
    context.putImageData(image, 0, 0);
    const target = this.canvas.getContext("2d");
    target.imageSmoothingEnabled = false;
    target.drawImage(strip, 0, 0, this.canvas.width, this.canvas.height);
    this.lines(target, ratio);
    this.mark(target, ratio);
  }

  // A column of pixels shows a mean of the colours of the submissions that it has to stand for.
  drawColumn(image, x, across, step) {
    const offset = this.cells.scrollLeft * (devicePixelRatio || 1);
    const first = Math.floor((x + offset) / step);
    const last = Math.min(Math.max(first + 1, Math.floor((x + 1 + offset) / step)), COUNT);
    const patterns = [];
    for (let column = first; column < last; column++) patterns.push(patternOf(this.places[column]));
    if (!patterns.length) return;
    this.tests.forEach((test, row) => {
      let red = 0, green = 0, blue = 0;
      let total = 0;
      for (const pattern of patterns) {
        const letter = pattern[test], own = this.colours[letter];
        const weight = letter === "p" ? 1 : LOUDER;
        red += weight * own[0];
        green += weight * own[1];
        blue += weight * own[2];
        total += weight;
      }
      const at = 4 * (row * across + x);
      image.data[at] = red / total;
      image.data[at + 1] = green / total;
      image.data[at + 2] = blue / total;
      image.data[at + 3] = 255;
    });
  }

  // Lines between exercises, and between submissions where these are wide enough.
  lines(context, ratio) {
    context.fillStyle = colour("--card");
    this.tests.forEach((test, row) => {
      if (row && DATA.tests[test][1] !== DATA.tests[this.tests[row - 1]][1])
        context.fillRect(0, Math.round(row * this.rowHeight * ratio) - 1, this.canvas.width, 2);
      else if (this.rowHeight >= 10)
        context.fillRect(0, Math.round(row * this.rowHeight * ratio), this.canvas.width, 1);
    });
    const step = this.columnWidth;
    if (step < 6) return;
    const shift = this.cells.scrollLeft % step;
    for (let x = -shift; x < this.cells.clientWidth; x += step)
      context.fillRect(Math.round(x * ratio), 0, 1, this.canvas.height);
  }

  mark(context, ratio) {
    if (!this.marked) return;
    context.strokeStyle = colour("--ink");
    context.lineWidth = 2;
    const x = this.column * this.columnWidth - this.cells.scrollLeft;
    const width = Math.max(this.columnWidth, 4);
    context.strokeRect(x * ratio, this.row * this.rowHeight * ratio, width * ratio, this.rowHeight * ratio);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left + this.cells.scrollLeft) / this.columnWidth);
    const row = Math.floor((event.clientY - box.top) / this.rowHeight);
    if (column >= 0 && column < COUNT && row >= 0 && row < this.tests.length) this.go(column, row);
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (event.key === "Enter") this.open();
    else if (event.key === "+") this.zoomBy(2);
    else if (event.key === "-") this.zoomBy(0.5);
    else if (step) this.go(this.column + (this.marked ? step[0] : 0), this.row + (this.marked ? step[1] : 0));
    else return;
    event.preventDefault();
    this.reveal();
  }

  go(column, row) {
    this.column = Math.max(0, Math.min(COUNT - 1, column));
    this.row = Math.max(0, Math.min(this.tests.length - 1, row));
    this.marked = true;
    const place = this.places[this.column], test = DATA.tests[this.tests[this.row]];
    const outcome = OUTCOMES[patternOf(place)[this.tests[this.row]]];
    const score = DATA.statuses[place] === "n" ? "not graded" : `${points(DATA.scores[place])} points`;
    this.told.textContent = `${DATA.names[place]} (${score}): ${outcome}, ${test[0]} of ${DATA.exercises[test[1]]} (${test[2]})`;
    this.draw();
  }

  reveal() {
    const x = this.column * this.columnWidth;
    if (x < this.cells.scrollLeft) this.cells.scrollLeft = x;
    if (x + this.columnWidth > this.cells.scrollLeft + this.cells.clientWidth)
      this.cells.scrollLeft = x + this.columnWidth - this.cells.clientWidth;
  }

  open() {
    if (this.marked) location.href = address(this.places[this.column]);
  }

  table() {
    const details = document.getElementById("test-table");
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      const letters = "pfemtcnu";
      const counts = DATA.tests.map(() => ({}));
      DATA.pattern.forEach((number) => {
        [...DATA.patterns[number]].forEach((letter, test) => {
          counts[test][letter] = (counts[test][letter] ?? 0) + 1;
        });
      });
      const head = ["test", "exercise", "aspect", ...[...letters].map((letter) => OUTCOMES[letter])];
      const rows = DATA.tests.map(([name, exercise, aspect], test) =>
        element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, DATA.exercises[exercise]),
          element("td", {}, aspect),
          ...[...letters].map((letter) => element("td", { class: "number" }, String(counts[test][letter] ?? 0)))));
      details.append(asTable("Outcomes of each test", head, rows));
    });
  }
}

function asTable(label, head, rows) {
  const cells = head.map((name, i) => element("th", { scope: "col", ...(i > 0 && { class: "number" }) }, name));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...cells)), element("tbody", {}, ...rows));
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, table);
}
