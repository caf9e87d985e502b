// What the plot widget and the pages without a kernel share: a figure in the colours of the page, its vertical line, its table.
const pageTheme = () => (document.body.dataset.jpThemeLight === "false" ? "dark" : "light");

function themedFigure(text, palettes) {
  if (pageTheme() === "dark") {
    const exchange = Object.fromEntries(palettes.light.map((code, at) => [code, palettes.dark[at]]));
    text = text.replace(new RegExp(palettes.light.join("|"), "g"), (code) => exchange[code]);
  }
  const figure = JSON.parse(text);
  const clear = "rgba(0,0,0,0)";
  figure.layout = { uirevision: "kept", ...figure.layout, paper_bgcolor: clear, plot_bgcolor: clear };
  delete figure.layout.transition; // Nothing moves by itself, whatever the reader's motion setting is.
  return figure;
}

const asList = (values) => (values == null ? [] : Array.from(values));
const plain = (text) => text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&" })[name]); // as plotly shows it
const shown = (value) => (typeof value === "number" ? String(+value.toPrecision(5)) : value == null ? "" : plain(String(value)));

function tableRows(graph, most = 300) {
  const axisName = (axis, otherwise) => graph._fullLayout?.[axis]?.title?.text || otherwise;
  const rows = [["series", axisName("xaxis", "x"), axisName("yaxis", "y"), "from", "to"]];
  for (const trace of graph._fullData ?? []) {
    if (trace.visible !== true || trace.hoverinfo === "skip") continue;
    if (trace.z && trace.type !== "image") {
      asList(trace.z).forEach((line, i) =>
        asList(line).forEach((value, j) => rows.push([trace.name, asList(trace.x)[j] ?? j, `${asList(trace.y)[i] ?? i}: ${shown(value)}`])));
      continue;
    }
    const [x, y, error] = [asList(trace.x), asList(trace.y), trace.error_y ?? {}];
    const names = Array.isArray(trace.text) && trace.type === "scatter" ? trace.text : x;
    y.forEach((value, i) => {
      if (value == null && x[i] == null) return; // A gap between two lines.
      const range = error.visible && error.array ? [value - (error.arrayminus ?? error.array)[i], value + error.array[i]] : [];
      rows.push([trace.name, names[i], value, ...range]);
    });
  }
  if (!rows.some((row, at) => at && row.length > 3)) rows[0].length = 3;
  if (rows.length <= most + 1) return rows;
  // Long curves: every n-th point of the whole, so that the end is not cut off.
  const every = Math.ceil((rows.length - 1) / most);
  return rows.filter((_, at) => at === 0 || (at - 1) % every === 0 || at === rows.length - 1);
}

function fillTable(place, graph) {
  const table = document.createElement("table");
  tableRows(graph).forEach((cells, at) => {
    const row = table.insertRow();
    for (const value of cells) {
      const cell = document.createElement(at ? "td" : "th");
      cell.textContent = shown(value);
      row.append(cell);
    }
  });
  place.replaceChildren(table);
}

// Put a line over a drawn figure, at a place of its x axis; it is hidden where that is null or outside.
function placeAt(line, graph, at) {
  const { xaxis: x, yaxis: y } = graph._fullLayout ?? {};
  const position = at == null || !x?.d2p ? NaN : x.d2p(at);
  line.hidden = !(position >= -1 && position <= x?._length + 1);
  if (!line.hidden) line.style.cssText = `left:${x._offset + position - 1}px;top:${y._offset}px;height:${y._length}px`;
}

