// Library of the user: named spots, ranges and solutions on the disk, imports, and the state of the page.

let keeping = null, toKeep = {};
// Keep the state of the page on the disk: the form, or the address and the locks.
function keepPage(part) {
  if (!boot.form) return;
  toKeep = {...toKeep, ...part};
  keeping = keeping || setTimeout(quietly(async () => {
    const now = toKeep;
    keeping = null;
    toKeep = {};
    await request("/api/form/page", now);
  }), 400);
}
const keepView = () => setTimeout(() => keepPage({view: viewOf()}));  // The address changes right after.
const viewOf = () => ({address: location.hash, locks: state.locks});

async function refreshChoices() {
  choices = await request("/api/form/about");
  return choices.library;
}

// Entries of a kind: choose one to open it, or save under a name.
// taken(found, name): the answer of opening; given(): what is saved; file(text, name): a file of the user.
function shelf(kind, {taken, given, file, name, more: extra = []}) {
  const one = {spots: "spot", ranges: "range", solutions: "solution"}[kind], id = name ? `${kind}-${name}` : kind;
  const note = make("p", {class: "dim", role: "status", id: `${id}-note`});
  const list = make("select", {id: `${id}-list`, "aria-label": `saved ${kind}`});
  const named = make("input", {id: `${id}-name`, placeholder: `name of the ${one}`, "aria-label": `name of the ${one}`, autocomplete: "off"});
  const say = (text, failed) => { note.className = failed ? "error" : "dim"; note.textContent = text; };
  const fill = library => {
    const entries = library ? library[kind] : [];
    list.replaceChildren(make("option", {value: ""}, entries.length ? `saved ${kind} …` : `no saved ${kind}`), ...entries.map(entry => make("option", {value: entry.name}, entry.name + (kind === "solutions" ? ` (${bytesText(entry.bytes)})` : ""))));
    buttons();
  };
  const buttons = () => { for (const button of chosen) button.disabled = !list.value; keep.disabled = !choices.library || !given; };
  const tryTo = work => async () => {
    try { await work(); } catch (error) { if (!(error instanceof Refused)) throw error; say(error.message, true); }
  };
  const open = second => tryTo(async () => { say(""); await taken(await request("/api/form/open", {kind, name: list.value, second}), list.value); });
  const save = force => tryTo(async () => {
    if (!named.value.trim()) { say("Write a name first.", true); named.focus(); return; }
    say("saving …");
    const answer = await request("/api/form/save", {kind, name: named.value.trim(), force, ...given()});
    if (answer.exists) {
      say(`${named.value.trim()} exists already. `);
      const again = make("button", {id: `${id}-replace`, on: {click: save(true)}}, "replace");
      note.append(again);
      again.focus();
      return;
    }
    shelved(answer.library);
    say(`saved as ${answer.path}`);
  });
  const keep = make("button", {id: `${id}-save`, on: {click: save(false)}}, "save");
  const chosen = [
    kind === "ranges" ? null : make("button", {id: `${id}-open`, on: {click: open(false)}}, "open"),
    kind === "solutions" && state.about ? make("button", {id: `${id}-second`, title: "show it next to this one", on: {click: open(true)}}, "open as B") : null,
    make("button", {id: `${id}-remove`, title: "delete the file", on: {click: tryTo(async () => {
      if (!confirm(`Delete the ${one} ${list.value}?`)) return;
      shelved((await request("/api/form/remove", {kind, name: list.value})).library);
    })}}, "delete"),
  ].filter(known);
  list.addEventListener("change", () => { buttons(); named.value = list.value; if (kind === "ranges" && list.value) open(false)(); });
  named.addEventListener("keydown", event => { if (event.key === "Enter") save(false)(); });
  const picked = file ? filePicker(`${id}-file`, file) : null;
  fill(choices.library);
  const box = make("div", {class: "shelf", on: {shelved: () => fill(choices.library)}}, make("p", {class: "buttons"}, list, ...chosen,
    file ? make("button", {on: {click: () => picked.click()}}, "file …") : null, picked),
  given ? make("p", {class: "buttons"}, ...extra, named, keep) : null, note);
  return box;
}

// Hidden input for a file, whose text and name are taken; choosing the same file again works, too.
function filePicker(id, take) {
  const box = make("input", {type: "file", id, class: "away", tabindex: -1, on: {change: async () => {
    const [one] = box.files;
    if (one) take(await one.text(), one.name);
    box.value = "";
  }}});
  return box;
}

// All lists show what has been saved or deleted.
function shelved(library) {
  choices.library = library;
  for (const box of document.querySelectorAll(".shelf")) box.dispatchEvent(new Event("shelved"));
}

const bytesText = bytes => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;

// ------------------------------------------------------------------------------- in the form

function takeSpot(found) {
  takeFields(found.fields);
  lastSize = null;
  keepForm();
  drawForm();
}

async function importSpot(text, name = "") {
  const found = await request("/api/form/read", {text, name}), note = at("import-note");
  if (found.error) { note.className = "error"; note.textContent = found.error; return; }
  takeSpot(found);
  const missing = ["oop", "bets.river"].filter(field_ => !(field_ in found.fields)).map(field_ => field_ === "oop" ? "ranges" : "sizes");
  at("import-note").textContent = `The spot is in the form.${missing.length ? ` It has no ${missing.join(" and no ")}: those of the form stay.` : ""}`;
  at("form-import").open = true;
}

const titleOf = fields => { const all = {...FIELDS, ...fields}; return `${all.board} · pot ${all.pot} · ${all.stacks} behind`; };

// The last spots, saved spots and solutions, and an import.
function openings() {
  const recent = (choices.page.recent || []).filter(one => one && typeof one === "object");
  const last = make("select", {id: "recent", "aria-label": "last spots", on: {change: () => { if (last.value) takeSpot({fields: {...FIELDS, ...recent[Number(last.value)]}}); }}},
    make("option", {value: ""}, recent.length ? "last spots …" : "no last spots"), ...recent.map((one, index) => make("option", {value: index}, titleOf(one))));
  const text = make("textarea", {id: "import-text", rows: 4, spellcheck: "false", "aria-label": "text of a spot", placeholder: "Paste a spot: TOML of this program, a script of PioSOLVER or TexasSolver, JSON of WASM or Desktop Postflop, a hand in PHH."});
  const picked = filePicker("import-file", quietly(importSpot));
  return make("fieldset", {}, make("legend", {}, "open and save"), last,
    shelf("spots", {taken: takeSpot, given: () => ({spot: spotOptions()})}),
    shelf("solutions", {taken: waitForGame}),
    make("details", {id: "form-import"}, make("summary", {}, "import a spot of another program"), text, make("p", {class: "buttons"},
      make("button", {id: "import", on: {click: quietly(() => importSpot(text.value))}}, "read the text"), make("button", {on: {click: () => picked.click()}}, "file …"), picked), make("p", {id: "import-note", class: "dim", role: "status"})),
    said(choices.library ? `Files are in ${choices.library.folder}.` : "This viewer has no folder to save in."));
}

// --------------------------------------------------------------------------- of a solution

async function showSaving() {
  at("saving").showModal();
  await refreshChoices();
  const {names} = state.about;
  const which = make("select", {id: "save-which", "aria-label": "solution"}, ...names.map((name, index) => make("option", {value: index}, name)));
  at("saving-shelf").replaceChildren(shelf("solutions", {
    more: names.length > 1 ? [which] : [],
    given: () => ({solution: Number(which.value || 0), view: viewOf()}),
    taken: async (_, name) => { at("saving").close(); saySolving(`reading ${name} …`); await waitForSolution(); },
  }), said(choices.library ? `Files are in ${choices.library.folder}. What is not saved is kept there as “last A” and “last B” when the viewer ends.` : "This viewer has no folder to save in."));
  at("solutions-name").focus();
}

// A solution that is read in the background takes the place of this one, or is shown next to it.
async function waitForSolution() {
  for (;;) {
    const status = await request("/api/form/status");
    if (status.building) { saySolving(`${compilingOf(status) || status.work} …`); await new Promise(done => setTimeout(done, 200)); continue; }
    saySolving(status.error || "", Boolean(status.error));
    if (status.error) return;
    await renew(status.view);
    return;
  }
}
