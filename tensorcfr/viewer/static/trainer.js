// Trainer: plays against the solution, the cost of each decision, and statistics over all sessions.

const table_ = {play: null, statistics: null, seat: null, node: 0, solution: 0, hands: 10, dealt: 0, busy: false, note: ""};

const canTrain = () => answers && state.about.players === 2 && state.about.kind === "public";

async function showTrainer() {
  if (!table_.statistics) await trained(() => request("/api/train"));
  drawTrainer();
}

// Send a request of the trainer, and show its answer, or the reason of a refusal.
async function trained(work) {
  if (table_.busy) return;
  table_.busy = true;
  try {
    Object.assign(table_, await work(), {note: ""});
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    table_.note = error.message;
  } finally { table_.busy = false; }
}

async function dealHand() {
  if (table_.dealt >= table_.hands) table_.dealt = 0;
  const {solution, seat: player, node} = table_;
  await trained(async () => {
    const answer = await request("/api/train/deal", {solution, seat: player, node});
    table_.dealt += 1;
    return answer;
  });
  drawTrainer();
}

async function takeAction(action) {
  await trained(() => request("/api/train/act", {action}));
  drawTrainer();
}

function trainerKey(key) {
  const {play} = table_;
  if (/^[1-9]$/.test(key) && play && !play.over && play.actions[Number(key) - 1]) { takeAction(play.actions[Number(key) - 1]); return true; }
  if (key === "Enter" && (!play || play.over)) { dealHand(); return true; }
  return false;
}

// -------------------------------------------------------------------------------------- controls

function trainerControls() {
  const choice = (label, options, now, change) => make("label", {}, label, make("select", {"data-key": label, on: {change: event => change(event.target.value)}},
    ...options.map(([value, text]) => make("option", {value, selected: String(now) === value}, text))));
  const seats = choice("you are", [...state.about.seats.map((_, player) => [String(player), seat(player)]), ["both", "both, in turn"]],
    table_.seat === null ? "both" : table_.seat, value => { table_.seat = value === "both" ? null : Number(value); });
  const here = state.node && state.node.kind === "decision" && state.node.id !== state.about.root ? state.node : null;
  const lines = [[String(state.about.root), "the start"]];
  if (here) lines.push([String(here.id), here.name]);
  if (!lines.some(([id]) => id === String(table_.node))) table_.node = state.about.root;
  const begin = choice("from", lines, table_.node, value => { table_.node = Number(value); table_.dealt = 0; });
  const count = make("input", {type: "number", min: 1, max: 1000, value: table_.hands, size: 4, "aria-label": "hands to play", on: {change: event => {
    table_.hands = Math.max(1, Math.round(Number(event.target.value)) || 1);
    table_.dealt = 0;
  }}});
  const against = state.about.names.length > 1 ? choice("against", state.about.names.map((name, index) => [String(index), nameOf(index)]), table_.solution, value => { table_.solution = Number(value); }) : null;
  return make("div", {class: "controls"}, seats, begin, make("label", {}, "hands", count), against,
    make("button", {id: "deal", class: "main", on: {click: dealHand}}, table_.dealt && table_.dealt < table_.hands ? "next hand (Enter)" : "deal (Enter)"),
    make("button", {on: {click: () => openPanel(null)}}, "back to the solution"));
}

// ----------------------------------------------------------------------------------------- table

function felt(play) {
  const steps = play.steps.map(({label, player}) => make("span", {class: player === play.seat ? "yours" : ""},
    make("small", {}, player === null ? "deal" : player === play.seat ? "you" : seat(player)), pretty(label)));
  const chips = play.chips || {};
  return make("div", {class: "felt"},
    make("p", {class: "dim"}, `hand ${table_.dealt} of ${table_.hands} · you are ${seat(play.seat)}`),
    play.board && play.board.length ? make("div", {class: "board large", "aria-label": "board"}, ...play.board.map(cardSpan)) : null,
    known(chips.pot) ? make("p", {class: "chips"}, "pot ", make("b", {}, brief(chips.pot, 6)), ...(chips.behind || []).flatMap((left, player) => [` · ${seat(player)} `, make("b", {}, brief(left, 6))]),
      chips.call ? [" · to call ", make("b", {}, brief(chips.call, 6))] : []) : null,
    make("div", {class: "steps"}, ...steps),
    make("div", {class: "holding"}, make("span", {class: "dim"}, "you hold "), make("span", {class: "board large", id: "holding"}, ...pretty(play.hand)),
      play.over ? [make("span", {class: "dim"}, `${seat(1 - play.seat)} holds `), make("span", {class: "board large", id: "opponent"}, ...pretty(play.opponent))] : []),
    play.over
      ? make("p", {id: "outcome", role: "status"}, make("b", {}, `${signed(amount(play.won, null))} ${unitName()}`), hasPot() ? make("small", {}, `net of half the pot${play.decisions.length ? "" : "; the hand ended before your first decision"}`) : null)
      : make("div", {id: "choices", role: "toolbar", "aria-label": "your action"}, ...play.actions.map((action, index) => make("button", {
        "data-action": action, "data-key": index, title: `key ${index + 1}`, style: {"border-left-color": play.colours ? play.colours[index] : palette(index)},
        on: {click: () => takeAction(action)}}, pretty(action), make("small", {}, index + 1)))));
}

const verdict = rated => rated.cost === 0 ? "best" : rated.right ? "right" : "mistake";
const costText = one => `${lostText(one.cost, 3)} ${unitName()}${known(one.share) && valueIn() !== "percent" ? `, ${percent(one.share)} of the pot` : ""}`;

// Decisions of the play, the last one first: the solution's strategy with the hand, and the EV of each action.
function decisions(play) {
  return [...play.decisions].reverse().map(rated => make("div", {class: `rated ${verdict(rated)}`, "data-cost": rated.cost, "data-action": rated.action},
    make("p", {}, make("b", {class: "verdict"}, verdict(rated)), " ", ...pretty(rated.action), rated.cost ? make("span", {}, ` costs ${costText(rated)}; best: `, ...pretty(rated.best)) : "",
      make("small", {}, rated.line === "start" ? "at the start" : `after ${rated.line}`)),
    bar(rated, rated.p),
    make("div", {class: "mix"}, ...rated.actions.map((action, index) => make("span", {class: action === rated.action ? "taken" : ""},
      make("i", {class: "swatch", style: {background: colourOf(rated, index)}}), ...pretty(action), ` ${percent(rated.p[index])}`,
      make("small", {}, `EV ${worthText(rated.q[index], 4, play.seat, rated.chips)}`))))));
}

function statistics({sums, streets, sessions, worst, file, problem}) {
  const heads = ["", "hands", "decisions", "right", "cost, % pot"].map(text => make("th", {}, text));
  const row = (name, one, attributes = {}) => make("tr", attributes, make("td", {}, name), make("td", {"data-name": "plays"}, known(one.plays) ? whole(one.plays) : ""), make("td", {"data-name": "decisions"}, whole(one.decisions)),
    make("td", {"data-name": "right"}, one.decisions ? percent(one.right / one.decisions) : "–"), make("td", {}, known(one.share) ? `${(100 * one.share).toFixed(2)}%` : "–"));
  const body = [...Object.entries(sums).map(([name, one]) => row(name, one, {"data-sums": name})), ...Object.entries(streets).map(([name, one]) => row(`  ${name}`, one))];
  return [
    make("h3", {}, "how you play"), make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body)),
    worst.length ? make("div", {}, make("h3", {}, "most expensive decisions of this game"), make("ul", {class: "worst"}, ...worst.map(one => make("li", {}, make("button", {
      title: "look at this node", on: {click: quietly(async () => {
        const found = one.line === "start" ? [{node: state.about.root}] : await source.search(one.line);
        if (found.length) { openPanel(null); go(found[0].node); }
      })}}, `${costText(one)}: ${one.action} with ${one.hand}, not ${one.best}`), make("small", {}, one.line === "start" ? "at the start" : `after ${one.line}`))))) : null,
    sessions.length > 1 ? make("div", {}, make("h3", {}, "sessions"), make("table", {}, make("tbody", {}, ...sessions.map(one => row(`${one.when.slice(0, 10)} ${one.game}`, one))))) : null,
    make("p", {class: problem ? "error" : "dim", id: "log"}, problem || `${file ? `Saved in ${file}. ` : ""}A decision is right if it costs at most the exploitability of the solution.`),
  ].filter(known);
}

function drawTrainer() {
  const {play, statistics: told} = table_, box = at("trainer");
  if (box.hidden) return;
  const active = box.contains(document.activeElement) ? document.activeElement.dataset.key || document.activeElement.id : null;
  const series = play && play.over && table_.dealt >= table_.hands;
  box.replaceChildren(trainerControls(), make("p", {class: "error", role: "alert", id: "trainer-note", hidden: !table_.note}, table_.note), make("div", {class: "training"},
    make("div", {}, play ? felt(play) : make("p", {class: "dim"}, "Hands are dealt from the ranges, the opponent plays the solution, and each of your decisions is compared with it."),
      series ? make("p", {id: "series", role: "status"}, `${whole(table_.hands)} hands are played.`) : null, ...(play ? decisions(play) : [])),
    make("aside", {}, make("section", {}, ...(told ? statistics(told) : [])))));
  const choices = at("choices");
  if (choices) { settle(choices, "button", null); moves(choices, "button", () => 1000); }
  const focus = choices ? choices.querySelector("button") : at("deal");
  if (active !== null || document.activeElement === document.body) focus.focus({preventScroll: true});
}
