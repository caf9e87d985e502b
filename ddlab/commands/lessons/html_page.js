// A page of a lesson: draws its figures, and lets the recorded controls of its explorers move. Stands after explorers/figure.js.
const palettes = JSON.parse(document.getElementById("ddlab-palettes").textContent);
const waiting = new Set(); // places to be drawn before the screen is

function wants(place, figure) {
  place.figure = { ...place.figure, ...figure };
  if (!waiting.size) requestAnimationFrame(drawAll);
  waiting.add(place);
}

async function drawAll() {
  const places = [...waiting];
  waiting.clear();
  for (const place of places) await draw(place).catch(console.error);
}

async function draw(place) {
  // Without plotly.js beside the page the words of each figure stay. What is folded away is drawn when it is opened.
  if (!globalThis.Plotly || !place.clientWidth) return;
  const { text, alt, cursor } = place.figure;
  if (!place.parts) setUp(place);
  const { title, graph, line, details, rows } = place.parts;
  const look = pageTheme() + text;
  if (place.look !== look) {
    place.look = look;
    const { data, layout } = themedFigure(text, palettes);
    title.textContent = takeTitle(layout);
    shrink(layout, place.clientWidth);
    await Plotly.react(graph, data, layout, { displayModeBar: false, responsive: true });
    if (!place.heard) graph.on("plotly_afterplot", () => placeAt(line, graph, place.figure.cursor));
    place.heard = true;
    if (details.open) fillTable(rows, graph);
  }
  graph.setAttribute("aria-label", alt);
  placeAt(line, graph, cursor);
}

// The title stands above the figure, where it takes as many lines as it needs on a narrow page: plotly would cut it off.
function takeTitle(layout) {
  const text = layout.title?.text ?? "";
  if (!text) return "";
  delete layout.title;
  const room = Math.max(0, Math.min(26, (layout.margin?.t ?? 60) - 16));
  layout.margin = { ...layout.margin, t: (layout.margin?.t ?? 60) - room };
  layout.height = (layout.height ?? 360) - room;
  return plain(text.replace(/<[^>]*>/g, " "));
}

// Pictures have a width of their own, which may be more than a phone's.
function shrink(layout, width) {
  if (!(layout.width > width)) return;
  layout.height = ((layout.height ?? 360) * width) / layout.width;
  layout.width = width;
}

function setUp(place) {
  place.replaceChildren();
  place.removeAttribute("role");
  place.removeAttribute("aria-label");
  const title = add(place, "div", "caption");
  const frame = add(place, "div", "frame");
  const [graph, line] = [add(frame, "div", "graph"), add(frame, "div", "cursor")];
  graph.setAttribute("role", "img");
  const details = add(place, "details", "data");
  add(details, "summary", "toggle", "Data table");
  const rows = add(details, "div", "rows");
  details.addEventListener("toggle", () => details.open && fillTable(rows, graph));
  place.parts = { title, graph, line, details, rows };
}

function fill(place, content, texts) {
  if ("figure" in content) {
    const [layout, ...data] = content.figure.map((part) => texts[part]);
    wants(place, { ...content, text: `{"data":[${data.join()}],"layout":${layout}}` });
  } else if ("src" in content) {
    place.src = content.src;
    place.alt = place.title = content.alt;
  } else if ("text" in content) place.textContent = content.text;
  else if ("control" in content) place.innerHTML = content.control;
  else if ("html" in content) place.innerHTML = content.html;
}

function bringToLife(script) {
  const explorer = script.parentElement;
  const { counts, slots, texts } = JSON.parse(script.textContent);
  const places = slots.map((_, number) => explorer.querySelector(`[data-slot="${number}"]`));
  const controls = counts.map((_, number) => explorer.querySelector(`[data-control="${number}"]`));
  const value = (control) => (control.options ? control.selectedIndex : Number(control.value));
  const sentences = () => places.filter((_, at) => "text" in slots[at].contents[0]).map((place) => place.textContent).join(" ");
  const speak = speaker(explorer, sentences);
  const show = () => {
    const at = controls.reduce((sum, control, number) => sum * counts[number] + value(control), 0);
    slots.forEach((slot, number) => {
      const content = slot.contents[slot.at[at]];
      places[number].hidden = !content;
      if (content) fill(places[number], content, texts);
    });
  };
  for (const control of controls) {
    control.disabled = false;
    control.addEventListener("input", () => {
      if (!control.options) {
        const label = JSON.parse(control.dataset.labels)[control.value];
        control.nextElementSibling.textContent = label;
        control.setAttribute("aria-valuetext", label);
      }
      show();
      speak();
    });
  }
  show();
}

const figures = [...document.querySelectorAll(".ddlab-figure")];
for (const place of figures) {
  const script = place.querySelector("script");
  const { cursor } = place.dataset;
  if (script) wants(place, { text: script.textContent, alt: place.getAttribute("aria-label"), cursor: cursor && Number(cursor) });
}
document.querySelectorAll("script.ddlab-recording").forEach(bringToLife);
document.addEventListener("toggle", ({ target }) => target.querySelectorAll?.(".ddlab-figure").forEach((place) => wants(place)), true);

const dark = matchMedia("(prefers-color-scheme: dark)");
const wearTheme = () => {
  document.body.dataset.jpThemeLight = String(!dark.matches); // what the library's own style sheets ask for
  figures.forEach((place) => wants(place));
};
dark.addEventListener("change", wearTheme);
addEventListener("resize", () => figures.forEach((place) => wants(place))); // a slide that comes on show has a width now
wearTheme();
