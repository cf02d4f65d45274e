// Poker table of a card game: board and chips, possible next cards, ranges of the players.

function showSpot() {
  const here = state.node.path[state.node.path.length - 1];
  const parts = [];
  if (here.board && here.board.length) parts.push(make("span", {class: "board", "aria-label": "board"}, ...here.board.map(cardSpan)));
  if (here.chips) {
    parts.push(make("span", {class: "chips"}, "pot ", make("b", {}, brief(here.chips.pot, 6))));
    if (here.chips.behind) {
      here.chips.behind.forEach((chips, player) => parts.push(make("span", {class: "chips"}, `${seat(player)} `, make("b", {}, brief(chips, 6)))));
    }
    if (here.chips.call) parts.push(make("span", {class: "chips"}, "to call ", make("b", {}, brief(here.chips.call, 6))));
  }
  at("spot").replaceChildren(...parts);
}

// ----------------------------------------------------------------------------- possible cards

// True if single cards of a full deck are dealt, or too many sets of cards to list.
const dealsCards = node => state.about.cards && node.kind === "chance" &&
  (node.left_out || node.children.every(child => (cardsIn(child.label) || []).length === 1));

function runouts(node, found) {
  const by = new Map(node.children.map(child => [child.label, child]));
  const show = showNow() === "equity" ? "equity" : "strategy";
  // The equity of the first player who has not folded.
  const who = found ? Math.max(0, state.about.seats.findIndex((_, player) => Object.values(found.cards).some(card => known(card.equity[player])))) : 0;
  const cells = Object.keys(SUITS).flatMap(suit => [...ranksOf()].map(rank => {
    const label = rank + suit, child = by.get(label), said = found ? found.cards[label] : null;
    let style = {}, text = "";
    if (said && said.p && show === "strategy") style = filled(said.p.map((p, i) => [p, colourOf(found, i)]), 1);
    if (said && known(said.equity[who])) {
      text = `${Math.round(100 * said.equity[who])}`;
      if (show === "equity") style = filled([[1, scaled(said.equity[who])]], 1);
    }
    return make("button", {
      class: `cell ${suit}`, "data-label": label, "data-key": label, "data-id": child ? child.id : null, disabled: !child, style,
      "data-p": said && said.p ? said.p.join(" ") : null, "data-equity": said ? said.equity[who] : null,
      "aria-label": child ? `${label}${text ? `, equity of ${seat(who)} ${text} percent` : ""}` : label,
      on: {click: () => go(child.id)},
    }, make("b", {}, rank + SUITS[suit]), text ? make("span", {}, text) : null);
  }));
  const grid = make("div", {class: "square runouts", role: "group", "aria-label": "the next card"}, ...cells);
  grid.style.setProperty("--columns", ranksOf().length);
  moves(grid, ".cell", () => ranksOf().length);
  const legend = found && found.actions.length ? make("p", {class: "dim"}, `Next ${seat(found.player)}: `, ...found.actions.flatMap((action, i) => [
    make("i", {class: "swatch", style: {background: colourOf(found, i)}}), ...pretty(action)]), `; numbers: equity of ${seat(who)}, per cent${ofFirst()}.`)
    : make("p", {class: "dim"}, found ? `Numbers: equity of ${seat(who)}, per cent${ofFirst()}.` : "Choose the next card.");
  return [grid, legend];
}

// Several cards are dealt at once; the user chooses them one by one.
function dealPicker(node) {
  const here = node.path[node.path.length - 1], chosen = new Set();
  const free = new Set(state.about.deck.filter(card => !here.board.includes(card)));
  const said = make("p", {class: "dim"}, `${whole(node.left_out)} boards are possible: choose the cards.`);
  const cells = Object.keys(SUITS).flatMap(suit => [...ranksOf()].map(rank => make("button", {
    class: `cell ${suit}`, "data-label": rank + suit, "data-key": rank + suit, "aria-pressed": "false", disabled: !free.has(rank + suit),
    on: {click: async event => {
      const cell = event.currentTarget, label = rank + suit;
      if (!chosen.delete(label)) chosen.add(label);
      cell.setAttribute("aria-pressed", String(chosen.has(label)));
      cell.classList.toggle("chosen", chosen.has(label));
      if (chosen.size < here.deals) return;
      const found = await source.search(`${node.name === "start" ? "" : node.name} ${[...chosen].join("")}`.trim());
      if (found.length) { go(found[0].node); return; }
      said.textContent = "These cards cannot be dealt.";
      for (const one of grid.querySelectorAll(".chosen")) { one.classList.remove("chosen"); one.setAttribute("aria-pressed", "false"); }
      chosen.clear();
    }},
  }, make("b", {}, rank + SUITS[suit]))));
  const grid = make("div", {class: "square runouts", role: "group", "aria-label": "cards that are dealt", style: {"--columns": ranksOf().length}}, ...cells);
  moves(grid, ".cell", () => ranksOf().length);
  return [grid, said];
}

async function showCards() {
  const node = state.node, box = at("strategy");
  if (node.left_out) { refill(box, ".cell", ...dealPicker(node)); return; }
  refill(box, ".cell", ...runouts(node, null));
  const found = await source.extra("runouts", node.id, 0).catch(() => null);
  if (found && state.node === node) refill(box, ".cell", ...runouts(node, found));
}

// ----------------------------------------------------------------------------------------- ranges

// Name the solution whose numbers are shown, if there are two.
const ofFirst = () => state.about.names.length > 1 ? ` in ${state.about.names[0]}` : "";

function showRanges() {
  const ranges = state.node.ranges;
  at("ranges-section").hidden = !ranges.length;
  at("ranges-title").textContent = `ranges${ofFirst()}`;
  at("ranges").className = ranges.length && classes(ranges[0]) ? "two" : "";
  at("ranges").replaceChildren(...ranges.flatMap((hands, player) => classes(hands) ? [rangeGrid(hands, player)] : [
    make("p", {class: "dim"}, `${seat(player)}, given that the node is reached`), rangeBars(hands, player)]));
}

function rangeBars(hands, player) {
  const most = Math.max(...hands.map(hand => hand.p || 0), 1e-300);
  return make("div", {class: "range", "data-player": player}, ...hands.flatMap(hand => [
    make("span", {}, hand.hand),
    make("i", {style: {width: `${100 * (hand.p || 0) / most}%`}}),
    make("b", {"data-hand": hand.hand, "data-p": hand.p}, percent(hand.p)),
  ]));
}

function rangeGrid(hands, player) {
  const node = state.node, own = node.cells ? node.cells[player] : hands, equity = state.equity && state.equity[0] && state.equity[0].means[player];
  const cells = placesOf(node).map(name => {
    const here = node.cells ? own.filter(sum => sum.name === name) : classes(hands).get(name) || [], weight = here.length ? weightOf(here) : 0;
    return make("i", {"data-hand": name, "data-weight": weight, title: `${name} ${percent(weight)}`, style: filled([[1, "var(--weight)"]], weight)});
  });
  return make("figure", {class: "range-grid", "data-player": player},
    make("figcaption", {}, make("b", {}, seat(player)), ` ${combosText(own)}`, known(equity) ? `, equity ${percent(equity)}` : ""),
    make("div", {class: node.grid ? "square small named" : "square small", style: {"--columns": ranksOf().length}, role: "img", "aria-label": `range of ${seat(player)}`}, ...cells));
}
