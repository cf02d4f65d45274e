// Events of iterations on the history tree. Every number has the sum from which it comes.

function playIterations(container, data, toggleTheme) {
  const {nodes, infosets, iterations} = data, PAUSE = 700, COLUMN = 166, HALF = 48, ROW = 26;
  const events = [];
  iterations.forEach((iteration, i) => iteration.passes.forEach((pass, p) => pass.events.forEach(([kind, index]) =>
    events.push({i, p, kind, index, update: iteration.updates[pass.update], title: pass.title}))));
  const children = nodes.map(() => []), first = infosets.map(() => -1);
  nodes.forEach((node, n) => {
    if (node.parent >= 0) children[node.parent].push(n);
    if (node.infoset >= 0 && first[node.infoset] < 0) first[node.infoset] = n;
  });
  for (const event of events) {
    const {learned, averaged} = event.update, visits = n => n >= 0 && known(event.update.value[n]);
    if (event.kind === "reach" || event.kind === "value") event.node = event.index;
    else if (event.kind === "regret") event.node = Math.min(...learned[event.index].terms.map(term => term.node).filter(n => n >= 0));
    else event.node = nodes.findIndex((node, n) => node.infoset === averaged[event.index].infoset && visits(n));
    if (!(event.node >= 0 && event.node < nodes.length)) event.node = first[(event.kind === "regret" ? learned : averaged)[event.index].infoset];
  }
  let now = 0, selected = 0, timer = null, asked = null;

  // ------------------------------------------------------------------------------- numbers as text

  const text = (x, digits = 5) => {
    if (!known(x)) return "·";
    if (Math.abs(x) < 5e-13) return "0";
    return (Math.abs(x) < 1e-4 ? x.toExponential(digits - 2) : String(parseFloat(x.toPrecision(digits)))).replaceAll("-", "−");
  };
  // A formula is shown only if it gives the engine's number, up to rounding.
  const near = (x, y, scale) => Math.abs(x - y) <= 1e-9 * (Math.abs(x) + Math.abs(y) + Math.abs(scale)) + 1e-15;
  const inner = x => x < 0 ? `(${text(x)})` : text(x);
  // A reach such as 1/6 as a fraction, if its decimals do not end soon.
  const share = (x, most = 2000) => {
    if (Math.abs(x * 1000 - Math.round(x * 1000)) < 1e-9) return text(x);
    for (let d = 3; d <= most; d++) if (Math.abs(x * d - Math.round(x * d)) < 1e-9) return `${Math.round(x * d)}/${d}`;
    return text(x);
  };
  const steps = n => {
    const labels = [];
    for (let at = n; nodes[at].parent >= 0; at = nodes[at].parent) labels.unshift(nodes[at].label);
    return [...data.path, ...labels].join(" ") || "start";
  };
  const actorName = actor => actor >= 0 ? `player ${actor}` : actor === -1 ? "chance" : "terminal";
  const total = numbers => numbers.reduce((sum, x) => sum + x, 0);

  // ------------------------------------------------------------------- what is known at an event

  const when = new Map(), changes = {regret: infosets.map(() => []), average: infosets.map(() => [])};
  events.forEach((event, k) => {
    const {kind, index, update} = event, list = kind === "regret" ? update.learned : update.averaged;
    if (kind in changes) changes[kind][list[index].infoset].push([k, list[index]]);
    else { if (!when.has(update)) when.set(update, {reach: [], value: []}); when.get(update)[kind][index] = k; }
  });
  const update = () => events[now].update;
  const has = (kind, n) => when.get(update())[kind][n] <= now;
  const valueOf = n => has("value", n) ? update().value[n] : null;
  // The last change of an infoset up to now: in this iteration, or in any.
  const lastOf = (kind, infoset, whole) => {
    const found = changes[kind][infoset].findLast(([k]) => k <= now);
    return found && (whole || events[found[0]].i === events[now].i) ? found[1] : null;
  };
  const learnedOf = (infoset, whole) => lastOf("regret", infoset, whole);
  const averagedOf = (infoset, whole) => lastOf("average", infoset, whole);

  // ----------------------------------------------------------------- the sum behind each number

  // Each returns a title, lines of text, and the result of the sum.
  function reachSum(n, p) {
    const factors = [], words = [];
    let at = n;
    for (; nodes[at].parent >= 0; at = nodes[at].parent) {
      const parent = nodes[nodes[at].parent], actor = p === data.n_players ? -1 : p;
      if (parent.actor !== actor) continue;
      const x = actor < 0 ? nodes[at].probability : update().strategy[parent.infoset][children[nodes[at].parent].indexOf(at)];
      factors.unshift(x);
      words.unshift(`${share(x)} (${nodes[at].label}${actor < 0 ? "" : ` at ${infosets[parent.infoset].label}`})`);
    }
    if (data.path.length) {
      factors.unshift(update().reach[0][p]);
      words.unshift(`${share(update().reach[0][p])} (of ${data.path.join(" ")})`);
    }
    const result = factors.reduce((product, x) => product * x, 1);
    const who = p === data.n_players ? "chance" : `player ${p}`;
    return {title: `reach of ${who}`, result, lines: [words.length ? `${words.join(" × ")} = ${share(result)}` : `no step of ${who} before: 1`]};
  }

  function valueSum(n) {
    const {player, value, scheme, passed, drawn} = update(), node = nodes[n];
    const title = `value of ${steps(n)} to player ${player}`;
    if (node.actor === -2) return {title, result: node.utility[player], lines: [`utility of the terminal: ${text(node.utility[player])}`]};
    const below = children[n].filter(child => known(value[child]));
    const sampled = node.actor === -1 ? scheme !== "whole" : node.actor !== player && (scheme === "external" || scheme === "outcome");
    if (sampled) return {title, result: value[below[0]],
      lines: [`${nodes[below[0]].label} was sampled: its value is ${text(value[below[0]])}`, "Its probability cancels: it is sampled as often as it counts."]};
    const chance = node.actor === -1;
    const terms = below.map(child => {
      const p = chance ? nodes[child].probability : passed[node.infoset][children[n].indexOf(child)];
      const q = known(drawn[child]) ? drawn[child] : 1;
      return {x: p * value[child] / q, words: `${share(p)} × ${inner(value[child])}${q === 1 ? "" : ` ÷ ${text(q)}`}`, label: nodes[child].label};
    });
    const result = total(terms.map(term => term.x));
    const lines = terms.map(term => `${term.label}: ${term.words} = ${text(term.x)}`);
    if (below.length < children[n].length) lines.push(scheme === "outcome" ? "Only the sampled action counts, divided by the probability of drawing it." : "Actions without any reach are left out: they add 0.");
    lines.push(`${terms.map((term, k) => k ? inner(term.x) : text(term.x)).join(" + ")} = ${text(result)}`);
    return {title, result, lines};
  }

  function strategySum(regrets, shown, a, names, title) {
    const positive = regrets.map(x => Math.max(x, 0)), sum = total(positive);
    const result = sum > 0 ? positive[a] / sum : 1 / regrets.length;
    if (Math.abs(result - shown) > 1e-9) return {title, result: shown, lines: [`${text(shown)}: by the rule of the algorithm`, data.formula]};
    return {title, result, lines: sum > 0
      ? [`positive regret sums: ${names.map((name, k) => `${name} ${text(positive[k])}`).join(", ")}`, `${text(positive[a])} ÷ ${text(sum)} = ${text(result)}`]
      : [`no regret sum is positive: 1 ÷ ${regrets.length} = ${text(result)}`]};
  }

  function instantSum(learned, a) {
    const infoset = infosets[learned.infoset], {player, scheme, reach} = update();
    const parts = learned.terms.map(term => ({...term, x: term.weight * (term.values[a] - term.value)}));
    const lines = parts.map(term => {
      const n = term.node, factors = [];
      if (n >= 0 && (scheme === "whole" || scheme === "chance")) {
        if (scheme === "whole") factors.push(`chance: ${share(reach[n][data.n_players])}`);
        for (let p = 0; p < data.n_players; p++) if (p !== player) factors.push(`player ${p}: ${share(reach[n][p])}`);
      }
      const difference = `${term.history}: ${text(term.values[a])} − ${inner(term.value)} = ${text(term.values[a] - term.value)}`;
      if (scheme === "external") return difference;
      const factor = scheme === "outcome" ? `÷ ${text(1 / term.weight)}, the probability of the own draws` : `× reach ${share(term.weight)}`;
      return `${difference}, ${factor}${factors.length > 1 ? ` (${factors.join(" × ")})` : ""} = ${text(term.x)}`;
    });
    if (scheme === "external") lines.push("The probabilities of chance and of the others cancel: they are sampled.");
    const result = total(parts.map(term => term.x));
    if (parts.length > 1) lines.push(`sum over the histories of ${infoset.label}: ${parts.map((term, k) => k ? inner(term.x) : text(term.x)).join(" + ")} = ${text(result)}`);
    return {title: `instantaneous regret of ${infoset.actions[a]} at ${infoset.label}`, result, lines};
  }

  function regretSum(infoset, a) {
    const {label, actions} = infosets[infoset], learned = learnedOf(infoset, true), title = `regret sum of ${actions[a]} at ${label}`;
    if (!learned) return {title, result: 0, lines: ["no update yet: 0"]};
    const old = learned.regret[a], instant = learned.instant[a], shown = learned.new_regret[a], plain = old + instant, d = (shown - instant) / old;
    if (near(plain, shown, old)) return {title, result: plain, lines: [`${text(old)} + ${inner(instant)} = ${text(plain)}`]};
    if (near(Math.max(plain, 0), shown, old)) return {title, result: Math.max(plain, 0), lines: [`max(0, ${text(old)} + ${inner(instant)}) = ${text(Math.max(plain, 0))}`]};
    if (d > 0 && d < 1) return {title, result: d * old + instant, lines: [`${inner(old)} × ${text(d)} + ${inner(instant)} = ${text(shown)}`, data.formula]};
    return {title, result: shown, lines: [`from R = ${text(old)} and r = ${text(instant)}: ${text(shown)}`, data.formula]};
  }

  function averageSum(infoset, a) {
    const {label, actions} = infosets[infoset], added = averagedOf(infoset, true), title = `strategy sum of ${actions[a]} at ${label}`;
    if (!added) return {title, result: 0, lines: ["no update yet: 0"]};
    const result = added.scale * added.strategy_sum[a] + added.weight * added.reach / added.sampled * added.strategy[a];
    if (!near(result, added.new_strategy_sum[a], added.strategy_sum[a])) return {title, result: added.new_strategy_sum[a], lines: [`${text(added.strategy_sum[a])} before, ${text(added.new_strategy_sum[a])} after: by the rule of the algorithm`, data.formula]};
    const words = [`weight ${text(added.weight)}`, `own reach ${share(added.reach)}`, `strategy ${text(added.strategy[a])}`].join(" × ");
    return {title, result, lines: [`${text(added.strategy_sum[a])}${added.scale === 1 ? "" : ` × ${text(added.scale)}`} + ${words}${added.sampled === 1 ? "" : ` ÷ probability of the visit ${text(added.sampled)}`} = ${text(result)}`]};
  }

  // --------------------------------------------------------------------------------------- tree

  const depth = [], height = [];
  let leaves = 0;
  nodes.forEach((node, n) => { depth[n] = node.parent < 0 ? 0 : depth[node.parent] + 1; });
  const place = n => {
    children[n].forEach(place);
    height[n] = children[n].length ? (height[children[n][0]] + height[children[n].at(-1)]) / 2 : leaves++;
  };
  place(0);
  const x = n => HALF + 12 + COLUMN * depth[n], y = n => 20 + ROW * height[n];
  // The start of a label is often a hand, and its end the last action.
  const cut = (label, most) => label.length > most ? `${label.slice(0, Math.floor(most / 2) - 1)}…${label.slice(-Math.ceil(most / 2))}` : label;
  const shapes = nodes.map((node, n) => {
    const edge = node.parent < 0 ? null : draw("g", {class: "edge"},
      draw("path", {d: `M${x(node.parent) + HALF} ${y(node.parent)} L${x(n) - HALF - 32} ${y(n)} H${x(n) - HALF}`}),
      draw("text", {x: x(n) - HALF - 2, y: y(n) - 3, "text-anchor": "end"}));
    const box = draw("g", {class: `box actor${node.actor < 0 ? node.actor === -1 ? "-chance" : "-end" : node.actor % 4}`, "data-node": n},
      draw("rect", {x: x(n) - HALF, y: y(n) - 12, width: node.actor === -2 ? HALF : 2 * HALF, height: 24, rx: node.actor === -2 ? 0 : 5}),
      draw("text", {x: node.actor === -2 ? x(n) - HALF + 6 : x(n), y: y(n) + 4, "text-anchor": node.actor === -2 ? "start" : "middle"}),
      draw("title", {}, `${steps(n)}${node.infoset >= 0 ? `: infoset ${infosets[node.infoset].label}` : ""}`));
    box.addEventListener("click", () => { pause(); selected = n; asked = null; show(); });
    return {edge, box};
  });
  const svg = draw("svg", {width: 2 * HALF + 24 + COLUMN * Math.max(...depth), height: 40 + ROW * (leaves - 1), role: "img", "aria-label": "history tree"},
    ...shapes.flatMap(shape => shape.edge ? [shape.edge] : []), ...shapes.map(shape => shape.box));

  function showTree() {
    const other = update().scheme !== "whole", chosen = nodes[selected].infoset;
    nodes.forEach((node, n) => {
      const {edge, box} = shapes[n], visits = known(update().value[n]);
      const label = node.actor === -1 ? "chance" : node.infoset >= 0 ? infosets[node.infoset].label : "";
      const number = has("value", n) ? text(update().value[n], 4) : node.actor === -2 ? text(node.utility[update().player], 4) : "";
      box.children[1].textContent = node.is_stub ? "…" : label ? cut(label, Math.max(5, 14 - number.length)) + (number ? ` ${number}` : "") : number;
      const flags = {here: n === selected, known: has("reach", n), valued: has("value", n), left: other && !visits,
        same: n !== selected && chosen >= 0 && node.infoset === chosen};
      for (const [name, on] of Object.entries(flags)) box.classList.toggle(name, on);
      if (!edge) return;
      const parent = nodes[node.parent];
      const p = parent.actor === -1 ? node.probability : update().strategy[parent.infoset][children[node.parent].indexOf(n)];
      edge.children[1].textContent = `${cut(node.label, 9)} ${share(p, 60)}`;
      for (const name of ["known", "left"]) edge.classList.toggle(name, flags[name]);
      edge.classList.toggle("drawn", other && visits);
    });
    const frame = svg.parentElement, left = x(selected) - frame.clientWidth / 2, top = y(selected) - frame.clientHeight / 2;
    frame.scrollTo({left: Math.max(0, left), top: Math.max(0, top)});
  }

  // -------------------------------------------------------------------------------------- numbers

  const cell = (name, value, sum, shown) => {
    if (!known(value)) return make("span", {class: "dim"}, "·");
    const key = `${name}/${selected}`;
    return make("button", {class: "number", "data-name": name, "data-value": value, "aria-pressed": String(asked && asked.key === key),
      on: {click: () => { pause(); asked = asked && asked.key === key ? null : {key, sum}; showNumbers(); const again = [...panel.querySelectorAll("button.number")].find(one => one.dataset.name === name); if (again) again.focus({preventScroll: true}); }}}, shown || text(value));
  };

  function showNumbers() {
    const node = nodes[selected], {player} = update(), reached = has("reach", selected), value = valueOf(selected);
    const parts = [make("h2", {}, steps(selected)), make("p", {class: "dim"}, node.infoset >= 0
      ? `infoset ${infosets[node.infoset].label}: player ${node.actor} acts` : node.actor === -1 ? "chance node" : node.is_stub ? "no traversal came here" : "terminal")];
    if (node.infoset >= 0 && infosets[node.infoset].merged.length)
      parts.push(make("p", {class: "merged"}, `merged with ${infosets[node.infoset].merged.join(", ")}: the solver stores one infoset for all; each has an equal share of its regrets`));
    const heads = [...Array(data.n_players).keys()].map(p => `player ${p}`).concat("chance");
    const rows = [make("tr", {}, make("th", {}, "reach"), heads.map((name, p) => make("td", {}, make("small", {}, name),
      cell(`reach ${p}`, reached ? update().reach[selected][p] : null, () => reachSum(selected, p), share(update().reach[selected][p])))))];
    if (!node.is_stub) rows.push(make("tr", {}, make("th", {}, `value to player ${player}`), make("td", {}, cell("value", value, () => valueSum(selected)))));
    parts.push(make("div", {class: "wide"}, make("table", {}, make("tbody", {}, rows))));
    if (node.infoset >= 0 && !node.is_stub) parts.push(make("div", {class: "wide"}, infosetTable(node)));
    if (asked) {
      const {title, lines, result} = asked.sum();
      parts.push(make("div", {class: "sum", role: "status", "data-result": result}, make("b", {}, title), lines.map(line => make("p", {}, line))));
    } else parts.push(make("p", {class: "dim"}, "Choose a number to see the sum from which it comes."));
    panel.replaceChildren(...parts);
    if (asked) panel.querySelector(".sum").scrollIntoView({block: "nearest"});
  }

  function infosetTable(node) {
    const k = node.infoset, {actions} = infosets[k], at = iterations[events[now].i], learned = learnedOf(k), added = averagedOf(k);
    const isUpdate = learned && update().learned.includes(learned), played = update().strategy[k], next = learned && learned.new_strategy;
    const regrets = learned ? learned.new_regret : at.regret[k], sums = added ? added.new_strategy_sum : at.strategy_sum[k];
    // The update's strategy comes from the regrets before it.
    const before = learned && learned.strategy.every((x, a) => x === played[a]) ? learned.regret : regrets;
    const {passed} = update(), differs = passed[k].some((x, a) => x !== played[a]);
    const row = (name, numbers, sum, from) => make("tr", {}, make("th", {}, name), actions.map((action, a) => make("td", {},
      from && known(numbers) && from[a] !== numbers[a] ? make("small", {}, `${share(from[a], 60)} →`) : "",
      cell(`${name} ${a}`, known(numbers) ? numbers[a] : null, () => sum(a), known(numbers) && known(numbers[a]) ? share(numbers[a], 60) : null))));
    const below = actions.map((action, a) => valueOf(children[selected][a]));
    const rows = [
      row("strategy", played, a => strategySum(before, played[a], a, actions, `strategy: ${actions[a]} at ${infosets[k].label}`)),
      row(`value after`, below, a => valueSum(children[selected][a])),
      row("instantaneous regret", isUpdate ? learned.instant : null, a => instantSum(learned, a)),
      row("regret sum", regrets, a => regretSum(k, a), learned && learned.regret),
      row("next strategy", next, a => strategySum(learned.new_regret, next[a], a, actions, `next strategy: ${actions[a]} at ${infosets[k].label}`), learned && learned.strategy),
      row("strategy sum", sums, a => averageSum(k, a), added && added.strategy_sum),
    ];
    if (differs) rows.push(make("tr", {}, make("td", {colspan: actions.length + 1, class: "dim"}, "Values pass up with the new strategy.")));
    return make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, ""), actions.map(action => make("th", {}, action)))), make("tbody", {}, rows));
  }

  // -------------------------------------------------------------------------------------- controls

  function describe() {
    const {i, p, kind, index, update: u, title, node} = events[now], passes = iterations[i].passes.length;
    const said = kind === "reach" ? `reach ${steps(index)}`
      : kind === "value" ? `value of ${steps(index)} to player ${u.player}: ${text(u.value[index])}`
      : kind === "regret" ? `regrets and next strategy of ${infosets[u.learned[index].infoset].label}` : `average at ${infosets[u.averaged[index].infoset].label}`;
    status.replaceChildren(make("b", {}, `iteration ${iterations[i].number}`), ` · pass ${p + 1} of ${passes}: ${title} · `, make("span", {class: "event"}, said));
    status.dataset.event = now;
    status.dataset.kind = kind;
    status.dataset.node = node;
  }

  const show = () => { describe(); showNumbers(); showTree(); slider.value = now; play.textContent = timer ? "❚❚ pause" : "▶ play"; };
  function move(to, keep) {
    now = Math.max(0, Math.min(events.length - 1, to));
    selected = events[now].node;
    if (!keep) asked = null;
    show();
  }
  const pause = () => { clearInterval(timer); timer = null; play.textContent = "▶ play"; };
  const toggle = () => {
    if (timer) { pause(); return; }
    if (now === events.length - 1) move(0);
    timer = setInterval(() => { if (now === events.length - 1 || !container.isConnected) pause(); else move(now + 1); }, PAUSE);
    show();
  };
  const differs = (k, keys) => keys.some(key => events[k][key] !== events[now][key]);
  const ahead = keys => { for (let k = now + 1; k < events.length; k++) if (differs(k, keys)) return k; return events.length - 1; };
  const behind = keys => {
    let k = now;
    while (k > 0 && !differs(k - 1, keys)) k--;
    if (k < now || k === 0) return k;
    const begin = k - 1, same = e => keys.every(key => e[key] === events[begin][key]);
    while (k > 0 && same(events[k - 1])) k--;
    return k;
  };
  const still = work => () => { pause(); work(); };
  const ACTIONS = {
    Home: still(() => move(0)), End: still(() => move(events.length - 1)), " ": toggle,
    ArrowLeft: still(() => move(now - 1)), ArrowRight: still(() => move(now + 1)),
    ArrowUp: still(() => move(behind(["i", "p"]))), ArrowDown: still(() => move(ahead(["i", "p"]))),
    PageUp: still(() => move(behind(["i"]))), PageDown: still(() => move(ahead(["i"]))),
    Escape: () => { asked = null; show(); }, t: () => toggleTheme && toggleTheme(),
  };
  const button = (id, key, label, hint) => make("button", {"data-do": id, title: hint, on: {click: () => ACTIONS[key]()}}, label);
  const play = button("play", " ", "▶ play", "play or pause (space)");
  const slider = make("input", {type: "range", min: 0, max: events.length - 1, "aria-label": "event", on: {input: () => { pause(); move(Number(slider.value)); }}});
  const status = make("p", {class: "now", role: "status"}), panel = make("section", {class: "panel", "aria-label": "numbers"});
  const part = data.path.length ? `, after ${data.path.join(" ")}` : "";
  const legend = [...Array(Math.min(data.n_players, 4)).keys()].map(p => make("span", {class: `key actor${p}`}, `player ${p}`));
  container.classList.add("player");
  container.replaceChildren(
    make("header", {}, make("h1", {}, `${data.game} by ${data.algorithm}`),
      make("p", {class: "dim"}, `${data.formula}. Shown: ${whole(nodes.length)} of ${whole(data.n_histories)} histories${part}. `, legend)),
    make("div", {class: "controls", role: "toolbar", "aria-label": "events"},
      button("start", "Home", "|◀", "to the start (Home)"), button("back", "ArrowLeft", "◀ back", "back (←)"), play,
      button("node", "ArrowRight", "node ▶", "next node (→)"), button("pass", "ArrowDown", "pass ▶▶", "next pass (↓); previous pass (↑)"),
      button("iteration", "PageDown", "iteration ▶|", "next iteration (Page Down)"), toggleTheme ? button("theme", "t", "theme", "light or dark (t)") : "", slider),
    status, make("div", {class: "both"}, make("div", {class: "tree", tabindex: 0, "aria-label": "history tree"}, svg), panel));
  const pressed = event => {
    if (!container.isConnected) { document.removeEventListener("keydown", pressed); return; }
    const on = document.activeElement, typing = ["INPUT", "TEXTAREA", "SELECT"].includes(on.tagName);
    if (container.offsetParent === null || event.ctrlKey || event.altKey || event.metaKey || typing || !(event.key in ACTIONS)) return;
    if (event.key === " " && on.tagName === "BUTTON") return;  // The button has the key.
    event.preventDefault();
    ACTIONS[event.key]();
  };
  document.addEventListener("keydown", pressed);
  move(0);
}
