// Table of hands, also as a heat map.

function bar(node, p) {
  return make("div", {class: "bar", "aria-hidden": "true"}, ...p.map((share, index) =>
    make("i", {style: {width: `${100 * (share || 0)}%`, background: colourOf(node, index)}})));
}

function row(hand, cells) {
  const pick = () => choose(hand.infoset);
  return make("tr", {
    "data-infoset": hand.infoset, "data-key": hand.infoset,
    class: [hand.reach > ALIVE ? "" : "never", hand.infoset === state.chosen ? "chosen" : ""].join(" ").trim() || null,
    on: {click: pick, keydown: event => { if (event.key === "Enter") pick(); }},
  }, ...cells);
}

// Solution in which a hand is locked; an edited lock is not in any yet.
function fixed(hand, twin) {
  const words = [];
  if (hand.lock) words.push(twin ? "A fixed" : "fixed");
  if (twin && twin.lock) words.push("B fixed");
  if (!words.length && lockedBy(hand)) words.push("to fix");
  return words.length ? make("small", {class: "fixed"}, words.join(", ")) : null;
}

// Number of the same hand in the second solution.
const inSecond = (twin, name, digits, unit = number => number) => twin && known(twin[name]) ? make("small", {}, `B ${brief(unit(twin[name]), digits)}`) : null;

const handName = (hand, node) => make("span", {class: "name"}, hand.hand ? pretty(hand.hand) : node.name);

function table(node, other, shown) {
  const equal = state.equity !== null, money = state.about.tournament;
  const head = make("tr", {}, make("th", {}, "hand"), make("th", {class: "bars"}, "strategy"), ...node.actions.map(action => make("th", {}, pretty(action))),
    make("th", {}, money && money.prizes ? "prizes" : "EV"), money ? make("th", {}, "chips") : null, equal ? make("th", {}, "equity") : null, make("th", {class: "reach"}, "reach"),
    make("th", {class: "lost", title: "against a best response"}, "lost"),
    make("th", {class: "regret", title: "what a best response from here on earns more, given that the hand gets here"}, "conditional regret"));
  const rows = shown.map(hand => {
    const twin = twinOf(other, hand);
    const actions = hand.p.map((p, action) => make("td", {
      class: "action", "data-p": p, "data-q": hand.q ? hand.q[action] : null,
    }, percent(p),
      twin ? make("small", {}, `B ${percent(twin.p[action])} (${points(twin.p[action] - p)})`) : null,
      hand.q ? make("small", {}, `EV ${worthText(hand.q[action])}`) : null,
      hand.chips_q ? make("small", {}, `${signed(hand.chips_q[action])} chips`) : null));
    return row(hand, [
      make("td", {}, handName(hand, node), fixed(hand, twin)),
      make("td", {class: "bars"}, bar(node, hand.p), twin ? bar(node, twin.p) : null), ...actions,
      make("td", {class: "ev", "data-value": hand.ev}, worthText(hand.ev), twin && known(twin.ev) ? make("small", {}, `B ${worthText(twin.ev)}`) : null),
      money ? make("td", {class: "chips-ev", "data-value": hand.chips}, signed(hand.chips), twin && known(twin.chips) ? make("small", {}, `B ${signed(twin.chips)}`) : null) : null,
      equal ? make("td", {class: "equity", "data-value": equityOf(hand)}, percent(equityOf(hand))) : null,
      make("td", {class: "reach", "data-value": hand.reach}, brief(hand.reach), inSecond(twin, "reach")),
      make("td", {class: "lost", "data-value": hand.loss}, lostText(hand.loss, 2), inSecond(twin, "loss", 2, amount)),
      make("td", {class: "regret", "data-value": hand.conditional_regret}, lostText(hand.conditional_regret, 2), inSecond(twin, "conditional_regret", 2, amount)),
    ]);
  });
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function heat(node, other, shown) {
  const head = make("tr", {}, make("th", {}, "hand"), ...node.actions.map(action => make("th", {}, pretty(action))));
  const rows = shown.map(hand => [hand, twinOf(other, hand)]).map(([hand, twin]) => row(hand, [
    make("td", {}, handName(hand, node)),
    ...hand.p.map((p, action) => make("td", {class: "cell action", "data-p": p, style: {"--p": p}},
      percent(p), twin ? make("small", {}, `B ${percent(twin.p[action])}`) : null)),
  ]));
  return make("table", {class: "heat"}, make("thead", {}, head), make("tbody", {}, ...rows));
}

// Tables of many hands begin with the likely hands.
function rowsShown(node) {
  const hands = node.hands.filter(hand => isShown(hand) &&
    (!pickedClasses().length || pickedClasses().includes(classOf(hand))));
  const all = node.groups ? make("p", {class: "dim"}, `${whole(node.hands.length)} of ${whole(countOf(everyOf(node)))} hands: the likeliest of each group.`) : null;
  if (hands.length <= state.rows) return [hands, all];
  const first = [...hands].sort((a, b) => b.reach - a.reach).slice(0, state.rows);
  const more = make("button", {id: "more", on: {click: () => { state.rows *= 4; showStrategy(); }}},
    `${whole(state.rows)} of ${whole(hands.length)} hands, the likeliest: show more`);
  return [first, all ? make("div", {}, more, all) : more];
}
