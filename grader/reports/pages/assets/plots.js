// What uPlot draws: the scores. Their numbers stand beside them as text.
const FONT = "12px system-ui, sans-serif";

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
