// How the console calls things.

import { h } from "./dom.js";

export const STATUSES = {
  pending: ["Pending", "○"],
  in_progress: ["Running", "▶"],
  failed: ["Will retry", "↻"],
  completed: ["Completed", "✓"],
  cancelled: ["Cancelled", "–"],
  dead_letter: ["Dead letter", "✕"],
};
export const PRIORITIES = ["low", "normal", "high", "critical"];

const OTHER_STATES = {
  failed_run: ["Failed", "✕", "dead_letter"],
  active: ["Active", "✓", "completed"],
  paused: ["Paused", "‖", "failed"],
  disabled: ["Off", "–", "cancelled"],
  running: ["Running", "▶", "in_progress"],
  finished: ["Finished", "✓", "completed"],
  stopped: ["Stopped", "✕", "dead_letter"],
  skipped: ["Skipped", "–", "cancelled"],
  creating: ["Being made", "○", "pending"],
  cancelling: ["Cancelling", "–", "failed"],
  not_deployed: ["Not deployed", "!", "dead_letter"],
};

// Never by colour alone: a sign and a word say it too.
export function badge(state) {
  const name = String(state).toLowerCase();
  const [word, sign] = STATUSES[name] ?? OTHER_STATES[name] ?? [sentence(name), "•"];
  const tone = STATUSES[name] ? name : (OTHER_STATES[name]?.[2] ?? "pending");
  return h("span", { class: `badge ${tone}` }, h("span", { "aria-hidden": "true" }, sign), word);
}

// The message of an error behind its class, each of them once.
export function errorText(error, code) {
  const text = String(error ?? "");
  if (!code || text === code) return text || code || "";
  const named = text.indexOf(`${code}: `);
  return `${code}: ${named >= 0 && /^[\w.]*$/.test(text.slice(0, named)) ? text.slice(named + code.length + 2) : text}`;
}

// A name that the system uses, as words: next_attempt is "Next attempt".
export function sentence(name) {
  const words = String(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function count(counted) {
  return `${counted.value.toLocaleString("en")}${counted.is_exact ? "" : "+"}`;
}

export function many(number, one, several = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : several}`;
}
