// Locks of one hand, of classes of hands, or of a whole line; solving again, and its changes.

function choose(infoset) {
  state.chosen = infoset;
  showStrategy();
  showEditor();
}

// Selection at the node: labels for its lock, its hands, and its name.
function chosenHands() {
  const node = state.node, groups = classes(node.hands), picked = pickedClasses();
  const hand = node.hands.find(one => one.infoset === state.chosen);
  if (hand) return {labels: [hand.infoset], hands: [hand], name: hand.infoset};
  if (!picked.length || !groups) return null;
  const hands = sumsOf(node, picked);
  if (!hands.length) return null;
  const names = state.about.ranges ? picked.filter(name => groups.has(name)).map(name => rangeOf(groups.get(name)[0])) : hands.map(one => one.hand);
  return {labels: [names.join(",") + lineOf(node)], hands, name: `${picked.join(", ")}${lineOf(node)}`};
}

function everyHand() {
  const node = state.node;
  const labels = state.about.cards ? [`*${lineOf(node)}`] : node.hands.map(hand => hand.infoset);
  return {labels, hands: everyOf(node), name: `all hands${lineOf(node)}`};
}

function showEditor(chosen = chosenHands()) {
  const editor = at("editor"), node = state.node;
  if (at("locks").hidden || !answers || !node.hands.length) { editor.hidden = true; return; }
  editor.hidden = false;
  const all = make("button", {id: "lock-all", on: {click: () => showEditor(everyHand())}}, "all hands of this line");
  if (!chosen) { editor.replaceChildren(all); return; }
  const lock = state.locks[chosen.labels[0]] || {}, mix = mixOf(node, chosen.hands);
  const inputs = node.actions.map((action, index) => {
    const p = known(mix[index]) ? mix[index] : chosen.hands[0].p[index];
    const box = make("input", {type: "number", min: 0, max: 1, step: "any", "data-action": action, placeholder: p.toFixed(3)});
    if (action in lock) box.value = lock[action];
    return box;
  });
  const change = fixed => {
    for (const label of chosen.labels) if (fixed) state.locks[label] = fixed; else delete state.locks[label];
    showLocks();
    showStrategy();
    showEditor();
  };
  editor.replaceChildren(
    make("strong", {}, chosen.name, countOf(chosen.hands) > 1 ? make("small", {}, `${countOf(chosen.hands)} hands`) : null),
    make("p", {class: "dim"}, "Empty: not fixed.  What is not fixed shares the rest."),
    ...inputs.map((box, index) => make("label", {}, make("span", {}, ...pretty(node.actions[index])), box)),
    make("p", {class: "buttons"},
      make("button", {id: "lock", on: {click: () => {
        const fixed = {};
        for (const box of inputs) if (box.value !== "") fixed[box.dataset.action] = Number(box.value);
        change(Object.keys(fixed).length ? fixed : null);
      }}}, "fix"),
      make("button", {id: "unlock", on: {click: () => change(null)}}, "free"), all));
}

function showLocks() {
  at("lock-list").replaceChildren(...Object.entries(state.locks).map(([infoset, lock]) => make("li", {"data-infoset": infoset},
    `${infoset}: ${Object.entries(lock).map(([a, p]) => `${a} ${brief(p)}`).join(", ")} `,
    make("button", {"aria-label": `free ${infoset}`, on: {click: () => { delete state.locks[infoset]; showLocks(); showStrategy(); showEditor(); }}}, "×"))));
}

// ------------------------------------------------------------------------------- solving again

function saySolving(text, failed) {
  at("solving").className = failed ? "error" : "";
  at("solving").textContent = text;
}

async function solveAgain(forChips) {
  saySolving("");
  try {
    await request("/api/solve", {locks: state.locks, iterations: Number(at("iterations").value), for_chips: forChips});
    watch();
  } catch (error) {
    saySolving(error.message, true);
  }
}

function progressOf(running) {
  const compiles = running.compiles ? `compiling kernels, ${running.compiles} so far (once on this machine)` : "";
  if (!running.iteration) return compiles || "getting ready …";
  const done = `iteration ${whole(running.iteration)} of ${whole(running.iterations)}, exploitability ${brief(running.exploitability)}`;
  return compiles ? `${done}; ${compiles}` : done;
}

const BEAT = 3000, QUICK = 200;  // Milliseconds between two requests to the server.
let watching = 0;
async function watch() {
  const turn = ++watching;
  let status;
  try {
    status = await request("/api/status");
  } catch (error) {
    saySolving(error.message, true);
    return;
  }
  const running = status.running;
  at("stop").hidden = !running;
  at("solve").disabled = Boolean(running);
  if (running) {
    saySolving(progressOf(running));
    showCurve(running.trace);
  } else {
    if (state.running && status.error) saySolving(status.error, true);
    if (status.version !== state.version) {
      state.about = await source.about();
      state.version = status.version;
      saySolving(`solved: ${state.about.solutions[state.about.solutions.length - 1].status}`);
      showAbout();
      await go(state.wanted, state.chosen, false);
    }
  }
  state.running = Boolean(running);
  setTimeout(() => { if (turn === watching) watch(); }, running ? QUICK : BEAT);
}
