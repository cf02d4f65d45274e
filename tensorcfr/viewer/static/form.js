// Form for a spot: its options, its size before it is built, and the solve.

const STREETS = ["flop", "turn", "river"];
// Example ranges of both players.
const EXAMPLES = {
  holdem: ["66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s", "22+,A2s+,ATo+,K9s+,KJo+,Q9s+,QJo,J9s+,T8s+,97s+,86s+,76s,65s"],
  omaha: ["AA$ds,KK$ds,QQ$ds,JT98,T987", "AA$ss,KQJT,JT97,9876"],
  short_deck: ["99+,A9s+,AJo+,KTs+,KQo,QTs+,JTs,98s", "66+,A6s+,ATo+,K9s+,KJo+,Q9s+,QJo,J9s+,T8s+,97s+"],
  short_omaha: ["AA$ds,KK$ds,QQ$ds,JT98$ds", "AA$ss,KQJT$ds,JT97$ds"],
};
const FIELDS = {
  game: "holdem", board: "Td9d6hQc", oop: EXAMPLES.holdem[0], ip: EXAMPLES.holdem[1],
  pot: "100", stacks: "200", payouts: "", others: "", bounties: "", target: "0.5", iterations: "1000",
  "bets.flop": "50%", "bets.turn": "60%", "bets.river": "60%,a", "raises.flop": "2.5x", "raises.turn": "2.5x", "raises.river": "2.5x",
};
const spot = {...FIELDS};
let sizing = 0, building = 0;

async function ready() {
  return (await request("/api/form/status")).ready;
}

const boardOf = () => (spot.board.match(/[akqjt2-9][shdc]/gi) || []).map(card => card[0].toUpperCase() + card[1].toLowerCase());

// Options for the game: sizes of the streets that are left.
function spotOptions() {
  const left = STREETS.slice(Math.max(0, boardOf().length - 3));
  const sizes = what => Object.fromEntries(left.map(street => [street, spot[`${what}.${street}`]]));
  return {
    game: spot.game, board: spot.board, ranges: [spot.oop, spot.ip], pot: Number(spot.pot), stacks: spot.stacks,
    payouts: spot.payouts, others: spot.others, bounties: spot.bounties,
    bets: sizes("bets"), raises: sizes("raises"),
  };
}

function keepForm() {
  const changed = Object.keys(FIELDS).filter(name => spot[name] !== FIELDS[name]);
  history.replaceState(null, "", `#form${changed.map(name => `&${name}=${encodeURIComponent(spot[name])}`).join("")}`);
}

function readForm() {
  for (const part of location.hash.split("&").slice(1)) {
    const [name, value] = part.split("=");
    if (name in FIELDS) try { spot[name] = decodeURIComponent(value); } catch { /* Not ours. */ }
  }
}

function field(name, label, attributes = {}) {
  const box = make("input", {id: `form-${name}`, "data-field": name, autocomplete: "off", spellcheck: "false", ...attributes, on: {input: () => changed(name, box.value)}});
  box.value = spot[name];
  return make("label", {}, label, box);
}

function changed(name, value) {
  const before = EXAMPLES[spot.game] || [];
  spot[name] = value;
  keepForm();
  if (name === "board") { showDeck(); showStreets(); }
  if (name === "game") ["oop", "ip"].forEach((seatName, seat) => {
    // Replace example ranges that the user has not changed.
    if (EXAMPLES[value] && spot[seatName] === before[seat]) setField(seatName, EXAMPLES[value][seat]);
    else quietly(showPainted)(seatName);
  });
  if (name === "oop" || name === "ip") quietly(showPainted)(name);
  quietly(showSize)();
}

function setField(name, value) {
  at(`form-${name}`).value = value;
  changed(name, value);
}

function gameField(names) {
  const box = make("select", {id: "form-game", "data-field": "game", on: {change: () => changed("game", box.value)}}, ...names.map(name => make("option", {value: name}, name)));
  box.value = spot.game;
  return make("label", {}, "game", box);
}

async function showForm() {
  readForm();
  const about = await request("/api/form/about");
  at("title").textContent = "A new spot";
  document.title = "a new spot – tensorcfr";
  at("spot").replaceChildren();
  at("about").hidden = true;
  const boardAndChips = make("fieldset", {}, make("legend", {}, "board and chips"),
    gameField(about.spots), field("board", "board"), make("div", {id: "deck", class: "square runouts", role: "group", "aria-label": "cards of the board"}),
    make("div", {class: "pairs"}, field("pot", "pot", {inputmode: "decimal"}), field("stacks", "stacks")));
  const money = make("fieldset", {id: "form-tournament"}, make("legend", {}, "tournament"),
    field("payouts", "prizes", {placeholder: "500,300,200; empty in a cash game"}),
    field("others", "others' stacks", {placeholder: "1500,1400"}), field("bounties", "bounties", {placeholder: "OOP, IP, others"}),
    make("p", {class: "dim"}, "Prizes that can still be won, the first first. Unequal stacks: OOP,IP. Bounties are progressive."));
  const sizes = make("fieldset", {}, make("legend", {}, "sizes by street"), make("div", {id: "streets"}),
    make("p", {class: "dim"}, "60% of the pot, 2.5x the bet (raises), 100c chips, e geometric, a all-in; commas between."));
  const solving = make("fieldset", {}, make("legend", {}, "solve"),
    make("p", {id: "form-size", role: "status"}),
    make("div", {class: "pairs"}, field("target", "until, % of the pot", {inputmode: "decimal"}), field("iterations", "or iterations", {inputmode: "numeric"})),
    make("button", {id: "build", class: "main", on: {click: () => build({spot: spotOptions()})}}, "build and solve"),
    make("p", {id: "building", role: "status"}),
    make("p", {class: "dim buttons"}, "Or a game: ", ...about.games.map(name => make("button", {"data-game": name, on: {click: () => build({game: name})}}, name))));
  at("form").replaceChildren(
    make("div", {class: "fields"}, boardAndChips, make("div", {}, sizes, money), solving), make("div", {class: "fields"}, ...["oop", "ip"].map(painter)));
  moves(at("deck"), ".cell", () => 13);
  showDeck();
  showStreets();
  for (const seatName of ["oop", "ip"]) quietly(showPainted)(seatName);
  quietly(showSize)();
  const status = await request("/api/form/status");
  if (status.building) waitForGame();
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
  const left = STREETS.slice(Math.max(0, boardOf().length - 3));
  if (at("streets").dataset.left === left.join()) return;
  at("streets").dataset.left = left.join();
  at("streets").replaceChildren(...left.map(street => make("div", {class: "pairs"},
    field(`bets.${street}`, `${street}: bets`), field(`raises.${street}`, "raises"))));
}

// ------------------------------------------------------------------------------ painting ranges

function painter(seatName) {
  const box = make("textarea", {id: `form-${seatName}`, rows: 2, spellcheck: "false", "aria-label": `range of ${seatName.toUpperCase()}`, on: {input: () => changed(seatName, box.value)}});
  box.value = spot[seatName];
  const weight = make("input", {type: "range", min: 0, max: 100, step: 5, value: 100, id: `weight-${seatName}`, "aria-label": "weight for painting"});
  const said = make("output", {}, "100%");
  weight.addEventListener("input", () => { said.textContent = `${weight.value}%`; });
  const grid = make("div", {class: "square paint", id: `paint-${seatName}`, role: "group", "aria-label": `range of ${seatName.toUpperCase()}, painted`});
  let brush = null;
  const paint = cell => { if (cell && brush !== null && cell.dataset.brushed !== "yes") { cell.dataset.brushed = "yes"; paintClass(seatName, cell.dataset.hand, brush); } };
  grid.addEventListener("pointerdown", event => {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const now = Number(weight.value) / 100;
    brush = Math.abs(Number(cell.dataset.weight) - now) < 1e-9 ? 0 : now;
    paint(cell);
  });
  grid.addEventListener("pointermove", event => { if (brush !== null) paint(document.elementFromPoint(event.clientX, event.clientY)?.closest?.(`#paint-${seatName} .cell`)); });
  window.addEventListener("pointerup", () => {
    brush = null;
    for (const cell of grid.children) delete cell.dataset.brushed;
  });
  grid.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    const cell = event.target.closest(".cell"), now = Number(weight.value) / 100;
    paintClass(seatName, cell.dataset.hand, Math.abs(Number(cell.dataset.weight) - now) < 1e-9 ? 0 : now);
  });
  moves(grid, ".cell", () => 13);
  return make("fieldset", {}, make("legend", {}, seatName.toUpperCase()), box,
    make("p", {class: "painting"}, make("label", {}, "paint ", weight, said), make("span", {id: `combos-${seatName}`, class: "dim"}),
      make("button", {on: {click: () => setField(seatName, "")}}, "clear")), grid);
}

// Append a painted class to the text: later parts take precedence.
function paintClass(seatName, name, weight) {
  const left = spot[seatName].split(",").map(part => part.trim()).filter(part => part && part.replace("!", "").split(":")[0] !== name);
  const text = weight === 0 ? `!${name}` : weight === 1 ? name : `${name}:${weight}`;
  setField(seatName, [...left, text].join(","));
}

const painted = {};
async function showPainted(seatName) {
  const turn = painted[seatName] = (painted[seatName] || 0) + 1;
  const read = await request("/api/form/range", {text: spot[seatName], game: spot.game});
  if (turn !== painted[seatName]) return;
  at(`combos-${seatName}`).className = read.error ? "error" : "dim";
  if (read.error) { at(`combos-${seatName}`).textContent = read.error; return; }
  at(`combos-${seatName}`).textContent = `${brief(read.combos, 5)} combos`;
  // Ranges of hands of four cards cannot be painted, only written.
  at(`paint-${seatName}`).hidden = at(`weight-${seatName}`).parentElement.hidden = !read.grid;
  if (read.grid) refill(at(`paint-${seatName}`), ".cell", ...CLASSES.map((name, i) => {
    const weight = read.grid[Math.floor(i / 13)][i % 13];
    return make("button", {
      class: "cell", "data-hand": name, "data-key": name, "data-weight": weight, "aria-label": `${name}, ${percent(weight)}`,
      style: filled([[1, "var(--weight)"]], weight),
    }, make("b", {}, name));
  }));
}

// ------------------------------------------------------------------------------ size and solve

async function showSize() {
  const turn = ++sizing, said = at("form-size");
  await new Promise(done => setTimeout(done, 250));
  if (turn !== sizing) return;
  const size = await request("/api/form/size", spotOptions()), failed = size.error;
  if (turn !== sizing) return;
  said.className = failed ? "error" : "";
  said.textContent = failed || `${size.hands.join(" × ")} hands, ${whole(size.public_nodes)} public nodes, ${whole(size.infosets)} infosets: about ${size.memory} to build and solve.${moneyOf(size.tournament)}`;
  at("build").disabled = Boolean(failed);
}

// Prizes and risks of both players of the spot before it is played.
function moneyOf(tournament) {
  if (!tournament || !tournament.prizes) return "";
  const {players, prizes, bubble_factors: factors} = tournament;
  return ` Prizes now: ${[0, 1].map(i => `${players[i]} ${brief(prizes[i])}${known(factors[i][1 - i]) ? `, bubble factor ${factors[i][1 - i].toFixed(2)}` : ""}`).join("; ")}.`;
}

async function build(what) {
  const target = Number(spot.target);
  at("building").className = "";
  try {
    await request("/api/form/solve", {...what, iterations: Number(spot.iterations), target: what.spot && target > 0 ? target : null});
  } catch (error) {
    at("building").className = "error";
    at("building").textContent = error.message;
    return;
  }
  waitForGame();
}

async function waitForGame() {
  const turn = ++building;
  for (let seconds = 0; turn === building; seconds += 0.3) {
    let status;
    try { status = await request("/api/form/status"); } catch { return; }
    if (status.error) {
      at("building").className = "error";
      at("building").textContent = status.error;
      return;
    }
    if (status.ready) break;
    const what = status.compiles ? `compiling kernels, ${status.compiles} so far (once on this machine)` : "building the game";
    at("building").textContent = `${what} … ${seconds.toFixed(0)} s`;
    await new Promise(done => setTimeout(done, 300));
  }
  if (turn !== building) return;
  kept.clear();
  state.about = null;
  state.line = [];
  history.pushState(null, "", "#0");
  await begin();
}
