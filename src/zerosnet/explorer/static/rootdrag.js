// Parasitic roots that are moved by hand: a consistent three-step scheme follows its roots, with beta = (1 - r)(1 - s).

const AXIS = 0.06; // a root that is dropped this near to the real axis lies on it
const STEP = 0.05; // of an arrow key; with Shift a fifth
const NEAR = 24; // pixels from a root at which it can be taken
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export const movable = ({ alphas, betas, consistent, roots }) =>
  alphas.length === 3 && betas.length === 1 && consistent && roots.length === 3;

// The two roots when the one at `at` is moved to (re, im): off the axis its conjugate goes along; on it the other real
// root stays, and a pair becomes a double root.
export function moved(roots, at, [re, im], axis = AXIS) {
  if (Math.abs(im) >= axis) return [[re, im], [re, -im]];
  const [other, height] = roots[1 - at];
  return [[re, 0], [height === 0 ? other : re, 0]];
}

// roots of two decimals and exact coefficients, so that the scheme is consistent exactly
export function schemeOf([[re, im], [other, below]]) {
  const [x, y, u] = [re, im, other].map((value) => Math.round(value * 100));
  const trace = 100 * (x + u), product = below === 0 && im === 0 ? x * u : x * x + y * y; // in 1e-4
  const decimal = (whole) => String(Number((whole / 1e4).toFixed(4)));
  return {
    alphas: [1e4 + trace, -trace - product, product].map(decimal),
    betas: [decimal(1e4 - trace + product)],
  };
}

// The room listens, as it stays while its plot is drawn anew. move(scheme) for every new scheme, done() in the end.
export function rootsByHand(room, chart, roots, held, { move, done }) {
  const pair = roots.slice(1);
  const reach = held * 0.88;
  const within = ([re, im]) => {
    const size = Math.max(1, Math.hypot(re, im) / reach);
    return [re / size, im / size];
  };
  room.tabIndex = 0;
  room.setAttribute("role", "slider");
  room.setAttribute("aria-label", "parasitic root; arrow keys move it");
  room.setAttribute("aria-valuenow", Math.hypot(...pair[0]).toFixed(3));
  room.setAttribute("aria-valuetext", pair.map(([re, im]) => `${re.toFixed(3)} ${im < 0 ? "−" : "+"} ${Math.abs(im).toFixed(3)} i`).join(", "));
  room.onkeydown = (event) => {
    const way = KEYS[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const size = event.shiftKey ? STEP / 5 : STEP;
    const upper = pair[0][1] >= pair[1][1] ? 0 : 1;
    const [re, im] = pair[upper];
    move(schemeOf(moved(pair, upper, within([re + size * way[0], im + size * way[1]]), size / 2)));
    done();
  };
  room.onpointerdown = (event) => {
    const corner = room.getBoundingClientRect();
    const from = [event.clientX - corner.left, event.clientY - corner.top];
    const far = pair.map(([re, im]) => Math.hypot(chart.px(re) - from[0], chart.py(im) - from[1]));
    const at = far[0] <= far[1] ? 0 : 1;
    if (event.button !== 0 || far[at] > NEAR) return;
    event.preventDefault();
    room.focus({ preventScroll: true });
    room.setPointerCapture(event.pointerId);
    room.dataset.held = held; // the scale stays while a root is moved
    const ending = new AbortController();
    const [re, im] = pair[at], unit = chart.px(1) - chart.px(0);
    addEventListener("pointermove", ({ clientX, clientY }) => { // by how far it went: the room itself may have moved
      move(schemeOf(moved(pair, at, within([re + (clientX - event.clientX) / unit, im - (clientY - event.clientY) / unit]))));
    }, { signal: ending.signal });
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => { ending.abort(); delete room.dataset.held; done(); }, { signal: ending.signal });
    }
  };
}

export function notByHand(room) {
  room.removeAttribute("tabindex");
  for (const name of ["role", "aria-label", "aria-valuenow", "aria-valuetext"]) room.removeAttribute(name);
  room.onkeydown = room.onpointerdown = null;
}
