// A model of a player: habits or incentives in words, the locks, or solution B; the response of the other player to it.

const opponent = {player: "1", model: "habits", habits: "call +10%", incentives: "call +2", risk: "1", trust: ""};
const SOURCES = {habits: "habits in words", incentives: "incentives in words", locks: "the locks of this page", B: "solution B"};
const EXAMPLE_WORDS = {habits: "call +10%\nturn check -20%\nriver bet bluffs =0%", incentives: "call +2\nriver bet -5 after check"};
const WORD_FORMS = {habits: "[street] action [bluffs | value] change", incentives: "[street] action amount [after line]"};

const canRespond = () => answers && state.about.players === 2;

function showOpponent() {
  at("opponent").hidden = !canRespond();
  if (at("opponent").hidden) return;
  const pot = hasPot(), sources = Object.keys(SOURCES).filter(name => name !== "habits" || (pot && state.about.ranges));
  if (!sources.includes(opponent.model)) opponent.model = sources[0];
  const changed = (name, redraw) => event => { opponent[name] = event.target.value; if (redraw) { showOpponent(); at(`opponent-${name}`).focus(); } };
  const choice = (name, values, redraw) => make("select", {id: `opponent-${name}`, "aria-label": name === "player" ? "player with the model" : "model", on: {change: changed(name, redraw)}},
    ...values.map(([value, text]) => make("option", {value, selected: value === opponent[name]}, text)));
  const number = (name, label, title) => make("label", {title}, label, make("input", {id: `opponent-${name}`, size: 4, inputmode: "decimal", value: opponent[name], on: {input: changed(name)}}));
  const inWords = WORD_FORMS[opponent.model], words = inWords && make("textarea", {id: `opponent-${opponent.model}`, rows: 3, spellcheck: "false", "aria-label": `${opponent.model}, one on each line`, placeholder: EXAMPLE_WORDS[opponent.model], on: {input: changed(opponent.model)}});
  if (inWords) words.value = opponent[opponent.model];
  at("opponent-form").replaceChildren(
    make("p", {class: "buttons"}, choice("player", state.about.seats.map((_, player) => [String(player), `${seat(player)} has`])), choice("model", sources.map(name => [name, SOURCES[name]]), true)),
    ...(inWords ? [words, make("p", {class: "dim"}, `${inWords}, one on each line.`)] : []),
    make("p", {class: "controls"}, number("risk", `risk at most${pot ? ", % of the pot" : ""}`, "largest loss against a best response; empty: no limit"),
      number("trust", "or trust, %", "share of games in which the model is right; empty: as much as the risk allows")),
    make("p", {class: "buttons"}, make("button", {id: "respond", on: {click: respond}}, "respond")));
}

async function respond() {
  const {player, model, habits, incentives, risk, trust} = opponent, amountOf = text => text.trim() ? Number(text) : null;
  const wrong = Object.entries({risk, trust}).find(([, text]) => text.trim() && !Number.isFinite(Number(text)));
  saySolving(wrong ? `The ${wrong[0]} must be a number, not ${wrong[1]}.` : "", wrong);
  if (wrong) return;
  try {
    await request("/api/respond", {player: Number(player), model, habits: linesOf(habits), incentives: linesOf(incentives), locks: state.locks, max_loss: amountOf(risk), trust: amountOf(trust), iterations: Number(at("iterations").value)});
    watch();
  } catch (error) {
    saySolving(error.message, true);
  }
}

const chosenResponse = report => report.responses[report.chosen];
const priceText = value => lostText(value, 3, state.about.start);

// Headline of a response in place of a solution.
const responseText = report => {
  const {gain, risk} = chosenResponse(report);
  return `${seat(report.player)} responds to ${report.model === "B" ? "another solution" : `the ${report.model}`} of ${seat(1 - report.player)}: gains ${priceText(gain)}, risks ${priceText(risk)} ${unitName()}`;
};

// Price of each habit or incentive, and gain and risk by trust in the model.
function showResponse() {
  const shown = state.about.solutions.find(solution => solution.response), report = shown && shown.response;
  at("response").hidden = !report;
  if (!report) return;
  const table = (heads, rows) => make("table", {}, make("thead", {}, make("tr", {}, ...heads.map(([text, title]) => make("th", {title}, text)))), make("tbody", {}, ...rows));
  const cell = (name, value) => make("td", {"data-name": name, "data-value": value}, priceText(value));
  const name = seat(1 - report.player), isPaid = report.prices.some(price => "paid" in price);
  const prices = report.prices.map(price => make("tr", {}, make("td", {}, price.name), cell("solution", price.solution), cell("best", price.best), ...(isPaid ? [cell("before", price.before), cell("paid", price.paid)] : [])));
  const paidHeads = isPaid ? [["paid in A", `expected payments to ${name} in A`], ["paid", `expected payments to ${name} with the strategies of the game with payments`]] : [];
  const responses = report.responses.map((one, index) => make("tr", {class: index === report.chosen ? "chosen" : null}, make("td", {}, `${index === report.chosen ? "B: " : ""}${percent(one.weight)}`), cell("gain", one.gain), cell("risk", one.risk)));
  at("response").replaceChildren(
    ...(prices.length ? [table([[report.model.slice(0, -1)], ["cost in A", `loss of ${name} against A`], ["if exploited", `loss of ${name} if ${seat(report.player)} knows ${isPaid ? "the strategy" : "the habits"} and responds best`], ...paidHeads], prices)] : []),
    table([["trust"], ["gain", "against the model, compared with trust 0"], ["risk", "against a best response"]], responses),
    make("p", {class: "dim"}, `${unitName()}. B: ${seat(report.player)} responds, and ${name} plays the model.`));
}
