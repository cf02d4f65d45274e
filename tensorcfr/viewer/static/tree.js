// Tree of the form's spot: the actions at a line, and sizes that are added or removed there.

const treeLine = () => spot.line.split(" ").filter(Boolean);
const asLine = (...actions) => [...treeLine(), ...actions].join(" ");

let growing = 0;
async function showTree() {
  if (!at("form-tree").open) return;
  const turn = ++growing;
  const found = await request("/api/form/tree", {spot: spotOptions(), line: treeLine()});
  if (turn !== growing) return;
  const box = at("tree");
  if (found.error) { box.replaceChildren(make("p", {class: "error"}, found.error)); return; }
  const go = actions => { spot.line = actions.join(" "); keepForm(); quietly(showTree)(); };
  const way = found.line.map((step, index) => make("button", {"data-key": `to ${index}`, on: {click: () => go(found.line.slice(0, index + 1).map(one => one.action))}},
    make("small", {}, seatText(step.player)), pretty(step.action)));
  const added = linesOf(spot.add);
  const rows = found.actions.map(({label, share: part}) => make("span", {class: "branch"},
    make("button", {"data-key": `take ${label}`, "data-step": label, on: {click: () => go(treeLine().concat(label))}}, pretty(label), part === null ? null : make("small", {}, ` ${Math.round(100 * part)}%`), added.includes(asLine(label)) ? make("small", {}, " added") : null),
    make("button", {"data-key": `remove ${label}`, "aria-label": `remove ${label}`, title: "remove this action", on: {click: () => removeAction(label)}}, "×")));
  const size = make("input", {id: "tree-size", placeholder: "75%, 40c, 3x, a", "aria-label": "size to add", size: 12, on: {keydown: event => { if (event.key === "Enter") quietly(addSize)(); }}});
  const player = found.player ? `${seatText(found.player)} acts on the ${found.street}` : "nobody acts any more";
  refill(box, "button", make("p", {class: "buttons"}, make("button", {"data-key": "start", on: {click: () => go([])}}, "start"), ...way),
    said(`${player}; pot ${brief(found.pot, 6)}${found.to_call > 0 ? `, ${brief(found.to_call, 6)} to call` : ""}`), make("p", {class: "buttons"}, ...rows),
    found.raises ? make("p", {class: "buttons"}, size, make("button", {id: "tree-add", "data-key": "add", on: {click: quietly(addSize)}}, "add size")) : null, make("p", {id: "tree-note", role: "status", class: "error"}));
  // Each button is a tab stop: unlike the items of a grid, they do different things.
  for (const button of box.querySelectorAll("button")) button.tabIndex = 0;
}

async function addSize() {
  const found = await request("/api/form/tree", {spot: spotOptions(), line: treeLine(), size: at("tree-size").value});
  if (found.error || !found.added) { at("tree-note").textContent = found.error || "write a size, such as 75%"; return; }
  if (found.actions.some(action => action.label === found.added)) { at("tree-note").textContent = `${found.added} is there already`; return; }
  const line = asLine(found.added), removed = linesOf(spot.remove);
  if (removed.includes(line)) setField("remove", removed.filter(one => one !== line).join("\n"));
  else setField("add", [...linesOf(spot.add), line].join("\n"));
}

// Remove an action: lines that were added below it go, too.
function removeAction(label) {
  const line = asLine(label), added = linesOf(spot.add), was = added.includes(line);
  const below = one => one === line || one.startsWith(`${line} `);
  const left = [added, linesOf(spot.remove)].map(lines => lines.filter(one => !below(one)));
  spot.add = at("form-add").value = left[0].join("\n");
  setField("remove", [...left[1], ...(was ? [] : [line])].join("\n"));
}

// From a solution to the form, at the line on the screen.
async function editTree() {
  const {fields} = await request("/api/form/fields");
  if (!fields) return;
  takeFields(fields);
  spot.line = state.node.path.map(stop => stop.label).filter(label => label !== "start" && !cardsIn(label)).join(" ");
  history.pushState(null, "", "#form");
  keepForm();
  await begin();
  if (!at("form-tree")) return;  // The user has gone back already.
  at("form-tree").open = true;
  at("form-tree").scrollIntoView();
}
