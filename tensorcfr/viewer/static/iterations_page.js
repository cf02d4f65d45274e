// A page of its own for the events of iterations.

const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = theme => { document.documentElement.dataset.theme = theme; };
setTheme(dark.matches ? "dark" : "light");
dark.addEventListener("change", event => setTheme(event.matches ? "dark" : "light"));
document.title = `${boot.events.game} by ${boot.events.algorithm} – tensorcfr`;
playIterations(at("player"), boot.events, () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
document.body.dataset.ready = "true";
