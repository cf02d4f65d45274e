// Grid of hands, 13 x 13 or groups. The filled height of a cell is the share of its hands that is left,
// and its width is divided by the frequency of each action. Hands of other games are tiles.

// Background of a cell: parts from left to right, [share, colour], with a height.
function filled(parts, height) {
  const stops = [];
  let left = 0;
  for (const [share, colour] of parts) {
    const right = left + 100 * share;
    if (share > 0) stops.push(`${colour} ${left.toFixed(2)}% ${right.toFixed(2)}%`);
    left = right;
  }
  return {
    "background-image": stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none",
    "background-size": `100% ${(100 * Math.min(1, height)).toFixed(1)}%`,
  };
}

// Colour of a cell at a share of its width, where its name is.
function colourAt(node, mix, share) {
  let left = 0;
  return colourOf(node, Math.max(0, mix.findIndex(p => (left += p) > share)));
}

// Content of a cell: its background, a number, and a text for screen readers.
function cellOf(node, index, hands, show, bounds) {
  if (show === "change") return changeOf(node, hands);
  const mean = {
    EV: () => meanOf(hands, hand => hand.ev),
    chips: () => meanOf(hands, hand => hand.chips),
    equity: () => meanOf(hands, hand => equityOf(hand, index)),
    weight: () => weightOf(hands),
  };
  if (show === "strategy" || !(likely(hands) > 0)) {
    const mix = likely(hands) > 0 ? mixOf(node, hands) : [];
    return {
      style: filled(mix.map((p, action) => [p, colourOf(node, action)]), weightOf(hands)), text: "", mix, dark: weightOf(hands) > 0.8 && isDark(colourAt(node, mix, 0.25)),
      said: mix.map((p, action) => `${node.actions[action]} ${percent(p)}`).join(", "),
    };
  }
  const value = mean[show](), [low, high] = bounds, told = show === "EV" ? worthOf(value) : value;
  const share = known(value) ? (told - low) / Math.max(high - low, 1e-12) : null;
  const colour = show === "weight" ? "var(--weight)" : known(share) ? scaled(share) : "transparent";
  const text = !known(value) ? "" : isValue(show) ? brief(told, 3) : `${Math.round(100 * value)}`;
  return {style: filled([[1, colour]], show === "weight" ? value : 1), text, value, said: `${show} ${text}`};
}

// Content of a cell for the change from A to B: the actions that B takes more often.
function changeOf(node, hands) {
  const other = state.nodes[1], twins = hands.map(hand => hand.by ? sumsOf(other, [hand.name])[0] : twinOf(other, hand)).filter(known);
  if (!(likely(hands) > 0) || !(likely(twins) > 0)) return {style: filled([], 0), text: "", said: "not reached by both"};
  const mix = mixOf(node, hands), changes = mixOf(other, twins).map((p, action) => p - mix[action]);
  const more = changes.map(change => Math.max(0, change)), value = more.reduce((sum, change) => sum + change, 0);
  return {
    style: filled([...more.map((change, action) => [change, colourOf(node, action)]), [1 - value, "transparent"]], 1), changes, value,
    text: value >= 0.005 ? `${Math.round(100 * value)}` : "",
    said: changes.map((change, action) => `${node.actions[action]} ${points(change)} points`).join(", "),
  };
}

const isValue = show => show === "EV" || show === "chips";

// Smallest and largest number of the colour scale.
function boundsOf(node, show) {
  if (!isValue(show)) return [0, 1];
  const number = show === "EV" ? "ev" : "chips";
  const told = everyOf(node).filter(hand => hand.reach > 0 && known(hand[number])).map(hand => show === "EV" ? worthOf(hand.ev) : hand[number]);
  const most = Math.max(1e-12, ...told.map(Math.abs));
  return [show === "EV" && valueOf() === "pot" ? Math.min(0, ...told) : -most, most];
}

function square(node, index, title) {
  const show = showNow(), bounds = boundsOf(state.node, show), picked = pickedClasses(), total = likely(everyOf(node)) || 1;
  const cells = placesOf(node).map(name => {
    const hands = sumsOf(node, [name]).filter(hand => hand.by || isShown(hand));
    const shown = hands.length ? cellOf(node, index, hands, show, bounds) : null;
    const alive = shown && likely(hands) > 0;
    return make("button", {
      class: ["cell", alive ? "" : "never", shown && shown.dark ? "on-dark" : "", picked.includes(name) ? "chosen" : "", hands.some(lockedBy) ? "locked" : ""].join(" ").trim(),
      "data-hand": name, "data-key": `${index} ${name}`, disabled: !hands.length, style: shown ? shown.style : {},
      "data-p": alive && shown.mix ? shown.mix.join(" ") : null, "data-change": shown && shown.changes ? shown.changes.join(" ") : null, "data-value": shown ? shown.value : null,
      "aria-label": shown ? `${name}, ${combosText(hands)}, ${shown.said}` : name,
      on: {
        click: event => pick(name, event.shiftKey || event.ctrlKey || event.metaKey),
        mouseenter: () => isNarrow() || point(name), focus: () => isNarrow() || point(name),
      },
    }, make("b", {}, !node.grid ? name : hands.length ? percent(likely(hands) / total) : ""), shown && shown.text ? make("span", {}, shown.text) : null);
  });
  const grid = make("div", {class: node.grid ? "square named" : "square", style: {"--columns": ranksOf().length}, role: "group", "aria-label": title, on: {mouseleave: () => point(null)}}, ...withHeads(node, cells));
  moves(grid, ".cell", () => columnsOf(node));
  return make("figure", {}, title && state.nodes.length > 1 ? make("figcaption", {}, title) : null, grid);
}

// Names of groups are above the columns and to the left of the rows.
function withHeads(node, cells) {
  if (!node.grid) return cells;
  const columns = node.grid[1], head = text => make("span", {class: "head", "aria-hidden": "true"}, text);
  return [head("of the range"), ...columns.map(head), ...cells.flatMap((cell, at) => at % columns.length ? [cell] : [
    head(cell.dataset.hand.slice(0, -columns[0].length - 1)), cell])];
}

// On a narrow screen a tap chooses a cell; there is nothing that points.
const isNarrow = () => matchMedia("(max-width: 52rem)").matches;

function point(name) {
  state.pointed = name;
  showCombos(name ? [name] : pickedClasses());
}

function pick(name, more) {
  const picked = pickedClasses();
  const now = more
    ? picked.includes(name) ? picked.filter(one => one !== name) : [...picked, name]
    : picked.length === 1 && picked[0] === name ? [] : [name];
  state.chosen = null;
  look(state.node.groups ? {cell: now.join(","), group: ""} : {cell: now.join(",")});
  showCombos(now);
  if (state.node.groups) showGroups();
  showEditor();
  // There the hands are below the grid.
  if (now.length && isNarrow()) at("combos").scrollIntoView({block: "nearest"});
}

// Tiles, one per hand, in games whose hands are not two cards.
function tiles(node, other) {
  const columns = Math.ceil(Math.sqrt(node.hands.length));
  const made = node.hands.map((hand, index) => make("button", {
    class: hand.reach > ALIVE ? "tile" : "tile never", "data-hand": hand.hand || node.name, "data-key": hand.infoset,
    title: node.actions.map((action, i) => `${action} ${percent(hand.p[i])}`).join(", "),
    on: {click: () => choose(hand.infoset)},
  }, handName(hand, node), bar(node, hand.p), other ? bar(node, other.hands[index].p) : null));
  const grid = make("div", {class: "tiles", style: {"grid-template-columns": `repeat(${columns}, minmax(0, 1fr))`}}, ...made);
  moves(grid, ".tile", () => columns);
  return grid;
}

function grid(node, other) {
  if (!classes(node.hands)) return tiles(node, other);
  if (showNow() === "change") return make("div", {class: "squares"}, square(node, 0, SHOWN.change));
  return make("div", {class: "squares"}, ...state.nodes.map((one, index) => square(one, index, nameOf(index))));
}
