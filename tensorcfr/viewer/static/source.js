// Source of the data: the server, a notebook, or the page itself.

class Refused extends Error {}
const GONE = "the viewer has ended: this page stays, but loads nothing more.";

let leaving = false;
addEventListener("beforeunload", () => { leaving = true; });

// A page in a notebook sends messages; the answers have the same members as answers of fetch.
const asking = new Map();
function asked(path, {method, body}) {
  const number = asking.size;
  parent.postMessage({number, method, path, body}, "*");
  return new Promise(answer => asking.set(number, answer));
}
window.addEventListener("message", ({source, data}) => {
  const answer = source === parent && asking.get(data.number);
  if (answer) answer({ok: data.status === 200, text: async () => data.text, json: async () => JSON.parse(data.text)});
});

// Say what the server does if an answer takes long: its first use of a feature compiles kernels.
const compilingOf = status => status.compiles ? `compiling kernels, ${status.compiles} so far (once on this machine)` : "";
let pending = 0, waiting = null;
async function sayWaiting() {
  waiting = null;
  if (!pending || !boot.form) return;
  let text = "";
  try { text = compilingOf(await (await fetch("/api/form/status", {headers: {"X-Token": boot.token}})).json()); } catch { /* The request that waits will say so. */ }
  if (!pending) return;
  at("waiting").textContent = `${text || "working"} …`;
  at("waiting").hidden = false;
  waiting = setTimeout(sayWaiting, 400);
}
function answered() {
  pending -= 1;
  if (pending) return;
  clearTimeout(waiting);
  waiting = null;
  at("waiting").hidden = true;
}

async function request(path, body) {
  let answer;
  pending += 1;
  if (!waiting) waiting = setTimeout(sayWaiting, 600);
  try {
    answer = await (boot.mode === "widget" ? asked : fetch)(path, {
      method: body === undefined ? "GET" : "POST",
      headers: {"X-Token": boot.token},
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    if (leaving) return new Promise(() => {});  // The page is being left, so no one waits for the answer.
    sayGone();
    throw new Refused(GONE);
  } finally {
    answered();
  }
  leaving = false;
  at("trouble").hidden = true;
  if (!answer.ok) throw new Refused(await answer.text());
  return answer.json();
}

function sayGone() {
  const again = make("button", {on: {click: () => request("/api/status").then(() => watch()).catch(() => {})}}, "try again");
  at("trouble").replaceChildren(GONE, " ", again);
  at("trouble").hidden = false;
}

const kept = new Map();  // Nodes shown before, by version, solution and number.

const server = {
  about: () => request("/api/about"),
  async node(id, solution) {
    const key = `${state.version}/${solution}/${id}`;
    if (kept.has(key)) return kept.get(key);
    const node = await request(`/api/node?id=${id}&solution=${solution}`);
    if (kept.size > 100) kept.clear();
    if (node.values || node.note) kept.set(key, node);
    return node;
  },
  async extra(name, id, solution) {
    const key = `${state.version}/${solution}/${id}/${name}`;
    if (!kept.has(key)) kept.set(key, await request(`/api/extra?name=${name}&id=${id}&solution=${solution}`));
    return kept.get(key);
  },
  search: text => request(`/api/search?q=${encodeURIComponent(text)}`),
};

const file = {
  about: async () => boot.about,
  node: async (id, solution) => {
    const node = boot.nodes[solution][id];
    if (!node) throw new Refused("this node is not in the page, which holds a part of the nodes only");
    return node;
  },
  extra: async (name, id, solution) => boot.nodes[solution][id].extras[name] || null,
  search: async text => {
    const wanted = text.trim().toLowerCase(), found = [];
    for (const node of Object.values(boot.nodes[0])) {
      if (node.name.toLowerCase() === wanted) found.push({infoset: node.name, node: node.id});
      for (const row of node.hands) {
        if (row.infoset.toLowerCase().includes(wanted)) found.push({infoset: row.infoset, node: node.id});
        if (found.length >= 50) return found;
      }
    }
    return found;
  },
};

const answers = boot.mode !== "file";
const source = answers ? server : file;
