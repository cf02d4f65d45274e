// Distributions of equity and EV over the ranges, and how much of its equity each range realises.

const SEAT_COLOURS = ["#0072B2", "#D55E00", "#009E73"];

// Weight and number of each hand of a player at the node, or of each group; null if they are not known.
function numbersOf(player, name) {
  const node = state.node, found = name === "equity" ? state.equity && state.equity[0] : state.worth;
  if (!found || !found.hands) {
    if (name !== "EV" || player !== node.player) return null;
    return everyOf(node).filter(hand => hand.reach > 0 && known(hand.ev)).map(hand => [hand.reach, hand.ev, hand.hand || hand.name]);
  }
  const rows = node.cells ? node.cells[player].map(sum => [sum.reach, found.groups[player].cell[sum.name], sum.name])
    : node.ranges[player].map(row => [row.p, found.hands[player][row.hand], row.hand]);
  return rows.filter(([weight, number]) => weight > 0 && known(number));
}

function distribution(player, name) {
  const rows = numbersOf(player, name);
  if (!rows || !rows.length) return null;
  rows.sort((a, b) => a[1] - b[1]);
  const total = rows.reduce((sum, [weight]) => sum + weight, 0);
  let share = 0;
  return {
    mean: rows.reduce((sum, [weight, number]) => sum + weight * number, 0) / total,
    steps: rows.map(([weight, number, hand]) => [share / total, (share += weight) / total, number, hand]),
  };
}

function showGraph() {
  const node = state.node, box = at("graph-section");
  box.hidden = !state.about.cards || !node.ranges.length || node.kind === "terminal";
  if (box.hidden) return;
  const name = state.view.graph === "EV" ? "EV" : "equity";
  at("graph-title").textContent = `equity and EV of the ranges${ofFirst()}`;
  const shown = node.ranges.map((_, player) => distribution(player, name));
  const choice = make("div", {class: "choices", role: "group", "aria-label": "number of the graph"}, ...["equity", "EV"].map(one => make("button", {
    "data-key": one, "aria-pressed": String(one === name), on: {click: () => { look({graph: one}); at("graph").querySelector(`[data-key='${one}']`).focus(); }},
  }, one)));
  at("graph").replaceChildren(choice, shown.some(known) ? plotOf(shown, name) : make("p", {class: "dim"}, name === "EV" ? "The EVs are not known here." : "The equities are not known here, or are being computed."), realisation());
}

function plotOf(shown, name) {
  const text = (player, value) => name === "equity" ? percent(value) : worthText(value, 3, player);
  const number = (player, value) => name === "equity" ? value : worthOf(value, player);
  const all = shown.flatMap((one, player) => one ? one.steps.map(step => number(player, step[2])) : []);
  const low = name === "equity" ? 0 : Math.min(0, ...all), high = name === "equity" ? 1 : Math.max(...all, low + 1e-9);
  const [width, height, left, bottom, top, right] = [320, 190, 40, 22, 8, 8];
  const x = share => left + share * (width - left - right), y = value => top + (high - value) / (high - low) * (height - top - bottom);
  const parts = [0, 0.25, 0.5, 0.75, 1].flatMap(part => {
    const value = low + part * (high - low), h = y(value);
    const label = draw("text", {x: left - 5, y: h + 3, "text-anchor": "end"}), share = draw("text", {x: x(part), y: height - 6, "text-anchor": part === 1 ? "end" : "middle"});
    label.textContent = name === "equity" ? `${Math.round(100 * value)}%` : brief(value, 3);
    share.textContent = `${100 * part}%`;
    return [draw("line", {x1: left, x2: width - right, y1: h, y2: h, stroke: "currentColor", "stroke-opacity": 0.15}), label, share];
  });
  shown.forEach((one, player) => {
    if (!one) return;
    const points = one.steps.flatMap(([from, to, value]) => [[from, value], [to, value]]).map(([share, value]) => `${x(share).toFixed(1)},${y(number(player, value)).toFixed(1)}`);
    parts.push(draw("polyline", {points: points.join(" "), fill: "none", stroke: SEAT_COLOURS[player], "stroke-width": 1.8, "data-player": player, "data-mean": one.mean}));
  });
  const said = make("p", {class: "dim", id: "graph-said"}, "Hands from the weakest to the strongest, by share of the range.");
  const picture = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${name} of the hands of the ranges, ${shown.map((one, player) => one ? `${seat(player)} ${text(player, one.mean)} on average` : "").filter(Boolean).join(", ")}`}, ...parts);
  picture.addEventListener("pointermove", event => {
    const box = picture.getBoundingClientRect(), share = ((event.clientX - box.left) / box.width * width - left) / (width - left - right);
    if (!(share >= 0 && share <= 1)) return;
    said.textContent = `At ${percent(share)}: ` + shown.map((one, player) => {
      const step = one && (one.steps.find(([, to]) => to >= share) || one.steps[one.steps.length - 1]);
      return step ? `${seat(player)} ${step[3]} ${text(player, step[2])}` : null;
    }).filter(known).join(", ");
  });
  return make("div", {}, picture, said);
}

// Mean equity and EV of each range, and the part of its equity that it gets.
function realisation() {
  const chips = chipsOf(state.node), rows = state.node.ranges.map((_, player) => {
    const [equity, ev] = ["equity", "EV"].map(name => distribution(player, name)).map(one => one && one.mean);
    const share = known(ev) && chips && chips.put_in && !state.about.tournament ? ev + chips.put_in[player] : null;
    const realised = known(share) && known(equity) && equity > 0 ? share / (equity * chips.pot) : null;
    return make("tr", {"data-player": player}, make("td", {}, make("i", {class: "swatch", style: {background: SEAT_COLOURS[player]}}), seat(player)),
      make("td", {}, percent(equity)), make("td", {}, worthText(ev, 4, player)),
      make("td", {class: "realised", "data-value": realised}, known(realised) ? `${Math.round(100 * realised)}%` : "–"));
  });
  return make("table", {}, make("thead", {}, make("tr", {}, ...["", "equity", "EV"].map(text => make("th", {}, text)),
    make("th", {title: "equity realisation: share of the pot won, divided by equity times the pot"}, "realised"))), make("tbody", {}, ...rows));
}
