// Line: every node on the path, its player and its actions. Going up keeps the nodes below.

function showLine() {
  const path = state.node.path;
  const way = path.map(stop => stop.id), old = state.line.map(stop => stop.id);
  if (!way.every((id, i) => id === old[i])) state.line = path;
  refill(at("line"), "button", ...state.line.map((stop, index) => stopOf(stop, state.line[index + 1], index)));
  at("line").hidden = false;
  const here = at("line").querySelector("[aria-current]");
  if (here) at("line").scrollLeft = Math.max(0, here.offsetLeft - at("line").clientWidth / 2);
}

function stopOf(stop, next, index) {
  const here = stop.id === state.node.id;
  const who = known(stop.player) ? seat(stop.player) : state.about.kind === "infosets" ? "" : stop.chance ? "deal" : "end";
  const steps = stop.steps && stop.steps.length ? stop.steps : next && state.about.kind !== "infosets" ? [{id: next.id, label: next.label}] : [];
  const pot = stop.chips ? make("small", {}, `pot ${brief(stop.chips.pot, 6)}`) : null;
  return make("div", {class: here ? "stop here" : "stop"},
    make("button", {
      class: "where", "data-id": stop.id, "data-key": `at ${stop.id}`, "data-step": stop.label, "aria-current": here ? "page" : null,
      on: {click: () => go(stop.id)},
    }, who || pretty(stop.label), pot),
    ...steps.map((step, i) => make("button", {
      class: "option", "data-id": step.id, "data-key": `to ${step.id}`, "data-step": step.label,
      "aria-pressed": String(Boolean(next && next.id === step.id)), style: stop.colours ? {"border-left-color": stop.colours[i]} : {},
      on: {click: () => go(step.id)},
    }, pretty(step.label))));
}

const seatText = name => name.length <= 3 ? name.toUpperCase() : name;
const seat = player => seatText(state.about.seats[player]);
