// One node: shown as soon as it arrives, and again when more is known.

let going = 0;
async function go(id, infoset, push = true) {
  const wanted = state.wanted = Number(id), turn = ++going;
  try {
    const nodes = await Promise.all(state.about.solutions.map((_, i) => source.node(wanted, i)));
    if (turn !== going) return;  // Another node has been requested in the meantime.
    const moved = !state.node || state.node.id !== wanted || state.shownVersion !== state.version;
    state.shownVersion = state.version;
    nodes.forEach(join);
    state.nodes = nodes;
    state.node = nodes[0];
    state.chosen = infoset || null;
    if (moved) { state.equity = state.worth = state.pointed = null; state.rows = 200; }
    if (moved && state.view.group && !state.node.hands.some(hand => inGroup(hand, state.view.group))) state.view.group = "";
    remember(push);
    show();
    // Gains of players who are free of the locks may arrive with the expected values.
    if (nodes.every(node => node.values) && !state.about.solutions.every(one => one.gains.every(known))) {
      state.about = await source.about();
      showCost();
    }
    if (nodes.some(node => node.values === false && !node.note)) {
      setTimeout(() => turn === going && go(wanted, state.chosen, false), 500);
    }
    if (moved || !state.equity) quietly(showEquity)();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at("note").textContent = error.message;
  }
}

// Before the river, equities take longer than the node, so they are requested after it.
async function showEquity() {
  const node = state.node;
  // Nodes that are shown may be of solutions that the session no longer has.
  if (!state.about.cards || node.kind === "terminal" || state.shownVersion !== state.version) return;
  const found = await Promise.all(state.nodes.map((_, i) => source.extra("equity", node.id, i)));
  if (state.node !== node || !found[0]) return;
  state.equity = found;
  readFilter();
  showStrategy();
  showRanges();
  showGraph();
  if (!answers || state.worth) return;
  // Values of the player who does not act; a graph shows them.
  const worth = await source.extra("values", node.id, 0);
  if (state.node !== node) return;
  state.worth = worth;
  showGraph();
}

function show() {
  const node = state.node;
  showLine();
  showSpot();
  at("node").dataset.id = node.id;
  const who = known(node.player) ? `${seat(node.player)} acts` : {chance: state.about.cards ? "the next card" : "chance", terminal: "the end", list: "infosets"}[node.kind];
  at("node-title").replaceChildren(...(state.about.cards ? [who] : [`${node.name}: ${who}`]));
  const figures = [];
  if (known(node.reach)) figures.push(`reached with probability ${named(one => brief(one.reach))}`);
  if (known(node.value)) figures.push(`value for ${seat(node.player)}: ${named(one => worthText(one.value))}${unitName() ? ` ${unitName()}` : ""}`);
  if (state.about.tournament && known(node.value)) {
    const chips = named(one => signed(meanOf(everyOf(one), hand => hand.chips)));
    if (known(meanOf(everyOf(node), hand => hand.chips))) figures.push(`${chips} chips`);
  }
  if (node.utility) figures.push(`expected utility: ${node.utility.map(value => signed(value)).join(", ")}`);
  at("node-figures").textContent = figures.join("; ");
  showChildren(node);
  at("note").textContent = node.note || (node.values === false ? "expected values are being computed …" : "");
  readFilter();
  showStrategy();
  showUnits();
  showRanges();
  showGraph();
  showEditor();
}

// A number of the node in each solution, with the name of the solution if there are two.
const named = number => state.nodes.map((node, index) => (state.nodes.length > 1 ? `${state.about.names[index]} ` : "") + number(node)).join(", ");

function showChildren(node) {
  const cards = dealsCards(node);
  at("children").classList.toggle("listing", state.about.kind === "infosets");
  if (state.about.kind === "infosets") { refill(at("children"), "button", listing(node)); return; }
  const shown = cards ? [] : node.children.map((child, index) => make("button", {
    "data-id": child.id, "data-key": index, "data-step": child.label, disabled: !known(child.id), title: index < 9 ? `key ${index + 1}` : null,
    style: namesActions(node) ? {"border-left-color": colourOf(node, index)} : {},
    on: {click: () => go(child.id)},
  }, pretty(child.label), known(child.p) ? make("small", {}, named(one => percent(one.children[index].p)), shareOfPot(node, child)) : null));
  refill(at("children"), "button", ...shown);
}

// Infosets that follow, each with its strategy, in games without a public tree.
function listing(node) {
  const rows = node.children.map((child, index) => make("tr", {class: child.row && child.row.reach <= ALIVE ? "never" : null},
    make("td", {}, make("button", {"data-id": child.id, "data-key": index, "data-step": child.label, disabled: !known(child.id), title: index < 9 ? `key ${index + 1}` : null, on: {click: () => go(child.id)}}, child.label)),
    make("td", {}, known(child.p) ? named(one => percent(one.children[index].p)) : ""),
    make("td", {class: "bars"}, ...state.nodes.map(one => one.children[index].row).filter(known).map(row => bar(row, row.p))),
    make("td", {class: "mixes"}, ...(child.row ? child.row.actions.flatMap((action, i) => [make("i", {class: "swatch", style: {background: colourOf(child.row, i)}}),
      `${action}: ${state.nodes.map(one => one.children[index].row).filter(known).map(row => percent(row.p[i])).join(" / ")} `]) : [])),
    make("td", {}, child.row ? signed(child.row.ev) : ""), make("td", {class: "reach"}, child.row ? brief(child.row.reach) : "")));
  if (!rows.length) return null;
  const head = make("tr", {}, ...["infoset", node.kind === "list" ? "" : "taken", "strategy", `probabilities${state.nodes.length > 1 ? ", A / B" : ""}`, "EV"].map(text => make("th", {}, text)), make("th", {class: "reach"}, "reach"));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

// Size of a bet as a share of the pot.
function shareOfPot(node, child) {
  const chips = node.path[node.path.length - 1].chips, bet = /^bet([\d.]+)$/.exec(child.label);
  return chips && bet ? ` · ${Math.round(100 * Number(bet[1]) / chips.pot)}% pot` : "";
}

// True if the buttons of the next nodes are the actions, in their colours.
const namesActions = node => node.kind === "decision" && node.children.length === node.actions.length;

function showLegend() {
  const parts = (namesActions(state.node) ? [] : state.node.actions).flatMap((action, index) => [
    make("span", {class: "swatch", style: {background: colourOf(state.node, index)}}), action]);
  const two = state.nodes.length < 2 ? "" : shapeNow() !== "grid" ? "upper bar: A, lower bar: B (B − A in percentage points)"
    : showNow() === "change" ? "colours: actions that B takes more often than A; number: per cent of the play that changes" : "";
  at("legend").replaceChildren(...parts, two);
}

function showStrategy() {
  const node = state.node, box = at("strategy"), shape = shapeNow();
  showLegend();
  const poker = Boolean(node.hands.length && classes(node.hands));
  for (const button of at("shapes").children) button.setAttribute("aria-pressed", String(button.textContent === shape));
  const cards = dealsCards(node);
  at("shown").hidden = !(poker && shape === "grid") && !(cards && !node.left_out);
  for (const button of at("shown").children) button.hidden = !canShow(button.dataset.key);
  for (const button of at("shown").children) button.setAttribute("aria-pressed", String(button.dataset.key === showNow()));
  at("detail").hidden = !poker;
  at("look").className = !poker ? "" : state.nodes.length > 1 && shape === "grid" && showNow() !== "change" ? "poker pair" : "poker";
  if (cards) { showCards(); return; }
  if (!node.hands.length) { box.replaceChildren(); return; }
  if (shape === "grid") {
    refill(box, ".cell, .tile", grid(node, state.nodes[1]));
    // A and B are one tab stop each.
    for (const other of box.querySelectorAll("figure + figure .square")) settle(other, ".cell", null);
  } else {
    const [hands, more] = rowsShown(node);
    refill(box, "tbody tr", {table, heat}[shape](node, state.nodes[1], hands), more);
    moves(box.querySelector("tbody"), "tr", () => 0);
  }
  if (poker) { point(state.pointed); showGroups(); }
}
