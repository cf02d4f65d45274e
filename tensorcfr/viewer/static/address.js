// State of the page, and its address: "#12&shape=grid&show=ev&cell=AKs&group=flush".

const SHAPES = ["table", "grid", "heat"];
// Numbers of the grid, and their names on the buttons.
const SHOWN = {strategy: "strategy", change: "B − A", EV: "EV", chips: "chips", equity: "equity", weight: "weight"};
// Shape and numbers of the grid, chosen classes (commas between) and group, text of the filter, number of
// the graph, convention and unit of values, and the trainer or the report in place of the node.
const VIEW = ["shape", "show", "cell", "group", "filter", "graph", "of", "in", "panel"];
const state = {
  about: null, node: null, nodes: [], version: 0, running: false,
  wanted: 0,            // Node of the latest request.
  worth: null,          // Expected values of both players' hands at the node.
  filter: null,         // Test of hands, from the text in the view.
  equity: null,         // Equities of the node: hands of both players, for each solution.
  shownVersion: null,   // Version of the solutions that the page shows.
  line: [],             // Deepest path visited, which the line shows.
  view: {},             // Members of VIEW.
  pointed: null,        // Class of hands under the pointer.
  chosen: null,         // Infoset of one hand.
  locks: {},
  rows: 200,            // Number of hands in a table.
};

const shapeNow = () => state.view.shape || (state.about.cards && classes(state.node.ranges[0]) ? "grid" : "table");
const showNow = () => canShow(state.view.show) ? state.view.show : "strategy";
const shownNow = () => Object.keys(SHOWN).filter(canShow);
// Cards that are dealt have no values. Chips are next to the prizes of a tournament.
function canShow(show) {
  if (show === "change") return state.about.solutions.length > 1 && !dealsCards(state.node);
  if (show === "chips") return Boolean(state.about.tournament) && !dealsCards(state.node);
  return show in SHOWN && (show === "strategy" || show === "equity" || !dealsCards(state.node));
}
const pickedClasses = () => state.view.cell ? state.view.cell.split(",") : [];

function address() {
  const parts = [`#${state.node.id}`];
  for (const name of VIEW) {
    if (state.view[name]) parts.push(`${name}=${encodeURIComponent(state.view[name])}`);
  }
  return parts.join("&");
}

function readAddress() {
  const [number, ...parts] = location.hash.slice(1).split("&");
  state.view = {};
  for (const part of parts) {
    const [name, value] = part.split("=");
    try { state.view[name] = decodeURIComponent(value || ""); } catch { /* Not ours. */ }
  }
  if (!SHAPES.includes(state.view.shape)) delete state.view.shape;
  if (state.view.panel && !(state.view.panel in PANELS)) delete state.view.panel;
  if (!(state.view.show in SHOWN)) delete state.view.show;
  return /^-?\d+$/.test(number) ? Number(number) : state.about.root;
}

function remember(push) {
  const now = address();
  if (location.hash !== now) keepView();
  if (boot.mode === "widget" || location.hash === now) return;  // A frame has no address.
  history[push ? "pushState" : "replaceState"](null, "", now);
}

// Show the same node in another way.
function look(change) {
  state.view = {...state.view, ...change};
  remember(false);
  readFilter();
  showStrategy();
  showUnits();
  showGraph();
}
