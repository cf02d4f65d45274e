// Ranges of the form: as text, painted on a grid, and from the library.

function painter(seatName) {
  const box = make("textarea", {id: `form-${seatName}`, rows: 2, spellcheck: "false", "aria-label": `range of ${labelOf(seatName)}`, on: {input: () => changed(seatName, box.value)}});
  box.value = spot[seatName];
  const weight = make("input", {type: "range", min: 0, max: 100, step: 5, value: 100, id: `weight-${seatName}`, "aria-label": "weight for painting"});
  const said = make("output", {}, "100%");
  weight.addEventListener("input", () => { said.textContent = `${weight.value}%`; });
  const grid = make("div", {class: "square paint", id: `paint-${seatName}`, role: "group", "aria-label": `range of ${labelOf(seatName)}, painted`});
  let brush = null;
  // A class that has the weight already loses it.
  const strokeOn = cell => { const now = Number(weight.value) / 100; return Math.abs(Number(cell.dataset.weight) - now) < 1e-9 ? 0 : now; };
  const paint = cell => { if (cell && brush !== null && cell.dataset.brushed !== "yes") { cell.dataset.brushed = "yes"; paintClass(seatName, cell.dataset.hand, brush); } };
  grid.addEventListener("pointerdown", event => {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    brush = strokeOn(cell);
    paint(cell);
    window.addEventListener("pointerup", () => {
      brush = null;
      for (const one of grid.children) delete one.dataset.brushed;
    }, {once: true});
  });
  grid.addEventListener("pointermove", event => { if (brush !== null) paint(document.elementFromPoint(event.clientX, event.clientY)?.closest?.(`#paint-${seatName} .cell`)); });
  grid.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    const cell = event.target.closest(".cell");
    paintClass(seatName, cell.dataset.hand, strokeOn(cell));
  });
  moves(grid, ".cell", () => 13);
  return make("fieldset", {}, make("legend", {}, labelOf(seatName)), box, shelf("ranges", {
    taken: found => setField(seatName, found.text), given: () => ({text: spot[seatName]}), file: text => setField(seatName, text.trim()),
    name: seatName,
  }),
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
  // Only ranges of hands of two cards can be painted; others are written.
  at(`paint-${seatName}`).hidden = at(`weight-${seatName}`).parentElement.hidden = !read.grid;
  if (read.grid) refill(at(`paint-${seatName}`), ".cell", ...CLASSES.map((name, i) => {
    const weight = read.grid[Math.floor(i / 13)][i % 13];
    return make("button", {
      class: "cell", "data-hand": name, "data-key": name, "data-weight": weight, "aria-label": `${name}, ${percent(weight)}`,
      style: filled([[1, "var(--weight)"]], weight),
    }, make("b", {}, name));
  }));
}
