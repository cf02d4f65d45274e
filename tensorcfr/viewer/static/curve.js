// Convergence curve.

function curve(lines) {
  const shown = lines.map(line => line.filter(([x, y]) => x > 0 && y > 0).map(([x, y]) => [Math.log10(x), Math.log10(y)]));
  const all = shown.flat();
  if (all.length < 2) return make("p", {class: "dim"}, "no curve");
  const [width, height, left, bottom, top, right] = [320, 190, 40, 20, 8, shown.length > 1 ? 30 : 10], ends = [];
  const xs = all.map(p => p[0]), ys = all.map(p => p[1]);
  const x0 = Math.min(...xs), x1 = Math.max(Math.max(...xs), x0 + 1e-9);
  const y0 = Math.floor(Math.min(...ys)), y1 = Math.max(Math.ceil(Math.max(...ys)), y0 + 1);
  const place = ([x, y]) => [left + (x - x0) / (x1 - x0) * (width - left - right), top + (y1 - y) / (y1 - y0) * (height - top - bottom)];
  const parts = [];
  const step = Math.max(1, Math.ceil((y1 - y0) / 5));
  for (let y = y0; y <= y1; y += step) {
    const h = place([x0, y])[1];
    parts.push(draw("line", {x1: left, x2: width - right, y1: h, y2: h, stroke: "currentColor", "stroke-opacity": 0.15}));
    const text = draw("text", {x: left - 5, y: h + 3, "text-anchor": "end"}); text.textContent = `1e${y}`; parts.push(text);
  }
  const stride = Math.max(1, Math.ceil((x1 - x0) / 5));
  for (let x = Math.ceil(x0); x <= x1; x += stride) {
    const text = draw("text", {x: place([x, y0])[0], y: height - 5, "text-anchor": "middle"}); text.textContent = `1e${x}`; parts.push(text);
  }
  shown.forEach((line, index) => {
    if (line.length < 2) return;
    parts.push(draw("polyline", {
      points: line.map(p => place(p).map(v => v.toFixed(1)).join(",")).join(" "), fill: "none",
      stroke: ["var(--accent)", "#D55E00", "#009E73"][index], "stroke-width": 1.8, "stroke-dasharray": ["none", "6 3", "2 2"][index],
    }));
    const [x, y] = place(line[line.length - 1]);
    ends.push({name: ["A", "B", "now"][index], x, y});
  });
  // Names are to the right of the ends, and do not overlap.
  ends.sort((one, other) => one.y - other.y).forEach((end, index) => {
    if (shown.length === 1) return;
    if (index) end.y = Math.max(end.y, ends[index - 1].y + 11);
    const text = draw("text", {x: end.x + 5, y: end.y + 3, class: "name"}); text.textContent = end.name; parts.push(text);
  });
  return draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "exploitability by iteration"}, ...parts);
}

function showCurve(running) {
  const lines = state.about.solutions.map(solution => solution.trace);
  if (running) { while (lines.length < 2) lines.push([]); lines.push(running); }
  at("curve").replaceChildren(curve(lines));
}
