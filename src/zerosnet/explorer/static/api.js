// The JSON interface: one request at a time for each live view, the newest question asked next, and a server that may
// go away and come back.

import { byId } from "./dom.js";
import { answerOf, offline } from "./offline.js";

const RETRY_AFTER = 800; // ms

export class Refused extends Error {
  constructor(message, parameter) {
    super(message);
    this.parameter = parameter;
  }
}

export async function get(path, query = {}) {
  if (offline) return held(path, query);
  const search = new URLSearchParams(query).toString();
  const response = await fetch(`api/${path}${search ? `?${search}` : ""}`);
  if (response.status === 503) throw new Error("busy");
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error, answer.parameter);
  return answer;
}

async function held(path, query) {
  try {
    return await answerOf(path, query);
  } catch (error) {
    throw new Refused(error.message, "param");
  }
}

// like `get`, but waits for a server that is away; says so meanwhile
export async function persist(path, query, stillWanted = () => true) {
  for (;;) {
    try {
      const answer = await get(path, query);
      byId("away").hidden = true;
      return answer;
    } catch (error) {
      if (error instanceof Refused) {
        byId("away").hidden = true;
        throw error;
      }
      byId("away").hidden = false;
      await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
      if (!stillWanted()) return null;
    }
  }
}

// Asks for the newest query only: while an answer is awaited, later queries replace each other.
export class Live {
  #next = null;
  #busy = false;

  constructor(path, { answered, refused }) {
    Object.assign(this, { path, answered, refused });
  }

  ask(query) {
    this.#next = { query, since: performance.now() };
    if (!this.#busy) this.#run();
  }

  async #run() {
    this.#busy = true;
    while (this.#next) {
      const { query, since } = this.#next;
      this.#next = null;
      try {
        const answer = await persist(this.path, query, () => this.#next === null);
        if (answer) this.answered(answer, query, since);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.refused(error, query);
      }
    }
    this.#busy = false;
  }
}

// keeps an eye on the server while nothing is asked
export function watch(recovered) {
  if (offline) return;
  let away = false;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      await get("copy", { family: "leapfrog" });
      byId("away").hidden = true;
      if (away) recovered();
      away = false;
    } catch {
      byId("away").hidden = false;
      away = true;
    }
  }, 3000);
}
