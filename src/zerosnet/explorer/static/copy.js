// To the clipboard, also where the page is not served from this machine and browsers hold the clipboard back.

import { byId, html } from "./dom.js";

let timer = 0;

export function toast(text) {
  const room = byId("toast");
  room.textContent = text;
  room.classList.add("seen");
  clearTimeout(timer);
  timer = setTimeout(() => room.classList.remove("seen"), 2500);
}

export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = html("textarea", { class: "offscreen", readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`Copied as ${what}: ${text.trim().split("\n").at(-1)}`);
}
