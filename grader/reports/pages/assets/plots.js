// What uPlot draws: scores and errors. Each has its numbers beside it as text.
const FONT = "12px system-ui, sans-serif";
// The powers of ten that have a place of their own, and what is allowed.
const LOWEST = -4, HIGHEST = 4;

function axis(more = {}) {
  return {
    stroke: colour("--faint"), font: FONT, labelFont: FONT, labelSize: 20,
    grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, ...more,
  };
}

// Draws now, and again whenever the room or the colours change.
function kept(figure, make) {
  const place = figure.querySelector(".drawn-here");
  let plot = null;
  const draw = () => {
    plot?.destroy();
    if (place.clientWidth) plot = make(place, place.clientWidth);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    draw();
  }).observe(place);
  document.addEventListener("theme", draw);
  return draw;
}

function scorePlot(figure) {
  const counts = DATA.histogram, most = Math.max(...DATA.most);
  const part = most / DATA.bins, edges = counts.map((_, i) => part * (i + 0.5));
  kept(figure, (place, width) => new uPlot({
    width, height: 200, cursor: { show: false }, legend: { show: false },
    scales: { x: { time: false, range: [0, part * counts.length] }, y: { range: [0, Math.max(...counts) * 1.12 || 1] } },
    axes: [axis({ grid: { show: false }, size: 32 }), axis({ size: 48, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] })],
    series: [{}, {
      fill: colour("--right"), stroke: colour("--right"), width: 0, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.88], radius: 0.08 }),
    }],
  }, [edges, counts], place));
}

function asTable(label, head, rows) {
  const cells = head.map((name, i) => element("th", { scope: "col", ...(i > 0 && { class: "number" }) }, name));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...cells)), element("tbody", {}, ...rows));
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, table);
}

// A row for each test, or for each exercise with all its tests together.
function errorRows(exercise) {
  const rows = new Map();
  for (const [test, counts, right, wrong] of DATA.spreads) {
    const [name, of] = DATA.tests[test];
    if (exercise !== "" && of !== Number(exercise)) continue;
    const key = exercise === "" ? exerciseName(of) : name;
    const row = rows.get(key) ?? { name: key, counts: counts.map(() => 0), right: null, wrong: null };
    row.counts = row.counts.map((count, i) => count + counts[i]);
    if (right !== null) row.right = Math.max(right, row.right ?? 0);
    if (wrong !== null) row.wrong = Math.min(wrong < 0 ? Infinity : wrong, row.wrong ?? Infinity);
    rows.set(key, row);
  }
  return [...rows.values()];
}

class ErrorPlot {
  constructor(figure) {
    this.figure = figure;
    this.chosen = document.getElementById("errors-of");
    this.chosen.append(element("option", { value: "" }, "each exercise, together"));
    const measured = new Set(DATA.spreads.map(([test]) => DATA.tests[test][1]));
    DATA.exercises.forEach((name, number) => {
      if (measured.has(number)) this.chosen.append(element("option", { value: number }, name));
    });
    this.draw = kept(figure, (place, width) => this.plot(place, width));
    this.chosen.addEventListener("input", () => this.choose());
    this.choose();
  }

  choose() {
    this.rows = errorRows(this.chosen.value);
    const said = (x) => (x === null ? "" : Number.isFinite(x) ? String(Number(x.toPrecision(3))) : "∞");
    const head = ["", "worst right answer / allowed", "nearest wrong answer / allowed", "answers"];
    const rows = this.rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name),
      ...[said(row.right), said(row.wrong), String(row.counts.reduce((a, b) => a + b, 0))].map((text) =>
        element("td", { class: "number" }, text))));
    this.figure.querySelector(".wide").replaceWith(asTable("Numerical errors", head, rows));
    this.draw();
  }

  plot(place, width) {
    const rows = this.rows, room = Math.min(width * 0.36, 300);
    const ends = [LOWEST - 1, HIGHEST + 1];
    const every = width - room < 480 ? 2 : 1;
    return new uPlot({
      width, height: 64 + 22 * rows.length, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: ends }, y: { range: [-0.5, rows.length - 0.5], dir: -1 } },
      axes: [
        axis({ size: 36, splits: () => Array.from({ length: HIGHEST - LOWEST + 1 }, (_, i) => LOWEST + i),
          values: (_, ticks) => ticks.map((tick) => (tick % every ? "" : tick ? `1e${tick}` : "allowed")), space: 10 }),
        axis({ size: room, splits: () => rows.map((_, i) => i), space: 1, grid: { show: false },
          values: (_, ticks) => ticks.map((tick) => shortened(rows[tick]?.name ?? "", Math.floor(room / 7.2))) }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => this.shade(plot)] },
    }, [ends, [0, 0]], place);
  }

  shade(plot) {
    const { ctx } = plot;
    const dark = { right: channels("--right"), wrong: channels("--wrong") };
    const height = plot.valToPos(1, "y", true) - plot.valToPos(0, "y", true);
    this.rows.forEach((row, number) => {
      const most = Math.max(...row.counts);
      const top = plot.valToPos(number - 0.5, "y", true);
      row.counts.forEach((count, bin) => {
        if (!count) return;
        const left = plot.valToPos(LOWEST - 1 + bin, "x", true);
        const right = plot.valToPos(LOWEST + bin, "x", true);
        const [r, g, b] = bin > -LOWEST ? dark.wrong : dark.right;
        ctx.fillStyle = `rgba(${r}, ${g}, ${b}, ${0.18 + 0.82 * Math.sqrt(count / most)})`;
        ctx.fillRect(left + 1, top + 2, right - left - 2, height - 4);
      });
    });
    ctx.fillStyle = colour("--ink");
    ctx.fillRect(plot.valToPos(0, "x", true) - 1, plot.bbox.top, 2, plot.bbox.height);
  }
}
