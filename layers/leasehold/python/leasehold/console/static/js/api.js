// Requests to the server that this page came from.

// Session storage is this tab's and this origin's, port included: no other page of this machine can read it.
const KEPT = "leasehold-console";
let secret = sessionStorage.getItem(KEPT) ?? "";

// The printed address has the secret behind a #, which is sent nowhere. It is taken out before anybody looks.
export function takeSecret() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return false;
  secret = found[1];
  sessionStorage.setItem(KEPT, secret);
  history.replaceState(null, "", location.pathname);
  return true;
}

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? document.title ?? `the server answered with ${status}`);
    this.status = status;
    this.code = document.code ?? "unknown";
  }
}

export function openSession() {
  return get("/session.json");
}

export function get(path, query, signal) {
  const asked = queryText(query);
  return send(asked ? `${path}?${asked}` : path, { signal });
}

export function post(path, body, method = "POST") {
  return send(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

// Lists become one parameter for each of their values; what is empty is left out.
export function queryText(query) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of [value].flat()) if (each !== "" && each !== null && each !== undefined) asked.append(name, each);
  }
  return asked.toString();
}

// Whole numbers beyond 2^53 stay as they are written: a payload that is edited must not change anywhere else.
export function parseJson(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && JSON.rawJSON && /^-?\d+$/.test(context?.source) && !Number.isSafeInteger(value) ? JSON.rawJSON(context.source) : value);
}

async function send(path, options) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { ...options.headers, "X-Leasehold-Console": secret } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { code: "unreachable", detail: "The console's server does not answer. Is it still running?" });
  }
  const document = await answer.text().then(parseJson).catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, document);
  return document;
}
