// Report: one line on many boards, sorted, filtered and averaged; a board opens in the viewer.

const report = {told: null, sort: "board", down: false, filters: {}, by: "", boards: "25", target: "0.5", more: 100, opened: 0, turn: 0, note: ""};
const TEXTURE = ["suits", "pairing", "height", "straights"];

const canReport = () => answers && state.about.players === 2 && state.about.cards && state.about.ranges && known(state.about.pot);

async function showReport() {
  report.told = await request("/api/report");
  report.opened = report.told.opened;
  drawReport();
  followReport();
}

async function followReport() {
  const turn = ++report.turn;
  while (turn === report.turn && (report.told.running || report.told.opening)) {
    await new Promise(done => setTimeout(done, 400));
    if (turn !== report.turn) return;
    takeReport(await request(`/api/report?number=${report.told.number}&known=${report.told.rows.length}`));
    drawReport();
  }
  if (report.told.opened > report.opened) { report.opened = report.told.opened; await openBoard(); }
}

// The server sends the rows that the page does not have yet.
function takeReport(told) {
  report.told = {...told, rows: [...report.told.rows.slice(0, told.first), ...told.rows]};
}

async function ask(path, body) {
  report.note = "";
  try {
    report.told = await request(path, body);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    report.note = error.message;
  }
  drawReport();
  followReport();
}

async function beginReport() {
  if (Number.isFinite(Number(report.target))) return ask("/api/report/begin", {boards: report.boards, node: state.node.id, target: Number(report.target) || null});
  report.note = `The target must be a number, not ${report.target}.`;
  drawReport();
}
const openRow = board => { state.wanted = state.about.root; ask("/api/report/open", {board}); };

// The session shows the board now: begin at the report's line.
async function openBoard() {
  const {line} = report.told;
  openPanel(null);
  await renew({});
  const found = line.includes("*") || !line ? [] : await source.search(line);
  if (found.length) await go(found[0].node);
}

// ------------------------------------------------------------------------------------------ rows

function reportRows() {
  const {rows} = report.told;
  return rows.filter(row => Object.entries(report.filters).every(([name, wanted]) => !wanted || row[name] === wanted));
}

function meansOf(rows) {
  const alive = rows.filter(row => row.weight > 0), total = alive.reduce((sum, row) => sum + row.weight, 0);
  const mean = name => total > 0 ? alive.reduce((sum, row) => sum + row.weight * row[name], 0) / total : null;
  return Object.fromEntries([...report.told.actions, "value", "equity"].map(name => [name, mean(name)]).concat([["weight", total]]));
}

function groupedRows(rows) {
  if (!report.by) return rows;
  const groups = new Map();
  for (const row of rows) groups.set(row[report.by], [...groups.get(row[report.by]) || [], row]);
  return [...groups].map(([name, group]) => ({...meansOf(group), board: name, count: group.length}));
}

const orderOf = value => typeof value !== "string" ? [value] : cardsIn(value) ? cardsIn(value).map(card => 4 * RANKS.indexOf(card[0])) : RANKS.includes(value) ? [RANKS.indexOf(value)] : [value];
function sorted(rows) {
  const key = report.sort;
  return [...rows].sort((one, other) => {
    const [a, b] = [orderOf(one[key]), orderOf(other[key])];
    const place = a.findIndex((part, index) => part !== b[index]);
    const order = place < 0 ? 0 : (a[place] ?? -1) < (b[place] ?? -1) ? -1 : 1;
    return report.down ? -order : order;
  });
}

// ----------------------------------------------------------------------------------------- page

function reportControls() {
  const {told} = report, box = (name, attributes) => make("input", {"data-key": name, value: report[name], ...attributes, on: {input: event => { report[name] = event.target.value; }}});
  const busy = told.running || told.opening, acts = state.node && state.node.kind === "decision";
  const line = !acts ? "" : state.node.name === "start" ? "the start" : state.node.path.slice(1).map((stop, index) => state.node.path[index].chance ? "any card" : stop.label).join(", ");
  return make("div", {class: "controls"},
    make("label", {title: "a number of flops that stand for all, or boards such as Td9d6h AsKd2c"}, "boards", box("boards", {size: 14})),
    make("label", {}, "until, % of the pot", box("target", {size: 4, inputmode: "decimal"})),
    make("span", {class: "dim"}, acts ? `line: ${line}` : "Go to a node where a player acts."),
    told.running ? make("button", {id: "report-stop", on: {click: () => ask("/api/report/stop", {})}}, "stop after this board")
      : make("button", {id: "report-begin", class: "main", disabled: busy || !acts, on: {click: beginReport}}, "solve these boards"),
    make("button", {on: {click: () => openPanel(null)}}, "back to the solution"));
}

function reportProgress() {
  const {told} = report, {done, boards} = told;
  if (told.opening) return `building ${told.opening} … ${compilingOf(told)}`;
  if (!told.running) return told.error || report.note || (done ? `${done} of ${boards} boards, ${told.line ? `after ${told.line}` : "at the start"}, to ${told.target}% of the pot; saved in ${told.table}` : "");
  const left = done ? told.seconds / done * (boards - done) : null;
  return `${done} of ${boards} boards${known(left) ? `, about ${left < 90 ? `${Math.round(left)} s` : `${Math.round(left / 60)} min`} left` : ""}${told.compiles ? `; ${compilingOf(told)}` : ""}`;
}

function reportFilters() {
  const {told} = report, change = (name, value) => { report.filters[name] = value; report.more = 100; drawReport(); };
  const select = (name, options, now, set) => make("label", {}, name, make("select", {"data-key": `filter ${name}`, on: {change: event => set(event.target.value)}},
    ...options.map(([value, text]) => make("option", {value, selected: value === now}, text))));
  const all = name => [...new Set(told.rows.map(row => row[name]))].sort((a, b) => orderOf(a)[0] < orderOf(b)[0] ? -1 : 1);
  const columns = ["board", ...TEXTURE, ...["turn", "river"].filter(name => told.rows.length && name in told.rows[0])];
  return make("div", {class: "controls", id: "report-filters"},
    ...TEXTURE.map(name => select(name, [["", "all"], ...all(name).map(value => [value, value])], report.filters[name] || "", value => change(name, value))),
    select("averages by", [["", "–"], ...columns.map(name => [name, name])], report.by, value => { report.by = value; report.sort = "board"; drawReport(); }),
    make("button", {id: "report-csv", on: {click: saveReport}}, "CSV"));
}

function saveReport() {
  const {rows} = report.told, names = Object.keys(rows[0]);
  download("report.csv", "text/csv", [names, ...rows.map(row => names.map(name => row[name] ?? ""))].map(line => line.map(quoted).join(",")).join("\n") + "\n");
}

// Solutions of boards are kept in memory; other boards are solved again.
function keptText(told) {
  const all = new Set(told.rows.map(row => row.board)).size, kept = told.kept.length;
  return kept === all ? "it opens at once" : kept ? `${whole(kept)} of ${whole(all)} open at once, the others are solved again` : "each board is solved again";
}

function reportTable() {
  const {told} = report, all = reportRows(), rows = sorted(groupedRows(all)), dealt = report.by ? [] : ["turn", "river"].filter(name => name in told.rows[0]);
  const columns = [["board", report.by || "board"], ...dealt.map(name => [name, name]), ["", "strategy"], ...told.actions.map(action => [action, action]), ["value", "EV"], ["equity", "equity"],
    ...(report.by ? [["count", "rows"]] : TEXTURE.slice(0, 3).map(name => [name, name]))];
  const head = columns.map(([key, name]) => make("th", {"aria-sort": key && key === report.sort ? (report.down ? "descending" : "ascending") : null}, !key ? name : make("button", {
    class: "sort", "data-key": `sort ${key}`, on: {click: () => { report.down = report.sort === key && !report.down; report.sort = key; drawReport(); }},
  }, pretty(name), key === report.sort ? (report.down ? " ↓" : " ↑") : "")));
  const bars = row => make("div", {class: "bar", "aria-hidden": "true"}, ...told.actions.map((action, index) => make("i", {style: {width: `${100 * (row[action] || 0)}%`, background: colourOf(told, index)}})));
  const cells = row => [
    ...dealt.map(name => make("td", {}, row[name] ? pretty(row[name]) : "")), make("td", {class: "bars"}, bars(row)),
    ...told.actions.map(action => make("td", {"data-name": action, "data-value": row[action]}, percent(row[action]))),
    make("td", {"data-name": "value", "data-value": row.value}, worthText(row.value, 4, SEAT_NAMES.indexOf(told.player), told.chips)),
    make("td", {"data-name": "equity", "data-value": row.equity}, percent(row.equity)),
    ...(report.by ? [make("td", {}, known(row.count) ? row.count : "")] : TEXTURE.slice(0, 3).map(name => make("td", {class: "texture"}, row[name] || "")))];
  const open = row => openRow(row.board);
  const body = rows.slice(0, report.more).map(row => report.by ? make("tr", {}, make("td", {}, pretty(row.board)), ...cells(row)) : make("tr", {
    "data-board": row.board, "data-key": `${row.board}${row.turn || ""}${row.river || ""}`, title: told.kept.includes(row.board) ? "look at this board" : "build and solve this board, and look at it", tabindex: -1,
    on: {click: () => open(row), keydown: event => { if (event.key === "Enter") { event.preventDefault(); open(row); } }},
  }, make("td", {}, ...cardsIn(row.board).map(cardSpan)), ...cells(row)));
  const mean = make("tr", {class: "mean", "data-count": all.length}, make("td", {}, `mean of ${whole(all.length)}`), ...cells(meansOf(all)));
  return [make("table", {}, make("thead", {}, make("tr", {}, ...head), mean), make("tbody", {}, ...body)),
    rows.length > report.more ? make("button", {on: {click: () => { report.more *= 4; drawReport(); }}}, `${report.more} of ${whole(rows.length)} rows: show more`) : null].filter(known);
}

const SEAT_NAMES = ["oop", "ip"];

function drawReport() {
  const box = at("report"), {told} = report;
  if (box.hidden) return;
  const active = box.contains(document.activeElement) ? document.activeElement.dataset.key || document.activeElement.id : null;
  const failed = told.error || report.note, scroll = at("report-rows") ? at("report-rows").scrollLeft : 0;
  box.replaceChildren(reportControls(), make("p", {id: "report-said", role: "status", class: failed ? "error" : "dim"}, report.note || reportProgress()),
    ...(told.rows.length ? [reportFilters(), make("p", {class: "dim"}, `${seat(SEAT_NAMES.indexOf(told.player))} acts. ${convention(told.chips)} Choose a board to look at it: ${keptText(told)}.`),
      make("div", {id: "report-rows"}, ...reportTable())] : [make("p", {class: "dim"}, "The spot is solved on each board with the same ranges, chips and sizes, and the line is compared over all of them.")]));
  if (!told.rows.length) return;
  at("report-rows").scrollLeft = scroll;
  const body = box.querySelector("tbody");
  settle(body, "tr[data-board]", null);
  moves(body, "tr[data-board]", () => 0);
  const focus = known(active) && [...box.querySelectorAll("[data-key], [id]")].find(item => item.dataset.key === active || item.id === active);
  if (focus) focus.focus({preventScroll: true});
}
