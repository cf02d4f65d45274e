// Sets of hands: classes of a 13 x 13 grid, groups, and means over them. If there are many hands, the
// server sums them by group and lists some of each: means then use the sums in place of the hands.

const TWO_CARDS = /^([AKQJT2-9])([shdc])([AKQJT2-9])([shdc])$/;
const classesIn = ranks => [...ranks].flatMap((_, i) => [...ranks].map((_, j) => {
  const [a, b] = [ranks[Math.min(i, j)], ranks[Math.max(i, j)]];
  return i === j ? a + b : a + b + (i < j ? "s" : "o");
}));
const CLASSES = classesIn(RANKS);

// Ranks of the game's deck, and the classes of its hands.
function ranksOf() {
  const {deck} = state.about;
  return deck ? [...RANKS].filter(rank => deck.some(card => card[0] === rank)).join("") || RANKS : RANKS;
}
const classesOf = () => ranksOf() === RANKS ? CLASSES : classesIn(ranksOf());

// Class at a place of the grid, "AKs", "AKo" or "AA", suited hands above the diagonal and offsuit hands
// below it; or the names of row and column that the server sends.
function classOf(hand) {
  if (hand.cell) return hand.cell;
  const found = TWO_CARDS.exec(hand.hand);
  if (!found) return null;
  let [, high, suit, low, other] = found;
  if (RANKS.indexOf(high) > RANKS.indexOf(low)) [high, low] = [low, high];
  return high === low ? high + low : high + low + (suit === other ? "s" : "o");
}

// Hands, or rows of a range, by class; null if hands are not two cards of a deck.
function classes(hands) {
  if (!hands || !hands.length || !(state.about.cards || hands.length > 50)) return null;
  if (!hands.classes) {
    const groups = new Map();
    for (const hand of hands) {
      const name = classOf(hand);
      if (!name) return null;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(hand);
    }
    Object.defineProperty(hands, "classes", {value: groups});
  }
  return hands.classes;
}

// Places of the grid, row by row, without rows in which no player has hands.
function placesOf(node) {
  if (!node.grid) return classesOf();
  const [rows, columns] = node.grid, used = new Set(node.cells.flat().map(sum => sum.name));
  return rows.map(row => columns.map(column => `${row} ${column}`)).filter(row => row.some(name => used.has(name))).flat();
}
const columnsOf = node => node.grid ? node.grid[1].length : ranksOf().length;

// All hands of a node, hands of some classes, or hands of a group, as single hands or as sums.
const everyOf = node => node.groups ? node.groups.cell : node.hands;
const sumsOf = (node, names) => node.groups
  ? names.flatMap(name => node.groups.cell.filter(sum => sum.name === name))
  : names.flatMap(name => classes(node.hands).get(name) || []);
const groupOf = (node, group) => node.groups
  ? Object.entries(node.groups).flatMap(([by, sums]) => by === "cell" ? [] : sums.filter(sum => sum.name === group))
  : node.hands.filter(hand => inGroup(hand, group));

// Mean over hands, weighted by their probabilities at the node; null if no hand reaches it.
function meanOf(hands, number) {
  let sum = 0, total = 0;
  for (const hand of hands) {
    const value = number(hand);
    if (!(hand.reach > 0) || !known(value)) continue;
    sum += hand.reach * value;
    total += hand.reach;
  }
  return total > 0 ? sum / total : null;
}

const likely = hands => hands.reduce((sum, hand) => sum + (hand.reach || 0), 0);
const mixOf = (node, hands) => node.actions.map((_, action) => meanOf(hands, hand => hand.p[action]));
const countOf = hands => hands.reduce((sum, hand) => sum + (hand.hands || 1), 0);
const fillOf = hand => hand.by ? hand.fill * hand.hands : Math.min(1, hand.weight || 0);
const weightOf = hands => hands.reduce((sum, hand) => sum + fillOf(hand), 0) / Math.max(1, countOf(hands));
const combosText = hands => { const sum = combosOf(hands); return `${sum < 1000 ? brief(sum, 3) : whole(Math.round(sum))} combos`; };
const combosOf = hands => hands.reduce((sum, hand) => sum + (hand.weight || 0), 0);

// Facts about a hand of a range, in addition to its infoset: its remaining weight and its names.
function join(node) {
  if (!known(node.player) || !node.ranges.length) return;
  const range = new Map(node.ranges[node.player].map(row => [row.hand, row]));
  for (const hand of node.hands) {
    const row = range.get(hand.hand);
    if (row) { const {p, dealt, ...own} = row; Object.assign(hand, own); }
  }
}

function equityOf(hand, index = 0) {
  const found = state.equity && state.equity[index];
  if (!found || !found.hands || !known(state.node.player)) return null;
  return hand.by ? found.groups[state.node.player][hand.by][hand.name] : found.hands[state.node.player][hand.hand];
}

const inGroup = (hand, group) => !group || [hand.made, hand.draw, hand.pairs, hand.suits].includes(group);

// Name of a lock, and its hands. Later locks take precedence, but objects put names of digits, "66",
// before all others: such a name ends in "start".
const lockName = name => /^\d+$/.test(name) ? `${name} start` : name;
const lineOf = node => node.name === "start" ? "" : ` ${node.name}`;
const lockedBy = hand => Object.entries(state.locks).find(([label]) => covers(label, hand));
function covers(label, hand) {
  if (label === hand.infoset) return true;
  const line = lineOf(state.node);
  label = label.replace(/ start$/, "");
  if (!state.about.cards || !label.endsWith(line)) return false;
  const names = label.slice(0, label.length - line.length);
  return !names.includes(" ") && (names === "*" || names.split(",").some(name => name === hand.hand || name === rangeOf(hand)));
}

// Text for the class of a hand in a range.
function rangeOf(hand) {
  const sum = hand.by ? hand : hand.cell && state.node.groups && sumsOf(state.node, [hand.cell])[0];
  return sum ? sum.range : classOf(hand);
}

// Same hand in the other solution, which may list other hands of a group.
function twinOf(other, hand) {
  if (!other) return null;
  if (!other.hands.places) Object.defineProperty(other.hands, "places", {value: new Map(other.hands.map(one => [one.infoset, one]))});
  return other.hands.places.get(hand.infoset) || null;
}
