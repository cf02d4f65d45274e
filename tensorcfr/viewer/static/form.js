// Form for a spot: its options, its size before it is built, and the solve.

const STREETS = ["flop", "turn", "river"];
// Fields of the players' ranges in the order in which they act; a third player sits in the middle.
const RANGE_FIELDS = ["oop", "middle", "ip"];
// Options of a solve, which are not part of a spot.
const SOLVING = {target: "0.5", iterations: "1000", precision: "float32", threads: "auto"};
// Sizes of all players, or of the first one where `split` is set.
const SIZES = {
  "bets.flop": "50%", "bets.turn": "60%", "bets.river": "60%,a", "raises.flop": "2.5x", "raises.turn": "2.5x", "raises.river": "2.5x",
};
const FIELDS = {
  game: "holdem", players: "2", board: "Td9d6hQc", oop: "", middle: "", ip: "", pot: "100", stacks: "200",
  chip: "", big_blind: "", rake: "", rake_cap: "", dead: "", folded: "", deal_folded: "", incentives: "", payouts: "", others: "", bounties: "",
  split: "", "donk.turn": "", "donk.river": "", add_allin: "150", force_allin: "15", merging: "10", add: "", remove: "", line: "",
  ...SOLVING, ...SIZES, ...Object.fromEntries(Object.entries(SIZES).flatMap(([name, sizes]) => [[`${name}.middle`, sizes], [`${name}.ip`, sizes]])),
};
const spot = {...FIELDS};
let choices = null, isFilled = false, sizing = 0, building = 0;

// Example ranges of a game, in the order of the fields.
const examplesOf = game => choices.spots[game] || [];
const rangeFields = () => RANGE_FIELDS.filter(name => name !== "middle" || spot.players === "3");
// Name of a player in the options of the spot, and the end of the names of the player's sizes.
const nameIn = field => choices.seats[spot.players][rangeFields().indexOf(field)];
const labelOf = field => seatText(nameIn(field));
const endFor = field => field === "oop" ? "" : `.${field}`;
const boardOf = () => (spot.board.match(/[akqjt2-9][shdc]/gi) || []).map(card => card[0].toUpperCase() + card[1].toLowerCase());
const streetsLeft = () => STREETS.slice(Math.max(0, boardOf().length - 3));
const linesOf = text => text.split("\n").map(line => line.trim()).filter(Boolean);
const share = text => text.trim() ? `${text.replace("%", "").trim()}%` : "";

// Options for the game: sizes of the streets that are left.
function spotOptions() {
  const left = streetsLeft();
  const sizes = what => Object.fromEntries(left.map(street => [street, spot.split
    ? Object.fromEntries(rangeFields().map(name => [nameIn(name), spot[`${what}.${street}${endFor(name)}`]])) : spot[`${what}.${street}`]]));
  const donk = left.slice(1).filter(street => spot[`donk.${street}`].trim()).map(street => [street, spot[`donk.${street}`]]);
  const options = {bets: sizes("bets"), raises: sizes("raises"), ranges: rangeFields().map(name => spot[name])};
  for (const name of ["game", "board", "pot", "stacks", "payouts", "others", "bounties", "chip", "big_blind", "rake_cap", "dead"]) options[name] = spot[name];
  for (const name of ["rake", "add_allin", "force_allin", "merging"]) options[name] = share(spot[name]);
  if (spot.deal_folded) options.deal_folded = true;
  for (const name of ["folded", "add", "remove", "incentives"]) if (linesOf(spot[name]).length) options[name] = linesOf(spot[name]);
  if (donk.length) options.donk = Object.fromEntries(donk);
  return options;
}

const changedFields = () => Object.fromEntries(Object.keys(FIELDS).filter(name => spot[name] !== FIELDS[name]).map(name => [name, spot[name]]));

function keepForm() {
  const parts = Object.entries(changedFields()).map(([name, value]) => `&${name}=${encodeURIComponent(value)}`);
  history.replaceState(null, "", `#form${parts.join("")}`);
  keepPage({form: changedFields()});
}

function readForm() {
  const parts = location.hash.split("&").slice(1).map(part => part.split("="));
  for (const [name, value] of parts) if (name in FIELDS) try { spot[name] = decodeURIComponent(value); } catch { /* Not ours. */ }
  if (!parts.length && !isFilled) takeFields({...FIELDS, ...choices.page.form});
  isFilled = true;
}

// Take fields that the server sends. Others get their defaults; but settings of the solve stay, and so
// do ranges and sizes if the fields have none.
function takeFields(fields) {
  const stays = name => name in SOLVING || (!("oop" in fields) && [...RANGE_FIELDS, "players"].includes(name)) ||
    (!("bets.river" in fields) && /^(bets|raises|donk|split)/.test(name));
  for (const name of Object.keys(FIELDS)) {
    if (typeof fields[name] === "string") spot[name] = fields[name];
    else if (!stays(name)) spot[name] = FIELDS[name];
  }
}

const said = text => make("p", {class: "dim"}, text);

function field(name, label, attributes = {}) {
  const box = make("input", {id: `form-${name}`, "data-field": name, autocomplete: "off", spellcheck: "false", ...attributes, on: {input: () => changed(name, box.value)}});
  box.value = spot[name];
  return make("label", {}, label, box);
}

function area(name, label, placeholder) {
  const box = make("textarea", {id: `form-${name}`, rows: 2, spellcheck: "false", placeholder, on: {input: () => changed(name, box.value)}});
  box.value = spot[name];
  return make("label", {class: "area"}, label, box);
}

function choice(name, label, values) {
  const box = make("select", {id: `form-${name}`, "data-field": name, on: {change: () => changed(name, box.value)}}, ...values.map(value => make("option", {value}, value)));
  box.value = spot[name];
  return make("label", {}, label, box);
}

function changed(name, value) {
  const before = examplesOf(spot.game);
  spot[name] = value;
  keepForm();
  if (name === "board") { showDeck(); showStreets(); }
  if (name === "split") {
    // The players begin with the sizes that they had in common.
    if (value) for (const one of Object.keys(SIZES)) spot[`${one}.middle`] = spot[`${one}.ip`] = spot[one];
    showStreets();
  }
  if (name === "players") { drawForm(); at("form-players").focus(); }
  if (name === "game") RANGE_FIELDS.forEach((seatName, index) => {
    // Replace example ranges that the user has not changed.
    const example = examplesOf(value)[index], isExample = example !== undefined && spot[seatName] === before[index];
    if (!rangeFields().includes(seatName)) { if (isExample) spot[seatName] = example; }
    else if (isExample) setField(seatName, example);
    else quietly(showPainted)(seatName);
  });
  if (rangeFields().includes(name)) quietly(showPainted)(name);
  quietly(showSize)();
  if (!SOLVING[name] && at("form-tree").open) quietly(showTree)();
}

function setField(name, value) {
  at(`form-${name}`).value = value;
  changed(name, value);
}

// Details stay open while something in them differs from its default.
function more(id, title, names, ...children) {
  return make("details", {id, open: names.some(name => spot[name] !== FIELDS[name])}, make("summary", {}, title), ...children);
}

async function showForm() {
  choices = await request("/api/form/about");
  if (!isFilled) RANGE_FIELDS.forEach((name, index) => { spot[name] = FIELDS[name] = examplesOf(FIELDS.game)[index]; });
  readForm();
  at("title").textContent = "A new spot";
  at("title").className = "";
  document.title = "a new spot – tensorcfr";
  at("spot").replaceChildren();
  at("about").hidden = true;
  drawForm();
  const status = await request("/api/form/status");
  if (status.building) waitForGame();
  else if (status.error) sayBuilding(status.error, true);
}

function drawForm() {
  const number = {inputmode: "decimal"};
  const deal = make("input", {id: "form-deal_folded", type: "checkbox", on: {change: () => changed("deal_folded", deal.checked ? "yes" : "")}});
  deal.checked = Boolean(spot.deal_folded);
  const boardAndChips = make("fieldset", {}, make("legend", {}, "board and chips"),
    make("div", {class: "pairs"}, choice("game", "game", Object.keys(choices.spots)), choice("players", "players", Object.keys(choices.seats))), field("board", "board"), make("div", {id: "deck", class: "square runouts", role: "group", "aria-label": "cards of the board"}),
    make("div", {class: "pairs"}, field("pot", "pot", number), field("stacks", "stacks", {title: "one number, or one of each player: 100,200,150"}), field("rake", "rake, %", {...number, placeholder: "0"}), field("rake_cap", "rake cap", {...number, placeholder: "none"})),
    more("form-more", "chip, blinds, dead and folded cards, incentives", ["chip", "big_blind", "dead", "folded", "deal_folded", "incentives"],
      make("div", {class: "pairs"}, field("chip", "smallest chip", {...number, placeholder: "fits"}), field("big_blind", "big blind", number)), field("dead", "dead cards", {placeholder: "2c2d"}),
      area("folded", "ranges that folded, one on each line", "random, !top 25%"),
      make("label", {class: "check", title: "exact, for one range; an iteration takes about seven times as long"}, deal, "deal the folded hand"),
      area("incentives", "incentives, one on each line", "ip call +2"),
      said("Bets are rounded to the smallest chip: by default 1, 0.1, 0.01, …, whichever fits the pot and the stacks.")));
  const money = more("form-tournament", "tournament", ["payouts", "others", "bounties"],
    field("payouts", "prizes", {placeholder: "500,300,200; empty in a cash game"}),
    field("others", "others' stacks", {placeholder: "1500,1400"}), field("bounties", "bounties", {placeholder: "OOP, IP, others"}),
    said("Prizes that can still be won, the first first. Unequal stacks: OOP,IP. Bounties are progressive."));
  const split = make("input", {id: "form-split", type: "checkbox", on: {change: () => changed("split", split.checked ? "yes" : "")}});
  split.checked = Boolean(spot.split);
  const sizes = make("fieldset", {}, make("legend", {}, "sizes"), make("div", {id: "streets"}), make("label", {class: "check"}, split, spot.players === "3" ? "other sizes for each player" : "other sizes for IP"),
    said("60% of the pot, 2.5x the bet (raises), 100c chips, e geometric, a all-in; commas between. Donk bets: empty as bets, - none."),
    more("form-thresholds", "thresholds", ["add_allin", "force_allin", "merging"],
      field("add_allin", "add all-in up to, % of the pot", number), field("force_allin", "all-in if at most this is left, % of the pot", number), field("merging", "drop sizes nearer than, %", number)),
    make("details", {id: "form-tree", open: Boolean(spot.line || spot.add || spot.remove), on: {toggle: quietly(showTree)}}, make("summary", {}, "tree: add and remove sizes at a line"), make("div", {id: "tree"}),
      area("add", "added lines", "check bet75"), area("remove", "removed lines", "check bet50")), money);
  const solving = make("fieldset", {}, make("legend", {}, "solve"),
    make("p", {id: "form-size", role: "status"}),
    make("div", {class: "pairs"}, field("target", "until, % of the pot", number), field("iterations", "or iterations", {inputmode: "numeric"}),
      choice("precision", "precision", choices.precisions), choice("threads", "threads", ["auto", ...Array.from({length: choices.cores}, (_, i) => String(i + 1))])),
    make("p", {class: "buttons"}, make("button", {id: "build", class: "main", disabled: true, on: {click: () => build({spot: spotOptions()})}}, "build and solve"),
      make("button", {id: "build-only", disabled: true, title: "look at the tree and fix strategies before the first solve", on: {click: () => build({spot: spotOptions(), build_only: true})}}, "build only"),
      make("button", {id: "cancel", hidden: true, on: {click: quietly(() => request("/api/form/cancel", {}))}}, "cancel")),
    make("p", {id: "building", role: "status"}),
    make("p", {class: "dim buttons"}, "Or a game: ", ...choices.games.map(name => make("button", {"data-game": name, on: {click: () => build({game: name})}}, name))));
  at("form").replaceChildren(
    make("div", {class: "fields"}, make("div", {}, boardAndChips), sizes, make("div", {}, solving, openings())), make("div", {class: "fields"}, ...rangeFields().map(painter)));
  moves(at("deck"), ".cell", () => 13);
  showDeck();
  showStreets();
  for (const seatName of rangeFields()) quietly(showPainted)(seatName);
  quietly(showSize)();
}

function showDeck() {
  const board = boardOf();
  refill(at("deck"), ".cell", ...Object.keys(SUITS).flatMap(suit => [...RANKS].map(rank => {
    const card = rank + suit, on = board.includes(card);
    return make("button", {
      class: `cell ${suit}${on ? " chosen" : ""}`, "data-key": card, "data-label": card, "aria-pressed": String(on), disabled: !on && board.length >= 5,
      on: {click: () => setField("board", (on ? board.filter(one => one !== card) : [...board, card]).join(""))},
    }, make("b", {}, rank + SUITS[suit]));
  })));
}

function showStreets() {
  const left = streetsLeft(), now = `${left.join()}${spot.split}${spot.players}`;
  if (at("streets").dataset.now === now) return;
  at("streets").dataset.now = now;
  const named = who => name => spot.split ? `${who} ${name}` : name;
  at("streets").replaceChildren(...left.map((street, index) => make("div", {class: "pairs", role: "group", "aria-label": street}, make("b", {}, street),
    ...(spot.split ? rangeFields() : ["oop"]).flatMap(seatName => {
      const end = endFor(seatName), label = named(labelOf(seatName));
      return [field(`bets.${street}${end}`, label("bets")), field(`raises.${street}${end}`, label("raises"))];
    }),
    index ? field(`donk.${street}`, "donk bets", {placeholder: "as bets"}) : null)));
}

// ------------------------------------------------------------------------------ size and solve

let lastSize = null;
async function showSize() {
  const turn = ++sizing, words = at("form-size");
  // A size of other fields would mislead, and so would a button that builds what it does not describe.
  allowSpot(false);
  words.className = "dim";
  words.textContent = "working out the size …";
  await new Promise(done => setTimeout(done, 150));
  if (turn !== sizing) return;
  const size = await request("/api/form/size", {spot: spotOptions(), precision: spot.precision});
  if (turn !== sizing) return;
  const failed = size.error;
  words.className = failed ? "error" : "";
  const before = lastSize && !failed && lastSize.public_nodes !== size.public_nodes ? ` (before: ${whole(lastSize.public_nodes)} public nodes, ${lastSize.memory})` : "";
  words.textContent = failed || `${size.hands.join(" × ")} hands, ${whole(size.public_nodes)} public nodes, ${whole(size.infosets)} infosets: about ${size.memory} to build and solve${before}.${size.chip === 1 ? "" : ` Smallest chip ${size.chip}.`}${moneyOf(size.tournament)}`;
  if (!failed) lastSize = size;
  allowSpot(!failed && at("cancel").hidden);
}
const allowSpot = yes => { at("build").disabled = at("build-only").disabled = !yes; };

// Prizes and risks of the players of the spot before it is played.
function moneyOf(tournament) {
  if (!tournament || !tournament.prizes) return "";
  const {players, prizes, bubble_factors: factors} = tournament;
  return ` Prizes now: ${[0, 1].map(i => `${players[i]} ${brief(prizes[i])}${known(factors[i][1 - i]) ? `, bubble factor ${factors[i][1 - i].toFixed(2)}` : ""}`).join("; ")}.`;
}

function sayBuilding(text, failed) {
  at("building").className = failed ? "error" : "";
  at("building").textContent = text;
}

async function build(what) {
  const target = Number(spot.target);
  if (what.spot && !Number.isFinite(target)) { sayBuilding(`The target must be a number, not ${spot.target}.`, true); return; }
  const options = what.spot ? {target: target > 0 ? target : null, precision: spot.precision, fields: changedFields()} : {target: null};
  try {
    await request("/api/form/solve", {...what, ...options, iterations: Number(spot.iterations), threads: spot.threads === "auto" ? null : Number(spot.threads)});
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    sayBuilding(error.message, true);
    return;
  }
  waitForGame();
}

function allowBuilding(yes) {
  for (const button of at("form").querySelectorAll("#build, #build-only, [data-game]")) button.disabled = !yes;
}

async function waitForGame() {
  const turn = ++building;
  let status;
  at("cancel").hidden = false;
  allowBuilding(false);
  for (let seconds = 0; turn === building; seconds += 0.3) {
    try { status = await request("/api/form/status"); } catch { return; }
    if (!status.building) break;
    sayBuilding(`${status.cancelled ? "cancelling" : compilingOf(status) || status.work} … ${seconds.toFixed(0)} s`);
    await new Promise(done => setTimeout(done, 300));
  }
  if (turn !== building) return;
  at("cancel").hidden = true;
  allowBuilding(true);
  if (status.error || status.cancelled || !status.ready) {
    sayBuilding(status.error || "cancelled", Boolean(status.error));
    quietly(showSize)();
    return;
  }
  await renew(status.view);
}
