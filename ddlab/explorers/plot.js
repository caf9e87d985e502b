// Front end of the plot widget. One page-wide copy of plotly.js, unpacked from the library model that Python sends once per kernel.
const page = (globalThis.__ddlab ??= { queue: Promise.resolve(), loaded: {} });
const CONFIG = {
  displaylogo: false,
  responsive: false,
  // Named one by one: what plotly offers by itself includes sending the chart to a server.
  modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
};
const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

async function unpack(library) {
  const zipped = new Blob([library.get("gzipped")]).stream();
  const script = await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).blob();
  const parts = ["const module = {exports: {}};\n", script, "\nexport default module.exports;"];
  const url = URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
  try {
    return (await import(url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function loadShared(model) {
  const library = await findModel(model, model.get("_library"));
  const version = library.get("version");
  page.loaded[version] ??= unpack(library).catch((error) => {
    delete page.loaded[version];
    throw error;
  });
  return [await page.loaded[version], library.get("palettes")];
}

async function render({ model, el }) {
  el.classList.add("ddlab-plot");
  const frame = add(el, "div", "frame");
  const graph = add(frame, "div", "graph");
  graph.setAttribute("role", "img");
  const cursor = add(frame, "div", "cursor");
  const speak = speaker(el, () => graph.getAttribute("aria-label"));
  const foot = add(el, "div", "foot");
  const details = add(foot, "details", "data");
  const more = add(details, "summary", "toggle", "Table and words");
  more.title = "Words, table and picture of this figure";
  const words = add(details, "p", "words");
  const save = add(details, "button", "save", "Save as picture");
  const rows = add(details, "div", "rows");
  const keep = add(foot, "button", "keep");
  const kept = add(foot, "span", "kept");
  keep.title = "Keep these curves behind what comes, three at most; press again to let them go";
  keep.addEventListener("click", () => (self.comm_live === false ? self.trigger("keep") : model.send({ kind: "keep" })));
  const self = await findModel(model, model.get("_own"));
  self.shownIn = el;
  const nameKept = () => {
    keep.textContent = model.get("keep");
    keep.hidden = !model.get("keep") || (self.comm_live === false && !self.remembers);
    kept.textContent = model.get("kept").join("   ");
  };
  nameKept();
  graph.style.minHeight = `${model.get("height")}px`; // Keeps the page from jumping while plotly.js arrives.

  let Plotly, palettes;
  try {
    [Plotly, palettes] = await loadShared(model);
  } catch (error) {
    add(el, "div", "failed", `This plot could not be drawn: ${error.message}. Run the cell again.`);
    throw error;
  }
  const drag = draggable(graph, model, Plotly, () => draw());
  let waiting = false, lastDrawn = 0, drawnText = "", drawn = 0, closed = false, width = 0, fits = true;

  const tell = () => {
    words.textContent = model.get("alt");
    fillTable(rows, graph);
  };
  save.addEventListener("click", () => Plotly.downloadImage(graph, { format: "png", scale: 2, filename: "figure" }));
  const placeCursor = () => {
    placeAt(cursor, graph, model.get("cursor"));
    el.dataset.cursor = model.get("cursor") ?? "";
  };
  // On a narrow screen the frame is wider than its place, and is shown smaller.
  const shrink = () => {
    const scale = Math.min(1, el.clientWidth / frame.offsetWidth) || 1;
    frame.style.transform = scale < 1 ? `scale(${scale})` : "";
    frame.style.marginBottom = scale < 1 ? `${(scale - 1) * frame.offsetHeight}px` : "";
  };
  const draw = async () => {
    if (closed) return;
    drawnText = model.get("_figure");
    // Views beside it may come later and take their share. Plotly itself cannot measure a place that the browser skips because it is
    // outside the window, and would take 700 pixels.
    if (!drawn) width = frame.clientWidth;
    const figure = drag.held(themedFigure(drawnText, palettes));
    fits = figure.layout.width === undefined;
    if (fits && width) figure.layout.width = width;
    await Plotly.react(graph, figure.data, figure.layout, CONFIG);
    if (!drawn) graph.on("plotly_afterplot", placeCursor);
    shrink();
    graph.setAttribute("aria-label", model.get("alt"));
    if (drawn && model.get("announce")) speak();
    placeCursor();
    if (details.open) tell();
    el.dataset.drawn = ++drawn;
  };
  // The first change after a rest is drawn at once. In a stream of them frames that arrive before the screen is drawn again replace
  // each other: only the newest is drawn.
  const redraw = async () => {
    if (waiting || !drawn) return; // The first drawing takes what is newest then.
    waiting = true;
    if (performance.now() - lastDrawn < 50) await nextFrame();
    // One plot per frame: what changes first is painted before the next one is drawn.
    while (page.turn) await page.turn;
    page.turn = nextFrame().then(() => pause()).then(() => pause()).then(() => (page.turn = null)); // twice: others wait, too
    try {
      await draw();
    } finally {
      waiting = false;
      lastDrawn = performance.now();
      if (!closed && model.get("_figure") !== drawnText) redraw();
    }
  };
  // A click counts where the cursor is, on a mark or on empty ground, of which plotly says nothing; its marks are what is hovered.
  let pressed = null;
  const press = ({ clientX, clientY, target }) => (pressed = graph.contains(target) ? [clientX, clientY] : null);
  const release = ({ clientX, clientY }) => {
    const area = graph.querySelector(".nsewdrag")?.getBoundingClientRect();
    const isClick = pressed && area && Math.hypot(clientX - pressed[0], clientY - pressed[1]) < 4;
    pressed = null;
    const scale = graph.getBoundingClientRect().width / graph.offsetWidth;
    const [across, up] = area ? [clientX - area.left, clientY - area.top].map((pixels) => pixels / scale) : [-1, -1];
    const { xaxis, yaxis } = graph._fullLayout ?? {};
    if (!isClick || across < 0 || up < 0 || across > xaxis._length || up > yaxis._length) return;
    const [hovered] = graph._hoverdata ?? [];
    const custom = ArrayBuffer.isView(hovered?.customdata) ? Array.from(hovered.customdata) : hovered?.customdata;
    const mark = { curve: hovered?.curveNumber ?? null, point: hovered?.pointNumber ?? null, name: hovered?.data.name ?? null };
    const count = (model.get("clicked").count ?? 0) + 1;
    model.set("clicked", { count, x: xaxis.p2d(across), y: yaxis.p2d(up), ...mark, customdata: custom ?? null });
    model.save_changes();
  };
  addEventListener("mousedown", press, true);
  addEventListener("mouseup", release, true);

  const motion = matchMedia("(prefers-reduced-motion: reduce)");
  const tellMotion = () => {
    if (model.get("reduced_motion") === motion.matches) return;
    model.set("reduced_motion", motion.matches);
    model.save_changes();
  };
  const theme = new MutationObserver(redraw);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  const size = new ResizeObserver(async () => {
    shrink();
    if (!drawn || !frame.clientWidth || frame.clientWidth === width) return;
    width = frame.clientWidth;
    await nextFrame();
    if (!closed && fits) Plotly.relayout(graph, { width });
  });
  model.on("change:_figure", () => {
    drag.settle();
    redraw();
  });
  model.on("change:cursor", placeCursor);
  for (const name of ["keep", "kept"]) model.on(`change:${name}`, nameKept);
  details.addEventListener("toggle", () => details.open && tell());
  motion.addEventListener("change", tellMotion);
  tellMotion();
  // First drawings take turns, with a pause between: a page of ten plots stays alive and messages are not kept waiting.
  page.queue = page.queue.then(draw).catch(console.error).then(() => pause());
  await page.queue;
  graph.style.minHeight = "";
  size.observe(frame);
  size.observe(el);
  if (model.get("_figure") !== drawnText) redraw();

  return () => {
    closed = true;
    speak.stop();
    drag.stop();
    theme.disconnect();
    size.disconnect();
    motion.removeEventListener("change", tellMotion);
    removeEventListener("mousedown", press, true);
    removeEventListener("mouseup", release, true);
    Plotly.purge(graph);
  };
}

export default { initialize, render };
