function render({ model, el }) {
  el.classList.add("ddlab-sentence-widget");
  const shown = add(el, "div", "sentence");
  shown.setAttribute("aria-live", "off"); // Read out by the speaker below, which takes its time.
  const speak = speaker(el, () => model.get("text"));
  const show = () => (shown.textContent = model.get("text"));
  const changed = () => {
    show();
    speak();
  };
  show();
  model.on("change:text", changed);
  model.send({ kind: "view", change: 1 });
  // Once the explorer is on the screen, Python may compute ahead what the reader is likely to ask for. The sentence stands below the
  // plots, so it may come last: any part of the explorer counts. It stands in one only when its cell is on the page.
  let closed = false;
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    model.send({ kind: "seen" });
    watcher.disconnect();
  });
  const watch = () => {
    if (closed) return;
    if (el.isConnected) watcher.observe(el.closest(".ddlab-explorer") ?? el);
    else requestAnimationFrame(watch);
  };
  watch();
  // Jupyter takes arrow keys for its headings before a slider hears of them, unless the focused element itself says no. All other
  // keys stay shortcuts.
  const keepArrows = ({ target, key }) => {
    const isWithin = (el.closest(".ddlab-explorer") ?? el).contains(target);
    if (isWithin) target.toggleAttribute("data-lm-suppress-shortcuts", key.startsWith("Arrow"));
  };
  window.addEventListener("keydown", keepArrows, true);
  return () => {
    closed = true;
    window.removeEventListener("keydown", keepArrows, true);
    watcher.disconnect();
    model.send({ kind: "view", change: -1 });
    model.off("change:text", changed);
    speak.stop();
  };
}

export default { initialize, render };
