// A slider's handle has no name for a screen reader, and where the stops are a list it reads their number: it gets the words of the
// label before it and of the value behind it.
function nameSliders(explorer, named) {
  for (const handle of explorer.querySelectorAll(".noUi-handle")) {
    const box = handle.closest(".widget-inline-hbox");
    if (!box || named.has(handle)) continue;
    const follow = () => {
      const words = { "aria-label": ".widget-label", "aria-valuetext": ".widget-readout" };
      for (const [attribute, part] of Object.entries(words)) {
        const text = box.querySelector(part)?.textContent.trim();
        if (text && handle.getAttribute(attribute) !== text) handle.setAttribute(attribute, text);
      }
    };
    const observer = new MutationObserver(follow);
    observer.observe(box, { subtree: true, childList: true, characterData: true, attributeFilter: ["aria-valuetext"] });
    named.set(handle, observer);
    follow();
  }
}

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
  const named = new Map();
  // The parts of an explorer are drawn one after the other, in no order.
  const naming = setInterval(() => nameSliders(el.closest(".ddlab-explorer") ?? el, named), 500);
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
    clearInterval(naming);
    for (const observer of named.values()) observer.disconnect();
    window.removeEventListener("keydown", keepArrows, true);
    watcher.disconnect();
    model.send({ kind: "view", change: -1 });
    model.off("change:text", changed);
    speak.stop();
  };
}

export default { initialize, render };
