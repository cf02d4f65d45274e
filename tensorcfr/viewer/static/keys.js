// Keyboard: each grid, table and line is one tab stop, within which arrows move; keys of the page.

// Fill a container: the focused item stays focused, and one item is a tab stop.
function refill(container, selector, ...children) {
  const active = container.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  container.replaceChildren(...children.flat().filter(known));
  settle(container, selector, active);
}

function settle(container, selector, active) {
  const items = [...container.querySelectorAll(selector)].filter(item => !item.disabled);
  const same = known(active) ? items.find(item => item.dataset.key === active) : null;
  const stop = same || items.find(item => item.matches(".chosen, [aria-pressed='true'], [aria-current]")) || items[0];
  for (const item of items) item.tabIndex = item === stop ? 0 : -1;
  if (known(active) && stop) stop.focus({preventScroll: true});
}

// Move among the items of a container by arrows. columns() returns the number of items in a row, or 0
// if the items are one below the other.
function moves(container, selector, columns) {
  container.addEventListener("keydown", event => {
    const item = event.target.closest(selector);
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    const items = [...container.querySelectorAll(selector)], width = columns();
    const steps = width
      ? {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width}
      : {ArrowUp: -1, ArrowDown: 1};
    let index = items.indexOf(item);
    if (event.key in steps) {
      do index += steps[event.key]; while (items[index] && items[index].disabled);
    } else if (event.key === "Home") index = items.findIndex(one => !one.disabled);
    else if (event.key === "End") index = items.findLastIndex(one => !one.disabled);
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (!items[index]) return;
    for (const one of items) one.tabIndex = one === items[index] ? 0 : -1;
    items[index].focus();
  });
}

const KEYS = {
  Home: () => go(state.about.root),
  "/": () => at("search").focus(),
  v: () => look({shape: SHAPES[(SHAPES.indexOf(shapeNow()) + 1) % SHAPES.length]}),
  e: () => look({show: shownNow()[(shownNow().indexOf(showNow()) + 1) % shownNow().length]}),
  f: () => at("filter-box").hidden || at("filter").focus(),
  p: () => at("show-trainer").hidden || at("show-trainer").click(),
  r: () => at("show-report").hidden || at("show-report").click(),
  s: () => at("save").hidden || at("save").click(),
  i: () => at("show-iterations").hidden || at("show-iterations").click(),
  t: () => at("theme").click(),
  "?": () => at("help").showModal(),
};

function pressed(event) {
  const typing = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement.tagName);
  if (event.key === "Escape") { at("found").hidden = true; document.activeElement.blur(); return; }
  if (typing || event.ctrlKey || event.altKey || event.metaKey || at("help").open || at("saving").open) return;
  if (event.key === "t" || event.key === "?") { event.preventDefault(); KEYS[event.key](); return; }
  const node = state.node, open = Object.keys(PANELS).find(name => !at(PANELS[name].box).hidden);
  const clicks = event.key === "Enter" && document.activeElement.tagName === "BUTTON";
  if (open === "train" && !clicks && trainerKey(event.key)) { event.preventDefault(); return; }
  if (!node || (open && event.key !== PANELS[open].key)) return;
  if (/^[1-9]$/.test(event.key)) {
    const child = node.children[Number(event.key) - 1];
    if (child && known(child.id)) go(child.id);
  } else if (event.key === "Backspace" || event.key === "ArrowLeft") {
    if (node.path.length > 1) go(node.path[node.path.length - 2].id);
  } else if (event.key in KEYS) { event.preventDefault(); KEYS[event.key](); }
}
