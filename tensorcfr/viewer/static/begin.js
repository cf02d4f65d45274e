// Parts of the page that are the same at every node, and its start.

function showAbout() {
  const about = state.about;
  document.title = `${about.game} – tensorcfr`;
  at("title").textContent = about.title;
  at("title").title = about.game;
  at("title").className = about.title.length > LONG ? "long" : "";
  at("brief").textContent = about.solutions.map((solution, index) => (about.names.length > 1 ? `${nameOf(index)}: ` : "") +
    headlineOf(solution)).join("; ");
  at("summary").textContent = [about.title === about.game ? "" : about.game, ...about.solutions.map((solution, index) =>
    `${about.names.length > 1 ? nameOf(index) + ": " : ""}${solution.response ? responseText(solution.response) : `${solution.algorithm}, ${whole(solution.iterations)} iterations, exploitability ${brief(solution.exploitability)}`}, values ${solution.values.map(value => signed(value)).join(" / ")}`)].filter(Boolean).join("\n");
  at("about").hidden = false;
  at("meaning").textContent = [about.solutions[0].meaning, about.solutions[0].guarantee].filter(Boolean).join("\n");
  at("solve").textContent = isSolved(about.solutions[0]) ? "solve again" : "solve";
  at("locks").hidden = !answers;
  at("solve-chips").hidden = !about.tournament;
  at("new-spot").hidden = at("save").hidden = !boot.form;
  at("edit-tree").hidden = !boot.form || !known(about.per_cent);
  at("show-trainer").hidden = !canTrain();
  at("show-report").hidden = !canReport();
  showCost();
  showRisks();
  showResponse();
  showCurve();
}

// Exploitability, as a share of the pot where there is one; rounding is not 0.
function exploitable(value, digits = 3) {
  const {per_cent, unit} = state.about;
  if (!known(value)) return "–";
  const text = number => number > 0 && number < 5e-13 ? "below 1e-12" : brief(number, digits);
  return known(per_cent) ? `${text(value / per_cent)}% of the pot` : `${text(value)}${unit ? ` ${unit}` : ""}`;
}

const isSolved = solution => solution.iterations > 0 || solution.trace.length > 1 || solution.algorithm === "lp";
function headlineOf(solution) {
  if (solution.response) return responseText(solution.response);
  if (!isSolved(solution)) return "not solved yet: every action is equally likely";
  return `${whole(solution.iterations)} iterations${solution.so_far ? " so far" : ""}, exploitability ${exploitable(solution.exploitability)}`;
}

// Name of a solution, with the utilities that it was solved for if they are not those of the values.
function nameOf(index) {
  const {names, solutions, unit} = state.about, other = solutions.find(one => one.solved_for);
  return names[index] + (other ? ` (${(solutions[index].solved_for || unit).replace(/^in /, "")})` : "");
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

function download(name, kind, text) {
  const link = make("a", {href: URL.createObjectURL(new Blob([text], {type: kind})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = cell => /[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell);

function saveCsv() {
  const lines = [["solution", "infoset", "hand", "action", "probability", "expected_value", "reach", "loss", "conditional_regret"]];
  state.nodes.forEach((node, index) => node.hands.forEach(hand => hand.p.forEach((p, action) => lines.push([
    state.about.names[index], hand.infoset, hand.hand, node.actions[action], p,
    hand.q ? hand.q[action] ?? "" : "", hand.reach ?? "", hand.loss ?? "", hand.conditional_regret ?? ""]))));
  download("node.csv", "text/csv", lines.map(line => line.map(quoted).join(",")).join("\n") + "\n");
}

function saveJson() {
  download("node.json", "application/json", JSON.stringify({game: state.about.game, solutions: state.nodes}, null, 1));
}

let searching = 0;
async function search() {
  const turn = ++searching, text = at("search").value, list = at("found");
  if (!text.trim()) { list.hidden = true; return; }
  const found = await source.search(text);
  if (turn !== searching) return;
  // A text may also name hands of this node.
  if (canFilter(state.node)) try {
    const hands = state.node.hands.filter(filterOf(text, state.node));
    if (hands.length) found.push({hands: text, infoset: `hands: ${text} (${combosText(hands)})`});
  } catch { /* It does not. */ }
  refill(list, "button", ...(found.length ? found.map((one, index) => make("li", {}, make("button", {
    "data-node": one.node, "data-key": index, on: {click: () => { list.hidden = true; if (one.hands) setFilter(one.hands); else go(one.node, one.infoset); }},
  }, one.infoset))) : [make("li", {class: "dim"}, "no result; in a large game, enter the whole label")]));
  list.hidden = false;
}

// Views that take the place of the solution: single iterations, the trainer, the report.
const PANELS = {
  iterations: {box: "iterations-view", key: "i", show: showIterations},
  train: {box: "trainer", key: "p", show: showTrainer},
  report: {box: "report", key: "r", show: showReport},
};

function closePanels() {
  for (const {box} of Object.values(PANELS)) at(box).hidden = true;
  at("tools").classList.remove("panelled");
  report.turn += 1;
}

async function openPanel(name) {
  state.view.panel = name || "";
  remember(false);
  closePanels();
  if (name) at(PANELS[name].box).hidden = false;
  at("look").hidden = Boolean(name);
  at("line").classList.toggle("away", Boolean(name));
  at("tools").classList.toggle("panelled", Boolean(name));
  for (const [one, button] of [["iterations", "show-iterations"], ["train", "show-trainer"], ["report", "show-report"]]) at(button).setAttribute("aria-pressed", String(one === name));
  if (name !== "iterations") at("player").replaceChildren();
  if (name) await PANELS[name].show();
}
const togglePanel = name => openPanel(at(PANELS[name].box).hidden ? name : null);

async function showIterations() {
  at("iterations-note").textContent = "";
  try {
    playIterations(at("player"), await request(`/api/iterations?line=${encodeURIComponent(at("iterations-line").value)}`));
    at("player").dataset.ready = "true";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at("player").replaceChildren();
    at("iterations-note").textContent = error.message;
  }
}

const quietly = work => (...given) => work(...given).catch(error => { if (!(error instanceof Refused)) throw error; });

function listen() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", event => setTheme(event.matches ? "dark" : "light"));
  at("shapes").replaceChildren(...SHAPES.map(shape => make("button", {on: {click: () => look({shape})}}, shape)));
  refill(at("shown"), "button", ...Object.entries(SHOWN).map(([show, name]) => make("button", {"data-key": show, on: {click: () => look({show})}}, name)));
  at("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  at("help-button").addEventListener("click", () => at("help").showModal());
  at("show-iterations").hidden = !answers;
  at("show-iterations").addEventListener("click", () => togglePanel("iterations"));
  at("show-trainer").addEventListener("click", quietly(() => togglePanel("train")));
  at("show-report").addEventListener("click", quietly(() => togglePanel("report")));
  at("hide-iterations").addEventListener("click", () => openPanel(null));
  at("iterations-line").addEventListener("change", showIterations);
  at("filter").addEventListener("input", () => setFilter(at("filter").value));
  at("save-csv").addEventListener("click", saveCsv);
  at("save-json").addEventListener("click", saveJson);
  at("save").addEventListener("click", quietly(showSaving));
  at("edit-tree").addEventListener("click", quietly(editTree));
  at("free-all").addEventListener("click", () => { state.locks = {}; showLocks(); showStrategy(); showEditor(); });
  at("new-spot").addEventListener("click", () => { history.pushState(null, "", "#form"); begin(); });
  at("search").addEventListener("input", quietly(search));
  at("search").addEventListener("keydown", quietly(async event => {
    if (event.key !== "Enter") return;
    await search();  // The list may belong to an earlier text.
    const first = at("found").querySelector("button");
    if (first) first.click();
  }));
  at("solve").addEventListener("click", () => solveAgain(false));
  at("solve-chips").addEventListener("click", () => solveAgain(true));
  at("stop").addEventListener("click", quietly(() => request("/api/stop", {})));
  moves(at("line"), "button", () => 1000);
  moves(at("children"), "button", () => 1000);
  moves(at("shown"), "button", () => 1000);
  moves(at("found"), "button", () => 0);
  document.addEventListener("keydown", pressed);
  window.addEventListener("popstate", begin);
}

async function begin() {
  const status = boot.form ? await request("/api/form/status") : {ready: true, view: {}};
  const form = location.hash.startsWith("#form") || !status.ready;
  at("form").hidden = !form;
  at("tools").classList.toggle("bare", form);
  if (form) { closePanels(); building += 1; at("look").hidden = at("line").hidden = true; state.node = null; await showForm(); return; }
  const isNew = !state.about || state.renewed;
  state.about = await source.about();
  state.version = state.about.version;
  state.renewed = false;
  if (isNew) {
    state.line = [];
    at("iterations").value = state.about.iterations;
    state.locks = {};
    for (const solution of state.about.solutions) Object.assign(state.locks, solution.locks);
    Object.assign(state.locks, status.view.locks);
    showLocks();
    showJoint(null);
    showOpponent();
    if (answers) watch();
  }
  showAbout();
  const wanted = readAddress(), {panel} = state.view;
  at("look").hidden = false;
  await go(wanted, null, false);
  if (!state.node) await go(state.about.root, null, false);  // The address is of another game.
  if (panel || at("look").hidden || Object.values(PANELS).some(({box}) => !at(box).hidden)) await openPanel(panel || null);
}

// Another game has taken the place of this one.
async function renew(view) {
  kept.clear();
  state.renewed = true;
  history.pushState(null, "", view.address || "#0");
  await begin();
}

listen();
begin().then(() => { document.body.dataset.ready = "true"; }).catch(error => { at("note").textContent = error.message; at("look").hidden = false; });
