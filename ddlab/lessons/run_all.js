// The bar of a lesson that runs: over the page in JupyterLab, else where the cell's output is.
const WAIT = 900; // Milliseconds of running before the bar comes, and of rest before it goes: one short cell does not show it.

function inWords(seconds) {
  if (seconds < 5) return "a few seconds left";
  return seconds < 90 ? `about ${Math.ceil(seconds / 5) * 5} s left` : `about ${Math.ceil(seconds / 60)} min left`;
}

function render({ model, el }) {
  const panel = el.closest(".jp-NotebookPanel");
  const bar = add(panel ?? el, "div", "run-all");
  bar.classList.toggle("ddlab-over", Boolean(panel));
  const part = add(bar, "div", "run-all-part");
  const words = add(bar, "div", "run-all-words");
  bar.setAttribute("role", "progressbar");
  bar.setAttribute("aria-label", "lesson");
  bar.hidden = true;
  let since = 0, change = 0, tick = 0;

  // How many cells wait or run, as their prompts say. Folded ones are not on the page: where the last waits, so do all.
  const waiting = () => {
    const prompts = [...(panel?.querySelectorAll(".jp-CodeCell .jp-InputPrompt") ?? [])].map((one) => one.textContent.includes("*"));
    return prompts.at(-1) ?? true ? Infinity : Math.max(1, prompts.filter(Boolean).length);
  };
  const show = () => {
    const { place, cells, left, share, stopped } = model.get("at");
    const running = place && !stopped;
    const seconds = running ? left[Math.min(waiting(), left.length) - 1] - (performance.now() - since) / 1000 : 0;
    const said = stopped || `Cell ${place} of ${cells}, ${inWords(seconds)}`;
    words.textContent = said;
    part.style.width = `${100 * share}%`;
    bar.setAttribute("aria-valuenow", Math.round(100 * share));
    bar.setAttribute("aria-valuetext", said);
    bar.classList.toggle("ddlab-stopped", Boolean(stopped));
  };
  const changed = () => {
    const { place, stopped } = model.get("at");
    since = performance.now();
    if (place || stopped) show();
    clearTimeout(change);
    const wanted = Boolean(place || stopped);
    if (wanted && stopped) bar.hidden = false;
    else if (wanted === bar.hidden) change = setTimeout(() => (bar.hidden = !wanted), WAIT);
  };
  tick = setInterval(() => bar.hidden || !model.get("at").place || show(), 1000);
  model.on("change:at", changed);
  changed();
  return () => {
    clearTimeout(change);
    clearInterval(tick);
    model.off("change:at", changed);
    bar.remove();
  };
}

export default { initialize, render };
