// Values on the screen: their unit, and the amount from which they count. The page states both.

// Players to whom the pot at the start belongs in equal parts; a folded player whose hand is dealt has none.
const sharers = () => state.about.start && state.about.start.put_in ? state.about.start.put_in.filter(chips => chips > 0).length : state.about.players;
const partName = () => sharers() > 2 ? "a third of" : "half";
const VALUE_OF = {net: () => `net of ${partName()} the pot`, pot: () => "share of the pot"};
const VALUE_IN = {chips: () => "chips", bb: () => "big blinds", percent: () => "% of the pot"};

// Prizes of a tournament have one unit; games without a pot at the start have no shares of it.
const hasPot = () => known(state.about.pot) && !state.about.tournament;
const canCount = {of: name => name === "net" || hasPot(), in: name => name === "chips" || (!state.about.tournament && (name === "bb" ? known(state.about.big_blind) : hasPot()))};
const valueOf = () => VALUE_OF[state.view.of] && canCount.of(state.view.of) ? state.view.of : "net";
const valueIn = () => VALUE_IN[state.view.in] && canCount.in(state.view.in) ? state.view.in : "chips";
const unitName = () => ({bb: "bb", percent: "% of the pot"})[valueIn()] || state.about.unit;

const chipsOf = node => node.path.length ? node.path[node.path.length - 1].chips : null;

// Factor from the unit of the game. A share of the pot in per cent is of the pot at the node.
function valueFactor(chips) {
  if (valueIn() === "bb") return 1 / state.about.big_blind;
  if (valueIn() === "percent") return 100 / (valueOf() === "pot" && chips ? chips.pot : state.about.pot);
  return 1;
}
const amount = (value, chips = chipsOf(state.node)) => known(value) ? value * valueFactor(chips) : value;
const worthOf = (value, player = state.node.player, chips = chipsOf(state.node)) =>
  known(value) ? (value + (valueOf() === "pot" && chips && chips.put_in ? chips.put_in[player] : 0)) * valueFactor(chips) : value;
// Texts: a difference or a loss, and a value.
const lostText = (value, digits, chips) => brief(amount(value, chips), digits);
const worthText = (value, digits, player, chips) => (valueOf() === "pot" ? brief : signed)(worthOf(value, player, chips), digits);

function convention(chips = chipsOf(state.node)) {
  const {pot, unit} = state.about;
  const per = valueIn() === "percent" ? `, in per cent of the pot ${valueOf() === "pot" ? "here" : "at the start"} (${brief(valueOf() === "pot" && chips ? chips.pot : pot, 6)})` : "";
  if (!hasPot()) return unit ? `EV: ${unit} won or lost in the whole game${per}.` : "";
  return valueOf() === "pot"
    ? `EV: part of the pot that the player gets from here on, own bets included; a fold is 0${per}.`
    : `EV: won beyond ${partName().replace(/ of$/, "")} of the pot at the start (${brief(pot, 6)} / ${sharers()})${per}${state.about.zero_sum ? "; the values of all players sum to 0" : ""}.`;
}

function showUnits() {
  const box = at("units"), text = convention();
  box.hidden = at("convention").hidden = !state.about.cards || !text;
  at("convention").textContent = text;
  if (box.hidden) return;
  const choice = (id, names, label, now, can) => make("select", {id, "aria-label": label, hidden: Object.keys(names).filter(can).length < 2, on: {
    change: event => { look({[id.slice(6)]: event.target.value}); show(); showCost(); at(id).focus(); }}},
  ...Object.entries(names).filter(([name]) => can(name)).map(([name, words]) => make("option", {value: name, selected: name === now}, words())));
  box.replaceChildren(choice("value-of", VALUE_OF, "values count from", valueOf(), canCount.of), " ",
    choice("value-in", VALUE_IN, "unit of values", valueIn(), canCount.in));
}
