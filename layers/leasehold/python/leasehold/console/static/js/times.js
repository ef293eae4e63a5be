// Times as people read them, with the exact time at hand.

import { h } from "./dom.js";

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

export function when(text) {
  if (!text) return h("span", { class: "quiet" }, "–");
  return h("time", { datetime: text, title: exact(text), class: "when" }, relative(text));
}

export function exact(text) {
  const local = new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  return `${text} (here: ${local})`;
}

// As a clock in another timezone shows it.
export function inZone(text, timeZone = "UTC") {
  const parts = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
  try {
    return new Date(text).toLocaleString(undefined, { ...parts, timeZone });
  } catch {
    return text;
  }
}

export function relative(text, now = Date.now()) {
  const seconds = (new Date(text).getTime() - now) / 1000;
  const whole = Math.floor(Math.abs(seconds));
  if (whole < 1) return "now";
  return seconds < 0 ? `${duration(whole)} ago` : `in ${duration(whole)}`;
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10 && seconds % 1) return `${seconds.toFixed(1)} s`;
  const [unit, size] = UNITS.find(([, each]) => seconds >= each);
  const whole = Math.floor(seconds / size);
  const finer = UNITS[UNITS.findIndex(([each]) => each === unit) + 1];
  const rest = finer && whole < 10 ? Math.floor((seconds - whole * size) / finer[1]) : 0;
  return rest ? `${whole} ${unit} ${rest} ${finer[0]}` : `${whole} ${unit}`;
}

// What a datetime-local field holds is in the operator's own timezone.
export function toUtc(local) {
  return local ? new Date(local).toISOString() : "";
}

export function toLocal(utc) {
  if (!utc) return "";
  const at = new Date(utc);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// Keep what is shown true while time passes.
export function keepTime() {
  setInterval(() => {
    for (const each of document.querySelectorAll("time.when")) {
      const text = relative(each.dateTime);
      if (each.textContent !== text) each.textContent = text;
    }
  }, 1000);
}
