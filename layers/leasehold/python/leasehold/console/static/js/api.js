// Requests to the server that this page came from.

let secret = "";

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? document.title ?? `the server answered with ${status}`);
    this.status = status;
    this.code = document.code ?? "unknown";
  }
}

export async function openSession() {
  const session = await get("/session.json");
  secret = session.csrf;
  return session;
}

export function get(path, query, signal) {
  const asked = queryText(query);
  return send(asked ? `${path}?${asked}` : path, { signal });
}

export function post(path, body) {
  return send(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Leasehold-Console": secret },
    body: JSON.stringify(body),
  });
}

// Lists become one parameter for each of their values; what is empty is left out.
export function queryText(query) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of [value].flat()) if (each !== "" && each !== null && each !== undefined) asked.append(name, each);
  }
  return asked.toString();
}

async function send(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { code: "unreachable", detail: "The console's server does not answer. Is it still running?" });
  }
  const document = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, document);
  return document;
}
