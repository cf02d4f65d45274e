// The hands of some classes one by one, and the groups of made hands and draws.

function showCombos(names) {
  const node = state.node;
  if (!known(node.player) || !classes(node.hands)) { at("combos").replaceChildren(); return; }
  const groups = classes(node.hands);
  const hands = (names.length ? names.flatMap(name => groups.get(name) || []) : node.hands)
    .filter(hand => inGroup(hand, state.view.group));
  const title = names.length ? names.join(", ") : state.view.group || "all hands";
  const mix = mixOf(node, hands), ev = meanOf(hands, hand => hand.ev), equity = meanOf(hands, hand => equityOf(hand));
  const facts = [`${brief(combosOf(hands), 3)} combos`, known(ev) ? `EV ${signed(ev, 3)}` : null, known(equity) ? `equity ${percent(equity)}` : null];
  at("combos").replaceChildren(
    make("h3", {}, title, make("small", {}, facts.filter(known).join(" · "))),
    known(mix[0]) ? make("div", {class: "mix"}, bar(node, mix), ...node.actions.map((action, i) => make("span", {},
      make("i", {class: "swatch", style: {background: colourOf(node, i)}}), ...pretty(action), ` ${percent(mix[i])}`))) : null,
    names.length ? comboTable(node, hands) : make("p", {class: "dim"}, "Point at a cell, or choose it, for its hands one by one."));
}

function comboTable(node, hands) {
  const equal = state.equity !== null, other = state.nodes[1];
  const twinOf = hand => other ? other.hands[node.hands.indexOf(hand)] : null;
  const head = make("tr", {}, make("th", {}, "hand"), make("th", {title: "how much of it is left"}, "left"),
    ...node.actions.map((action, i) => make("th", {}, make("i", {class: "swatch", style: {background: colourOf(node, i)}}), pretty(action))),
    equal ? make("th", {}, "equity") : null);
  const rows = [...hands].sort((a, b) => (b.weight || 0) - (a.weight || 0)).map(hand => row(hand, [
    make("td", {}, handName(hand, node), fixed(hand, twinOf(hand))),
    make("td", {}, brief(100 * (hand.weight || 0), 3)),
    ...hand.p.map((p, action) => make("td", {class: "action", "data-p": p, "data-q": hand.q ? hand.q[action] : null},
      percent(p), other ? make("small", {}, `B ${percent(twinOf(hand).p[action])}`) : null,
      hand.q ? make("small", {}, signed(hand.q[action], 3)) : null)),
    equal ? make("td", {class: "equity", "data-value": equityOf(hand)}, percent(equityOf(hand))) : null,
  ]));
  const listed = make("tbody", {}, ...rows);
  const whole_ = make("table", {class: "combos"}, make("thead", {}, head), listed);
  moves(listed, "tr", () => 0);
  settle(listed, "tr", null);
  return whole_;
}

const MADE = ["straight flush", "four of a kind", "full house", "flush", "straight", "set", "trips", "two pair", "overpair",
  "top pair", "underpair", "second pair", "low pair", "ace high", "king high", "nothing"];
const DRAWS = ["flush draw and open-ended", "flush draw and gutshot", "flush draw", "open-ended", "gutshot"];

function showGroups() {
  const node = state.node;
  if (!known(node.player) || !node.hands.some(hand => hand.made)) { at("groups").replaceChildren(); return; }
  const total = likely(node.hands) || 1;
  const lines = names => names.map(name => {
    const hands = node.hands.filter(hand => inGroup(hand, name));
    if (!(likely(hands) > 0)) return null;
    const ev = meanOf(hands, hand => hand.ev), equity = meanOf(hands, hand => equityOf(hand));
    return make("tr", {}, 
      make("td", {}, make("button", {
        class: "group", "data-key": name, "aria-pressed": String(state.view.group === name),
        on: {click: () => { look({group: state.view.group === name ? "" : name}); showGroups(); showCombos(pickedClasses()); }},
      }, name)),
      make("td", {"data-share": likely(hands) / total}, percent(likely(hands) / total)),
      make("td", {class: "bars"}, bar(node, mixOf(node, hands))),
      make("td", {}, signed(ev, 3)), make("td", {}, percent(equity)));
  });
  const body = make("tbody", {});
  const head = make("tr", {}, ...["made hands and draws", "share", "strategy", "EV", "equity"].map(text => make("th", {}, text)));
  const whole_ = make("table", {}, make("thead", {}, head), body);
  moves(body, ".group", () => 0);
  const active = at("groups").contains(document.activeElement) ? document.activeElement.dataset.key : null;
  at("groups").replaceChildren(whole_);
  body.replaceChildren(...[...lines(MADE), ...lines(DRAWS)].filter(known));
  settle(body, ".group", active);
}
