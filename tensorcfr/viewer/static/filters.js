// Filter of hands: blanks mean "and", commas "or", "no" negates. AKs, TT+, A5s-A2s, AhKd; Ah (holds the
// card), A (holds the rank); flush draw, set; bet 60, check>20 (per cent); EV>10, equity<40.

const ANY = {
  suited: hand => hand.hand[1] === hand.hand[3], offsuit: hand => hand.hand[1] !== hand.hand[3] && hand.hand[0] !== hand.hand[2],
  "pocket pair": hand => hand.hand[0] === hand.hand[2], draw: hand => Boolean(hand.draw),
};
const RANK = "[akqjt2-9]";
const value13 = rank => RANKS.indexOf(rank.toUpperCase());

// Hands of a class, of a class and above, or between two classes.
function inClasses([, high, low, kind, plus, , high2, low2]) {
  const [top, kicker] = [value13(high), value13(low)].sort((a, b) => a - b), pair = top === kicker;
  let first = plus ? (pair ? 0 : top + 1) : kicker, last = kicker;
  if (high2) {
    const [top2, kicker2] = [value13(high2), value13(low2)].sort((a, b) => a - b);
    if (pair !== (top2 === kicker2) || (!pair && top !== top2)) return null;
    [first, last] = [kicker, kicker2].sort((a, b) => a - b);
  }
  return hand => {
    const [a, b] = [value13(hand.hand[0]), value13(hand.hand[2])].sort((x, y) => x - y), same = hand.hand[1] === hand.hand[3];
    if (pair ? a !== b : a !== top || a === b) return false;
    return b >= first && b <= last && (!kind || same === (kind === "s"));
  };
}

const TESTS = {">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b};
const COMPARED = "\\s*(>=|<=|>|<)\\s*(-?[\\d.]+)%?";

// Test at the beginning of a text, and the number of its characters.
function termOf(rest, node) {
  const matching = pattern => new RegExp(`^(?:${pattern})(?![\\w.])`).exec(rest);
  const escaped = text => text.toLowerCase().replace(/[^\w ]/g, "\\$&");
  for (const name of [...state.about.made, ...DRAWS].sort((a, b) => b.length - a.length)) {
    const found = matching(escaped(name));
    if (found) return [hand => hand.made === name || hand.draw === name, found];
  }
  for (const [name, test] of Object.entries(ANY)) {
    const found = matching(name + (name === "draw" ? "s?" : ""));
    if (found) return [test, found];
  }
  let found = matching(`(ev|equity)${COMPARED}`);
  if (found) {
    const number = found[1] === "ev" ? hand => worthOf(hand.ev) : hand => known(equityOf(hand)) ? 100 * equityOf(hand) : null;
    const [, , compare, limit] = found;
    return [hand => known(number(hand)) && TESTS[compare](number(hand), Number(limit)), found];
  }
  const actions = [...node.actions.map((action, index) => [escaped(action).replace(/^(bet|raise)(?=\d)/, "$1 ?"), [index]]),
    ...["bet", "raise"].map(name => [name, node.actions.flatMap((action, index) => action.startsWith(name) ? [index] : [])])];
  for (const [name, indices] of actions) {
    found = indices.length ? matching(`${name.replace("allin", "all-?in")}(?:${COMPARED})?`) : null;
    if (found) {
      const [, compare = ">=", limit = 50] = found;
      return [hand => TESTS[compare](100 * indices.reduce((sum, index) => sum + hand.p[index], 0), Number(limit)), found];
    }
  }
  found = matching(`(${RANK}[shdc])(${RANK}[shdc])`);
  if (found) {
    const cards = found.slice(1).map(card => card[0].toUpperCase() + card[1]);
    return [hand => cards.every(card => hand.hand.includes(card)), found];
  }
  found = matching(`(${RANK})(${RANK})([so]?)(?:(\\+)|(-)(${RANK})(${RANK})[so]?)?`);
  if (found) {
    const test = inClasses(found);
    if (test) return [test, found];
  }
  found = matching(`(${RANK})([shdc]?)`);
  if (found) {
    const card = found[1].toUpperCase() + found[2];
    return [hand => found[2] ? hand.hand.includes(card) : hand.hand[0] === card || hand.hand[2] === card, found];
  }
  return null;
}

// Test of a text: a function of a hand, null for an empty text. A text that is not a filter raises an error.
function filterOf(text, node) {
  const parts = text.toLowerCase().split(",").map(part => part.trim()).filter(Boolean).map(part => {
    const tests = [];
    for (let rest = part; rest;) {
      const no = /^(?:no |not |without |!)\s*/.exec(rest);
      if (no) rest = rest.slice(no[0].length);
      const term = termOf(rest, node);
      if (!term) throw new Error(`“${rest}” is not understood`);
      tests.push(no ? hand => !term[0](hand) : term[0]);
      rest = rest.slice(term[1][0].length).replace(/^(?:\s+and\b)?\s*/, "");
    }
    return hand => tests.every(test => test(hand));
  });
  return parts.length ? hand => parts.some(test => test(hand)) : null;
}

const canFilter = node => Boolean(!node.groups && known(node.player) && classes(node.hands));

// Hand is in the chosen group and passes the filter.
function isShown(hand) {
  return inGroup(hand, state.view.group) && (!state.filter || state.filter(hand));
}

function readFilter() {
  const node = state.node, text = state.view.filter || "", box = at("filter-box"), said = at("filter-said");
  state.filter = null;
  box.hidden = !canFilter(node);
  if (box.hidden) return;
  if (document.activeElement !== at("filter")) at("filter").value = text;
  said.className = "dim";
  said.textContent = "";
  try {
    state.filter = filterOf(text, node);
    if (!state.filter) return;
    const hands = node.hands.filter(state.filter), total = likely(node.hands);
    said.textContent = `${combosText(hands)}${total > 0 ? `, ${percent(likely(hands) / total)} of the range` : ""}`;
  } catch (error) {
    said.className = "error";
    said.textContent = error.message;
  }
}

function setFilter(text) {
  at("filter").value = text;
  look({filter: text, cell: ""});
  showCombos([]);
}
