// Points of one trace that a reader takes and moves. The page moves the point at once; Python is told at most every 50 ms and once
// more at the end, and whatever it draws meanwhile, the held point stays under the pointer.
const REACH = 16; // pixels

function draggable(graph, model, Plotly, redraw) {
  let held = null, frame = 0, told = 0, letGo = 0;

  const traceOf = (data) => (model.get("draggable") ? (data ?? []).findIndex((one) => one.name === model.get("draggable")) : -1);
  const place = (event) => {
    const [box, { xaxis, yaxis }] = [graph.getBoundingClientRect(), graph._fullLayout];
    const scale = box.width / graph.offsetWidth; // of a plot that is shown smaller
    return [(event.clientX - box.left) / scale - xaxis._offset, (event.clientY - box.top) / scale - yaxis._offset];
  };
  const under = (event) => {
    const at = traceOf(graph.data);
    if (at < 0 || !graph._fullLayout?.xaxis?.d2p) return null;
    const [[px, py], { x, y }, { xaxis, yaxis }] = [place(event), graph.data[at], graph._fullLayout];
    let [best, nearest] = [null, REACH];
    for (let point = 0; point < x.length; point++) {
      const distance = Math.hypot(xaxis.d2p(x[point]) - px, yaxis.d2p(y[point]) - py);
      if (distance < nearest) [best, nearest] = [point, distance];
    }
    return best;
  };
  const heldIn = (figure) => {
    const at = held ? traceOf(figure.data) : -1;
    if (at >= 0 && held.point < figure.data[at].x.length) {
      figure.data[at].x[held.point] = held.x;
      figure.data[at].y[held.point] = held.y;
    }
    return figure;
  };
  const paint = () => {
    frame = 0;
    const at = traceOf(graph.data);
    if (!held || at < 0) return;
    const moved = heldIn({ data: graph.data }).data[at];
    Plotly.restyle(graph, { x: [[...moved.x]], y: [[...moved.y]] }, [at]);
  };
  const tell = (done) => {
    told = performance.now();
    const count = (model.get("dragged").count ?? 0) + 1;
    model.set("dragged", { count, point: held.point, x: held.x, y: held.y, done });
    model.save_changes();
  };

  const take = (event) => {
    const point = event.button === 0 ? under(event) : null;
    if (point === null) return;
    // Plotly would begin to zoom.
    event.preventDefault();
    event.stopPropagation();
    settle();
    held = { point };
    graph.setPointerCapture(event.pointerId);
    follow(event);
  };
  const follow = (event) => {
    if (!held || letGo) {
      graph.classList.toggle("ddlab-grab", event.buttons === 0 && under(event) !== null);
      return;
    }
    const [[px, py], { xaxis, yaxis }] = [place(event), graph._fullLayout];
    const inside = (value, axis) => axis.p2d(Math.min(Math.max(value, 0), axis._length));
    [held.x, held.y] = [inside(px, xaxis), inside(py, yaxis)];
    frame ||= requestAnimationFrame(paint);
    if (performance.now() - told > 50) tell(false);
  };
  // The point stays where it was dropped until Python has drawn its answer; an answer that changes nothing is not sent.
  const release = () => {
    if (!held || letGo) return;
    tell(true);
    letGo = setTimeout(() => settle() && redraw(), 1000);
  };
  const settle = () => {
    if (!letGo) return false;
    clearTimeout(letGo);
    [held, letGo] = [null, 0];
    return true;
  };
  const listeners = { pointerdown: take, pointermove: follow, pointerup: release, pointercancel: release };
  for (const [name, listener] of Object.entries(listeners)) graph.addEventListener(name, listener, true);

  return {
    held: heldIn,
    settle,
    stop() {
      clearTimeout(letGo);
      cancelAnimationFrame(frame);
      for (const [name, listener] of Object.entries(listeners)) graph.removeEventListener(name, listener, true);
    },
  };
}
