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
  // Once the explorer is on the screen, Python may compute ahead what the reader is likely to ask for.
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    model.send({ kind: "seen" });
    watcher.disconnect();
  });
  watcher.observe(shown);
  return () => {
    watcher.disconnect();
    model.send({ kind: "view", change: -1 });
    model.off("change:text", changed);
    speak.stop();
  };
}

export default { initialize, render };
