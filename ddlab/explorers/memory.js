// What a page without a kernel remembers of its reader: pale curves of the settings before, curves that are kept, and the points and
// cells of settings that were tried. `figures/ghosts.py` and `figures/tried.py` say how a kernel draws them.
function axesOf({ layout }) {
  return JSON.stringify([layout.xaxis, layout.yaxis].map((axis) => [axis?.title?.text, axis?.type, layout.meta?.coordinates]));
}

// Packed numbers are compared as a whole. A gap between two lines is no point.
function pointsOf({ x, y }) {
  if (!Array.isArray(x) || !Array.isArray(y)) return x && y ? [JSON.stringify([x, y])] : [];
  return x.flatMap((across, at) => (across == null || y[at] == null ? [] : [`${across} ${y[at]}`]));
}

// The curves of an earlier figure that `figure` doesn't show itself.
function curvesOf(figure, earlier) {
  if (axesOf(figure) !== axesOf(earlier)) return [];
  const shown = new Set(figure.data.flatMap(pointsOf));
  const bars = earlier.data.filter(({ type }) => type === "bar").length;
  return earlier.data
    .filter(({ type = "scatter", name, showlegend, ...trace }) => {
      const isCurve = type === "scatter" ? name && showlegend !== false : type === "bar" && bars === 1;
      return isCurve && !pointsOf(trace).every((point) => shown.has(point));
    })
    .slice(0, 3);
}

function ghostOf({ x, y, xaxis, yaxis, mode, marker, line, type, orientation }, looks, kept) {
  const look = structuredClone(type === "bar" ? looks.bar : (kept ?? looks.curve));
  if (type !== "bar") {
    look.mode = mode ?? look.mode;
    look.marker.symbol = marker?.symbol;
    look.line.dash ??= line?.dash;
  } else if (orientation === "h") look.marker.symbol = "line-ns-open";
  return { ...look, x, y, xaxis, yaxis };
}

// An axis whose range is fixed holds that of another figure, too.
function widen(axis, other) {
  if (!axis?.range || !other?.range || axis.range[0] >= axis.range[1]) return;
  const [low, high] = [...other.range].sort((one, two) => one - two);
  axis.range = [Math.min(axis.range[0], low), Math.max(axis.range[1], high)];
}

// Add the points of another figure of tried settings to this one, and the cells of another table.
function join(figure, other, looks) {
  const { along, has_words: hasWords } = figure.layout.meta?.tried ?? {};
  const up = along === "x" ? "y" : "x";
  const [own, theirs] = [figure, other].map(({ layout }) => layout[`${along}axis`]);
  // A place with words is the place of these words here, which may be a new one.
  const placeHere = (place) => {
    if (!hasWords) return place;
    const words = theirs.ticktext[theirs.tickvals.indexOf(place)];
    if (!own.ticktext.includes(words)) {
      own.tickvals.push(own.tickvals.length);
      own.ticktext.push(words);
      own.range = own.range.map((end) => (end > 0 ? end + 1 : end));
    }
    return own.ticktext.indexOf(words);
  };
  const find = (kind, name) => figure.data.find(({ meta }) => meta?.[0] === kind && meta[1] === name);
  // An arm that is new here takes the first look that is free, and its seeds take that of their arm.
  const lookOf = (kind, name) => {
    if (kind === "rival") return {};
    const used = figure.data.filter(({ meta }) => meta?.[0] === "arm").map(({ line }) => line.color);
    const arm = find("arm", name);
    const look = looks.arms.find(({ line }) => (arm ? arm.line.color === line.color : !used.includes(line.color))) ?? looks.arms[0];
    return kind === "arm" ? { line: look.line, marker: look.marker } : { marker: look.seed };
  };
  const rowsOf = (trace, place) => {
    const { array, arrayminus } = trace[`error_${up}`] ?? {};
    return trace[along].map((at, number) => [place(at), trace[up][number], array?.[number] ?? 0, arrayminus?.[number] ?? 0]);
  };
  for (const trace of other.data) {
    const [kind, name] = Array.isArray(trace.meta) ? trace.meta : [];
    if (kind) {
      const blank = { ...trace, [along]: [], [up]: [], [`error_${up}`]: undefined };
      const arm = find(kind, name) ?? (figure.data.push({ ...blank, ...lookOf(kind, name) }), figure.data.at(-1));
      const rows = rowsOf(arm, (place) => place);
      rows.push(...rowsOf(trace, placeHere).filter(([place]) => !arm[along].includes(place)));
      // A line that runs along another quantity keeps its order.
      if (arm[along].every((place, at) => !at || arm[along][at - 1] <= place)) rows.sort(([one], [two]) => one - two);
      const [places, values, array, arrayminus] = [0, 1, 2, 3].map((column) => rows.map((row) => row[column]));
      Object.assign(arm, { [along]: places, [up]: values });
      if (array.some(Boolean)) arm[`error_${up}`] = { array, arrayminus, symmetric: false, width: 0, thickness: 1 };
    } else if (trace.meta?.empty !== undefined) {
      const { text, z } = figure.data.find(({ meta }) => meta?.empty !== undefined);
      trace.text.forEach((row, i) =>
        row.forEach((words, j) => {
          if (text[i][j] === trace.meta.empty) [text[i][j], z[i][j]] = [words, trace.z[i][j]];
        }),
      );
    }
  }
  if (along) widen(figure.layout[`${up}axis`], other.layout[`${up}axis`]);
}

// Put curves that are kept, and those of the settings before, behind those of a figure.
function withEarlier(figure, kept, before, words, looks) {
  kept.forEach((other, at) => {
    figure.data.push(...curvesOf(figure, other).map((trace) => ghostOf(trace, looks, looks.kept[at])));
    if (axesOf(figure) === axesOf(other)) for (const axis of ["xaxis", "yaxis"]) widen(figure.layout[axis], other.layout[axis]);
  });
  const pale = before ? curvesOf(figure, before).map((trace) => ghostOf(trace, looks)) : [];
  if (!pale.length) return figure;
  // Plotly gives two traces a legend by itself; one had none, and keeps its place.
  if (figure.data.length === 1) figure.layout.showlegend ??= false;
  figure.data.push(...pale);
  const note = { ...looks.note, text: looks.note.text.replace("WORDS", words) };
  figure.layout.annotations = [...(figure.layout.annotations ?? []), note];
  return figure;
}
