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
  return {labels: [lockName(names.join(",") + lineOf(node))], hands, name: `${picked.join(", ")}${lineOf(node)}`};
}

// All hands of the line, or those of a range that the user writes.
function handsOfRange(text) {
  const node = state.node, every = text === "*";
  const labels = state.about.cards ? [lockName(text + lineOf(node))] : node.hands.map(hand => hand.infoset);
  return {labels, hands: everyOf(node), name: `${every ? "all hands" : text}${lineOf(node)}`, text};
}

function showEditor(chosen = chosenHands()) {
  const editor = at("editor"), node = state.node;
  if (at("locks").hidden || !answers || !node.hands.length) { editor.hidden = true; return; }
  editor.hidden = false;
  const all = make("button", {id: "lock-all", on: {click: () => showEditor(handsOfRange("*"))}}, "all hands of this line");
  const range = state.about.ranges ? make("input", {id: "lock-range", placeholder: "or a range: QQ+,AKs", "aria-label": "range to lock", value: chosen && chosen.text && chosen.text !== "*" ? chosen.text : null, on: {change: () => {
    const text = range.value.replace(/\s+/g, "");
    if (text) showEditor(handsOfRange(text));
  }}}) : null;
  if (!chosen) { editor.replaceChildren(make("p", {class: "buttons"}, all, range)); return; }
  const lock = state.locks[chosen.labels[0]] || {}, mix = mixOf(node, chosen.hands);
  const inputs = node.actions.map((action, index) => {
    const p = known(mix[index]) ? mix[index] : chosen.hands[0].p[index];
    const box = make("input", {type: "number", min: 0, max: 1, step: "any", "data-action": action, "aria-label": `probability of ${action}`, placeholder: p.toFixed(3)});
    if (action in lock) box.value = lock[action];
    return box;
  });
  const always = index => inputs.forEach((box, other) => { box.value = other === index ? 1 : 0; });
  const note = make("p", {class: "error", role: "status", id: "lock-note"});
  const change = fixed => {
    setLocks(Object.fromEntries(chosen.labels.map(label => [label, fixed])));
    locksChanged();
  };
  const fix = () => {
    const fixed = {};
    for (const box of inputs) if (box.value !== "" || !box.validity.valid) fixed[box.dataset.action] = box.validity.badInput ? NaN : Number(box.value);
    const wrong = mistakeOf(fixed, inputs.length);
    if (wrong) note.textContent = wrong; else change(Object.keys(fixed).length ? fixed : null);
  };
  editor.replaceChildren(
    make("strong", {}, chosen.name, countOf(chosen.hands) > 1 && !(chosen.text && chosen.text !== "*") ? make("small", {}, `${countOf(chosen.hands)} hands`) : null),
    make("p", {class: "dim"}, "Empty: not fixed.  What is not fixed shares the rest."),
    ...inputs.map((box, index) => make("label", {}, make("span", {}, ...pretty(node.actions[index])), make("button", {class: "always", title: "always this action", "aria-label": `always ${node.actions[index]}`, on: {click: () => always(index)}}, "100%"), box)),
    note,
    make("p", {class: "buttons"},
      make("button", {id: "lock", class: "main", on: {click: fix}}, "fix"),
      make("button", {id: "unlock", on: {click: () => change(null)}}, "free"),
      chosen.text && chosen.text !== "*" ? null : make("button", {id: "lock-as-is", title: "fix the strategy as it is: each class keeps its mean frequencies", on: {click: () => { setLocks(locksAsTheyAre(chosen)); locksChanged(); }}}, "fix as it is"),
      all, range));
}

// Set locks, or free them; a later lock takes precedence, so it is last.
function setLocks(locks) {
  for (const [label, lock] of Object.entries(locks)) { delete state.locks[label]; if (lock) state.locks[label] = lock; }
}

// Reason why probabilities cannot be fixed, or an empty text.
function mistakeOf(fixed, actions) {
  const wrong = Object.entries(fixed).find(([, p]) => !(p >= 0 && p <= 1));
  if (wrong) return `The probability of ${wrong[0]} must be a number from 0 to 1.`;
  const numbers = Object.values(fixed), sum = numbers.reduce((a, b) => a + b, 0);
  if (sum > 1 + 1e-9) return `The probabilities sum to ${brief(sum)}, which is more than 1.`;
  if (numbers.length === actions && sum < 1 - 1e-9) return `All actions are fixed, and their probabilities sum to ${brief(sum)}, not 1.`;
  return "";
}

// Locks that keep the strategy on the screen: of single hands, or in spots the mean of each class.
function locksAsTheyAre(chosen) {
  const node = state.node, groups = state.about.ranges && classes(node.hands);
  const locks = (hands, label) => {
    const mix = mixOf(node, hands).every(known) ? mixOf(node, hands) : hands[0].p;
    return [label, Object.fromEntries(node.actions.map((action, index) => [action, mix[index]]))];
  };
  if (!groups) return Object.fromEntries(chosen.hands.map(hand => locks([hand], hand.infoset)));
  const names = new Set(chosen.hands.map(hand => classOf(hand) || hand.name));
  return Object.fromEntries([...names].map(name => { const hands = sumsOf(node, [name]); return locks(hands, lockName(rangeOf(hands[0]) + lineOf(node))); }));
}

function locksChanged() {
  keepView();
  showLocks();
  showStrategy();
  showEditor();
}

const MOST_LOCKS = 12;  // Number of locks that are listed.

function showLocks() {
  const locks = Object.entries(state.locks);
  at("free-all").hidden = locks.length < 2;
  at("lock-list").replaceChildren(...locks.slice(0, MOST_LOCKS).map(([infoset, lock]) => make("li", {"data-infoset": infoset},
    `${infoset}: ${Object.entries(lock).map(([a, p]) => `${a} ${brief(p)}`).join(", ")} `,
    make("button", {"aria-label": `free ${infoset}`, on: {click: () => { delete state.locks[infoset]; locksChanged(); }}}, "×"))),
  ...(locks.length > MOST_LOCKS ? [make("li", {class: "dim"}, `and ${whole(locks.length - MOST_LOCKS)} more`)] : []));
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
  const compiles = compilingOf(running);
  if (!running.iteration) return compiles || `${running.work || "getting ready"} …`;
  const done = `${running.work ? `${running.work}: ` : ""}iteration ${whole(running.iteration)} of ${whole(running.iterations)}, exploitability ${exploitable(running.exploitability)}`;
  return compiles ? `${done}; ${compiles}` : done;
}

const endOf = status => status.startsWith("stopped by") ? "stopped; the strategy so far is kept" : `solved: ${status}`;

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
  state.running = Boolean(running);
  const was = at("solve").disabled;
  at("stop").hidden = !running;
  for (const button of [at("solve"), at("respond")].filter(known)) button.disabled = Boolean(running);
  if (running) {
    saySolving(progressOf(running));
  } else if (was && status.error) saySolving(status.error, true);
  // While it is being solved, the strategy so far is shown, but not under the hands of a user who writes.
  const isNew = status.version !== state.version && state.node && !(running && at("editor").contains(document.activeElement));
  if (isNew || (state.node && was !== Boolean(running))) {
    if (isNew) state.about = await source.about();
    state.version = isNew ? status.version : state.version;
    if (!running && !status.error) saySolving(endOf(state.about.solutions[state.about.solutions.length - 1].status));
    showAbout();
    if (!running) showJoint(null);
    if (isNew) { await go(state.wanted, state.chosen, false); quietly(showEquity)(); }
  }
  if (running) showCurve(running.trace);
  setTimeout(() => { if (turn === watching) watch(); }, running ? QUICK : BEAT);
}
