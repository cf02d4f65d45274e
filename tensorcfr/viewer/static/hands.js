// Hands together: classes of a 13 x 13 grid, groups, and means over them.

const TWO_CARDS = /^([AKQJT2-9])([shdc])([AKQJT2-9])([shdc])$/;
const CLASSES = [...RANKS].flatMap((_, i) => [...RANKS].map((_, j) => {
  const [a, b] = [RANKS[Math.min(i, j)], RANKS[Math.max(i, j)]];
  return i === j ? a + b : a + b + (i < j ? "s" : "o");
}));

// "AKs", "AKo" or "AA": suited hands are above the diagonal of the grid, the others below it.
function classOf(hand) {
  const found = TWO_CARDS.exec(hand);
  if (!found) return null;
  let [, high, suit, low, other] = found;
  if (RANKS.indexOf(high) > RANKS.indexOf(low)) [high, low] = [low, high];
  return high === low ? high + low : high + low + (suit === other ? "s" : "o");
}

// Hands, or rows of a range, by class; null where they are not two cards of a deck.
function classes(hands) {
  if (!hands || !hands.length || !(state.about.cards || hands.length > 50)) return null;
  if (!hands.classes) {
    const groups = new Map();
    for (const hand of hands) {
      const name = classOf(hand.hand);
      if (!name) return null;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(hand);
    }
    Object.defineProperty(hands, "classes", {value: groups});
  }
  return hands.classes;
}

// A mean over hands, each as likely as it is at the node; null where none gets there.
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
const weightOf = hands => hands.reduce((sum, hand) => sum + Math.min(1, hand.weight || 0), 0) / Math.max(1, hands.length);
const combosOf = hands => hands.reduce((sum, hand) => sum + (hand.weight || 0), 0);

// What is known of a hand of a range beside its infoset: how much of it is left, its names.
function join(node) {
  if (!known(node.player) || !node.ranges.length) return;
  const range = new Map(node.ranges[node.player].map(row => [row.hand, row]));
  for (const hand of node.hands) {
    const row = range.get(hand.hand);
    if (row) Object.assign(hand, {weight: row.weight, made: row.made, draw: row.draw});
  }
}

function equityOf(hand, index = 0) {
  const found = state.equity && state.equity[index];
  return found && found.hands && known(state.node.player) ? found.hands[state.node.player][hand.hand] : null;
}

const inGroup = (hand, group) => !group || hand.made === group || hand.draw === group;

// What a lock is called, and which hands it is for.
const lineOf = node => node.name === "start" ? "" : ` ${node.name}`;
const lockedBy = hand => Object.entries(state.locks).find(([label]) => covers(label, hand));
function covers(label, hand) {
  if (label === hand.infoset) return true;
  const line = lineOf(state.node);
  if (!state.about.cards || !label.endsWith(line)) return false;
  const names = label.slice(0, label.length - line.length);
  return !names.includes(" ") && (names === "*" || names.split(",").some(name => name === hand.hand || name === classOf(hand.hand)));
}
