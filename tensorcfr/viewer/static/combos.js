// Single hands of chosen classes, and groups of made hands and draws.

function showCombos(names) {
  const node = state.node;
  if (!known(node.player) || !classes(node.hands)) { at("combos").replaceChildren(); return; }
  const groups = classes(node.hands), group = node.groups && names.length ? "" : state.view.group;
  const hands = (names.length ? names.flatMap(name => groups.get(name) || []) : node.hands).filter(hand => inGroup(hand, group) && (!state.filter || state.filter(hand)));
  const sums = !node.groups ? hands : names.length ? sumsOf(node, names) : group ? groupOf(node, group) : everyOf(node);
  const filter = state.filter ? state.view.filter.trim() : "";
  const title = [names.length ? names.join(", ") : group, filter].filter(Boolean).join(": ") || "all hands";
  const mix = mixOf(node, sums), ev = meanOf(sums, hand => hand.ev), equity = meanOf(sums, hand => equityOf(hand));
  const chips = meanOf(sums, hand => hand.chips);
  const facts = [combosText(sums), known(ev) ? `EV ${worthText(ev, 3)} ${unitName()}`.trim() : null, known(chips) ? `${signed(chips, 4)} chips` : null, known(equity) ? `equity ${percent(equity)}` : null];
  at("combos").replaceChildren(...[
    make("h3", {}, `${title}${ofFirst()}`, make("small", {}, facts.filter(known).join(" · "))),
    known(mix[0]) ? make("div", {class: "mix"}, bar(node, mix), ...node.actions.map((action, i) => make("span", {},
      make("i", {class: "swatch", style: {background: colourOf(node, i)}}), ...pretty(action), ` ${percent(mix[i])}`))) : null,
    names.length || state.filter || (node.groups && group) ? comboTable(node, hands) : make("p", {class: "dim"}, "Point at a cell, or choose it, to list its hands."),
    node.groups && (names.length || group) && countOf(sums) > LISTED ? make("p", {class: "dim"}, `The likeliest of ${whole(countOf(sums))} hands.`) : null].filter(known));
}

const LISTED = 20;  // Smallest number of hands of a group that the server lists.

function comboTable(node, hands) {
  const equal = state.equity !== null, other = state.nodes[1];
  const listed = node.groups ? [...hands].sort((a, b) => b.reach - a.reach).slice(0, LISTED) : hands.slice(0, state.rows);
  const head = make("tr", {}, make("th", {}, "hand"), make("th", {title: "remaining weight"}, "left"),
    ...node.actions.map((action, i) => make("th", {}, make("i", {class: "swatch", style: {background: colourOf(node, i)}}), pretty(action))),
    equal ? make("th", {}, "equity") : null);
  const rows = [...listed].sort((a, b) => (b.weight || 0) - (a.weight || 0)).map(hand => [hand, twinOf(other, hand)]).map(([hand, twin]) => row(hand, [
    make("td", {}, handName(hand, node), fixed(hand, twin)),
    make("td", {}, brief(100 * (hand.weight || 0), 3)),
    ...hand.p.map((p, action) => make("td", {class: "action", "data-p": p, "data-q": hand.q ? hand.q[action] : null},
      percent(p), twin ? make("small", {}, `B ${percent(twin.p[action])}`) : null,
      hand.q ? make("small", {}, worthText(hand.q[action], 3)) : null,
      hand.chips_q ? make("small", {}, `${signed(hand.chips_q[action], 4)} chips`) : null)),
    equal ? make("td", {class: "equity", "data-value": equityOf(hand)}, percent(equityOf(hand))) : null,
  ]));
  const body = make("tbody", {}, ...rows);
  const whole_ = make("table", {class: "combos"}, make("thead", {}, head), body);
  moves(body, "tr", () => 0);
  settle(body, "tr", null);
  return whole_;
}

const DRAWS = ["flush draw and open-ended", "flush draw and gutshot", "flush draw", "open-ended", "gutshot"];

function showGroups() {
  const node = state.node;
  if (!known(node.player) || !node.hands.some(hand => hand.made)) { at("groups").replaceChildren(); return; }
  const total = likely(everyOf(node)) || 1;
  const lines = names => names.map(name => {
    const hands = groupOf(node, name);
    if (!(likely(hands) > 0)) return null;
    const ev = meanOf(hands, hand => hand.ev), chips = meanOf(hands, hand => hand.chips), equity = meanOf(hands, hand => equityOf(hand));
    return make("tr", {}, 
      make("td", {}, make("button", {
        class: "group", "data-key": name, "aria-pressed": String(state.view.group === name),
        on: {click: () => {
          const group = state.view.group === name ? "" : name;
          look(node.groups ? {group, cell: ""} : {group});
          showGroups();
          showCombos(pickedClasses());
        }},
      }, name)),
      make("td", {"data-share": likely(hands) / total}, percent(likely(hands) / total)),
      make("td", {class: "bars"}, bar(node, mixOf(node, hands))),
      make("td", {}, worthText(ev, 3), known(chips) ? make("small", {}, `${signed(chips, 4)} chips`) : null), make("td", {}, percent(equity)));
  });
  const body = make("tbody", {});
  const heads = name => make("tr", {}, ...[`${name}${ofFirst()}`, "share", "strategy", "EV", "equity"].map(text => make("th", {}, text)));
  const kinds = node.groups
    ? Object.entries(node.groups).filter(([by]) => by !== "cell").map(([by, sums]) => [by === "made" ? "made hands" : by, sums.map(sum => sum.name)])
    : [["made hands and draws", [...state.about.made, ...DRAWS]]];
  const whole_ = make("table", {}, make("thead", {}, heads(kinds[0][0])), body);
  moves(body, ".group", () => 0);
  const active = at("groups").contains(document.activeElement) ? document.activeElement.dataset.key : null;
  at("groups").replaceChildren(whole_);
  body.replaceChildren(...kinds.flatMap(([name, names], at) => [at ? heads(name) : null, ...lines(names)]).filter(known));
  settle(body, ".group", active);
}
