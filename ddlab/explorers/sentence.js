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
    if (el.isConnected) {
      const explorer = el.closest(".ddlab-explorer") ?? el;
      // Notebook 7 takes arrow keys for its headings before a slider hears of them.
      explorer.dataset.lmSuppressShortcuts = "true";
      watcher.observe(explorer);
    }
    else requestAnimationFrame(watch);
  };
  watch();
  return () => {
    closed = true;
    watcher.disconnect();
    model.send({ kind: "view", change: -1 });
    model.off("change:text", changed);
    speak.stop();
  };
}

export default { initialize, render };
