// Light, dark, or what the system says; remembered in this browser.

const NAMES = ["auto", "light", "dark"];

export function themeButton(button) {
  let name = stored();
  const apply = () => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    button.textContent = `Theme: ${name}`;
  };
  button.addEventListener("click", () => {
    name = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length];
    try { localStorage.setItem("theme", name); } catch { /* private windows may refuse */ }
    apply();
  });
  apply();
}

function stored() {
  try {
    const name = localStorage.getItem("theme");
    return NAMES.includes(name) ? name : "auto";
  } catch {
    return "auto";
  }
}
