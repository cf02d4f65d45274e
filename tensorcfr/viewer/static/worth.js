// Values of the players, the gain of a best response of each, and the risks of a tournament.

function showCost() {
  const {solutions, tournament} = state.about, [a, b] = solutions, unit = unitName(), start = state.about.start;
  const told = (name, value, player) => name === "before" ? brief(value) : name === "a" || name === "b" ? worthText(value, 4, player, start)
    : signed(known(value) ? value * valueFactor(start) : value, a.values.length > 2 ? 2 : 4);
  const isShare = name => name.startsWith("gain") && tournament && tournament.pool;
  const rows = [
    tournament ? ["before the hand", "before", tournament.before] : null,
    [b ? "value in A" : "value", "a", a.values],
    b ? ["value in B", "b", b.values] : null,
    b ? ["B − A", "cost", a.values.map((value, player) => b.values[player] - value)] : null,
    [b ? "could gain in A" : "could gain", "gain-a", a.gains],
    b ? ["could gain in B", "gain", b.gains] : null,
  ].filter(known).map(([text, name, values]) => make("tr", {}, make("td", {}, text, isShare(name) ? make("small", {}, "% of all prizes") : null), ...values.map((value, player) =>
    make("td", {class: name, "data-player": player, "data-value": value}, told(name, value, player),
      isShare(name) && known(value) ? make("small", {}, `${brief(100 * value / tournament.pool, 2)}%`) : null))));
  const head = make("tr", {}, make("th", {}, ""), ...a.values.map((_, player) => make("th", {}, seat(player))));
  at("worth-title").textContent = `values${unit ? `, ${unit}` : ""}`;
  at("cost").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

// Meaning of the gains of three players, and the gap of a joint play, which has a theorem.
let joining = 0;
function showJoint(found, failed) {
  const turn = ++joining, box = at("joint");
  box.hidden = !answers || state.about.contestants < 3 || state.about.kind !== "public";
  if (box.hidden) return;
  const ask = make("button", {id: "joint-ask", title: "iterations of CFR+ with simultaneous updates", on: {click: async () => {
    ask.disabled = true;
    let found = null, failed = "";
    try { found = await request(`/api/joint?iterations=${Number(at("iterations").value)}`); } catch (error) { failed = error.message; }
    if (turn !== joining) return;  // The page shows another game or solution.
    showJoint(found, failed);
    at("joint-ask").focus();
  }}}, "gap of the joint play");
  const said = found && `In the joint play of ${whole(found.iterations)} iterations all players play the strategies of one iteration, drawn at random. Nobody gains more than ${exploitable(found.weighted)} by leaving it for a fixed strategy. If all iterations are equally likely, it is at most ${exploitable(found.average)}. With more iterations this goes to 0.`;
  box.replaceChildren(make("p", {class: "dim"}, "“could gain” is exact: the best response of a player who changes alone. Players who change together may take more from another one, so a value is not a promise."),
    ...(state.about.has_joint_play ? [make("p", {class: "buttons"}, ask)] : []), make("p", {id: "joint-said", role: "status", class: failed ? "error" : "dim"}, failed || said || ""));
}

// Bubble factors of each pair of players, and below each the risk premium.
function showRisks() {
  const {tournament} = state.about;
  at("risks-section").hidden = !tournament || !tournament.prizes;
  if (at("risks-section").hidden) return;
  const {players, stacks, prizes, bubble_factors, premiums} = tournament;
  const head = make("tr", {}, ...["", ...players].map(text => make("th", {}, text)));
  const rows = players.map((name, i) => make("tr", {}, make("td", {class: "prize", "data-value": prizes[i]}, name,
    make("small", {}, `${brief(stacks[i], 6)} chips`), make("small", {}, `prize ${brief(prizes[i])}`)),
    ...players.map((_, j) => {
      const premium = premiums[i][j], factor = bubble_factors[i][j];
      return make("td", {class: "risk", "data-value": factor, "data-premium": premium}, ...(known(premium) ? [
        known(factor) ? factor.toFixed(2) : "∞", make("small", {}, `${premium < 0 ? "−" : "+"}${Math.abs(100 * premium).toFixed(1)}%`)] : []));
    })));
  at("risks").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
