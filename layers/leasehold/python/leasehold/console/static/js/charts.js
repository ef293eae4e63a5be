// Charts, drawn by hand. Each says in words what it shows, and has its numbers in a table beside it.

import { h, svg } from "./dom.js";

const WIDEST = 1380;
const NARROWEST = 280;
const PADDING = 36;
const HEIGHT = 170;
const LEFT = 34;
const BOTTOM = 20;

// Bars over time. series: [{name, label}]; points: [{at, values: {name: number}}].
export function barsOverTime({ title, summary, series, points, label, space }) {
  // Drawn as wide as there is space, so that its words have the size of all others.
  const width = Math.min(WIDEST, Math.max(NARROWEST, space - PADDING));
  const totals = points.map(({ values }) => series.reduce((sum, { name }) => sum + (values[name] ?? 0), 0));
  const top = niceTop(Math.max(1, ...totals));
  const step = (width - LEFT) / points.length;
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const bars = points.flatMap(({ at, values }, index) => {
    let below = 0;
    return series.map(({ name, label: what }) => {
      const value = values[name] ?? 0;
      if (!value) return null;
      below += value;
      return svg("rect", {
        class: `tone ${name}`, x: (LEFT + index * step + 1).toFixed(1), y: y(below).toFixed(1),
        width: Math.max(1, step - 2).toFixed(1), height: Math.max(1, y(below - value) - y(below)).toFixed(1), rx: 1,
      }, svg("title", null, `${label(at)}: ${value} ${what.toLowerCase()}`));
    });
  });
  const lines = [0, top / 2, top].map((value) => [
    svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
  ]);
  const marks = [0, Math.floor(points.length / 2), points.length - 1].map((index, place) =>
    svg("text", { class: "tick", x: LEFT + index * step + (place === 2 ? step : 0), y: HEIGHT - 4,
      "text-anchor": ["start", "middle", "end"][place] }, label(points[index].at)));
  return figure(title, summary, legend(series),
    svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": `${title}. ${summary}` }, lines, bars, marks),
    numbers(title, ["Time", ...series.map((each) => each.label)],
      points.filter((_, index) => totals[index]).map(({ at, values }) =>
        [label(at), ...series.map(({ name }) => String(values[name] ?? 0))])));
}

// One bar for each thing. bars: [{label, value, text, tone}].
export function bars({ title, summary, bars: given, heading }) {
  const row = 26;
  const from = 112;
  const top = Math.max(...given.map((each) => each.value), Number.MIN_VALUE);
  const drawn = given.map(({ label, value, text, tone }, index) => [
    svg("text", { class: "tick", x: from - 8, y: index * row + 17, "text-anchor": "end" }, cut(label)),
    svg("rect", { class: `tone ${tone ?? "in_progress"}`, x: from, y: index * row + 4, height: row - 8, rx: 2,
      width: Math.max(value ? 2 : 0, (value / top) * 110).toFixed(1) }),
    svg("text", { class: "tick strong", x: from + 8 + (value / top) * 110, y: index * row + 17 }, text),
  ]);
  return figure(title, summary, null,
    svg("svg", { viewBox: `0 0 300 ${given.length * row}`, width: 300, height: given.length * row, role: "img", "aria-label": `${title}. ${summary}` }, drawn),
    numbers(title, heading, given.map(({ label, text }) => [label, text])));
}

function figure(title, summary, ...parts) {
  return h("figure", { class: "chart" }, h("figcaption", null, h("h2", null, title), h("p", { class: "quiet" }, summary)), parts);
}

function legend(series) {
  return h("ul", { class: "legend", "aria-hidden": "true" },
    series.map(({ name, label }) => h("li", null, h("span", { class: `swatch ${name}` }), label)));
}

function numbers(title, heading, rows) {
  return h("details", { class: "numbers" }, h("summary", null, "Numbers", h("span", { class: "unseen" }, ` of ${title}`)),
    rows.length
      ? h("table", null,
          h("thead", null, h("tr", null, heading.map((each) => h("th", { scope: "col" }, each)))),
          h("tbody", null, rows.map(([first, ...rest]) =>
            h("tr", null, h("th", { scope: "row" }, first), rest.map((each) => h("td", { class: "number" }, each))))))
      : h("p", { class: "quiet" }, "All are zero."));
}

function niceTop(value) {
  const steps = [2, 4, 10, 20, 50];
  let size = 1;
  for (;;) {
    const found = steps.find((each) => each * size >= value);
    if (found) return found * size;
    size *= 10;
  }
}

function cut(text) {
  return text.length > 16 ? `${text.slice(0, 15)}…` : text;
}
