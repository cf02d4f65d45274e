"use strict";
// Small tools. Labels may come from untrusted games: they are set as text, never as markup.

const boot = JSON.parse(document.getElementById("boot").textContent);
const RANKS = "AKQJT98765432", SUITS = {s: "♠", h: "♥", d: "♦", c: "♣"};
const ALIVE = 1e-12;
const LONG = 60;  // Number of characters from which a name is in small print.

const at = id => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") for (const [event, f] of Object.entries(value)) element.addEventListener(event, f);
    else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ""));
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const known = value => value !== null && value !== undefined;
const brief = (value, digits = 4) => {
  if (!known(value)) return "–";
  if (Math.abs(value) < 5e-13) return "0";
  const text = Math.abs(value) < 1e-4 ? value.toExponential(Math.min(2, digits - 1)) : value.toPrecision(digits);
  if (!text.includes("e")) return String(parseFloat(text));
  // Large numbers are whole: a cell has no room for a power of ten.
  return Math.abs(value) >= 1 && Math.abs(value) < 1e7 ? String(Math.round(value)) : text;
};
const signed = (value, digits = 4) => known(value) ? (value > 0 && Math.abs(value) >= 5e-13 ? "+" : "") + brief(value, digits) : "–";
const percent = value => {
  if (!known(value)) return "–";
  if (value > 0 && value < 0.0005) return "<.1%";
  if (value < 1 && value > 0.9995) return ">99.9%";
  return (100 * value).toFixed(1) + "%";
};
const points = value => Math.abs(value) < 5e-4 ? "0.0" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`;
const whole = value => value.toLocaleString("en");

// ------------------------------------------------------------------------------------ colours

// The server sends the colours of poker actions. Other actions take the palette of M. Okabe and
// K. Ito (2008), and after that lighter and then darker colours of the same hues.
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#808080"];
const TURNS = ["", "white 55%", "black 45%"];
function palette(index) {
  const own = COLOURS[index % COLOURS.length], other = TURNS[Math.floor(index / COLOURS.length) % TURNS.length];
  return other ? `color-mix(in srgb, ${own}, ${other})` : own;
}
const colourOf = (stop, index) => stop.colours ? stop.colours[index] : palette(index);

// True if a colour "#rrggbb" needs light letters.
const isDark = colour => /^#[0-9a-f]{6}$/i.test(colour) && [0.3, 0.59, 0.11].reduce((sum, part, at) => sum + part * parseInt(colour.slice(1 + 2 * at, 3 + 2 * at), 16), 0) < 110;

// Colour from 0, red, over 1/2, yellow, to 1, green.
const SCALE = [[214, 72, 60], [244, 214, 110], [72, 160, 90]];
function scaled(share) {
  const x = 2 * Math.min(1, Math.max(0, share)), from = Math.min(1, Math.floor(x)), part = x - from;
  return `rgb(${SCALE[from].map((own, i) => Math.round(own + part * (SCALE[from + 1][i] - own))).join(" ")})`;
}

// --------------------------------------------------------------------------------------- cards

const cardsIn = text => /^([AKQJT2-9][shdc])+$/.test(text) ? text.match(/../g) : null;
const cardSpan = card => make("span", {class: `card ${card[1]}`, title: card}, card[0] + SUITS[card[1]]);

// Displayed label: cards with their suits, amounts after a blank.
function pretty(label) {
  const cards = cardsIn(label);
  if (cards) return cards.map(cardSpan);
  if (/^all-?in$/.test(label)) return ["all-in"];
  return [label.replace(/^(bet|raise)(?=\d)/, "$1 ")];
}
