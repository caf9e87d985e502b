// Replays the recorded states of an explorer on a page without a kernel; `recording.py` says what a state is.
async function unpackStates(packed) {
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { values, states } = JSON.parse(await new Response(bytes).text());
  const asTrait = (value) => {
    if (value === null || typeof value !== "object" || !("base64" in value)) return value;
    return new DataView(Uint8Array.from(atob(value.base64), (letter) => letter.charCodeAt(0)).buffer);
  };
  return [values.map(asTrait), states];
}

// What a place of a control means: of a slider of steps the update, for runs differ in length.
const meaningOf = ({ model, updates }, place) => (updates ? parseFloat(model.get("_options_labels")[place]) : place);

// The stop beside which a control stands; of a question, the answer that was locked.
function placeOf(control) {
  if (control.question) return control.answered ?? 0;
  const at = control.model.get(control.trait);
  // Runs differ in length, and all of them end at the last stop.
  if (control.is_step && at === control.model.get("_options_labels").length - 1) return control.stops.length - 1;
  const value = meaningOf(control, at);
  const distances = (control.updates ?? control.stops).map((stop) => Math.abs(stop - value));
  return distances.indexOf(Math.min(...distances));
}

// A slider goes on to the next place at which something was recorded, so that no press is without an answer.
function nextStop(control) {
  const { model, trait } = control;
  const [value, before] = [model.get(trait), model.previous(trait)].map((place) => meaningOf(control, place));
  const stops = control.updates ?? control.stops;
  const ahead = stops.filter((stop) => (value > before ? stop > value - 1e-9 : stop < value + 1e-9));
  const next = value > before ? Math.min(...ahead) : Math.max(...ahead);
  return ahead.length ? stops.indexOf(next) : placeOf(control);
}

const closest = (all, distance) => all.reduce((one, other) => (distance(other) < distance(one) ? other : one));

// The recorded state with the control that has just moved where it is, and most of the others, too.
function nearest(states, controls, moved) {
  const places = controls.map(placeOf);
  // An answer stays locked, whatever else moves.
  const weight = (number) => (controls[number].question ? 1e9 : number === moved ? 1e6 : 1e3);
  const distance = (state) =>
    places.reduce((sum, place, number) => {
      const gap = Math.abs(place - state.places[number]);
      return gap ? sum + weight(number) + gap : sum;
    }, 0);
  return closest(states, distance);
}

async function render({ model, el }) {
  const find = (id) => findModel(model, id);
  // A button sends its click to the kernel; here it is answered on the page.
  const reset = await find(model.get("reset"));
  await untilAlone(reset);
  el.classList.add("ddlab-replay");
  const note = add(el, "p", "replay-note");
  note.setAttribute("role", "status");
  const [values, states] = await unpackStates(model.get("packed"));
  const byPlaces = states.slice(0, model.get("moves"));
  const controls = [];
  for (const control of model.get("controls"))
    controls.push({ ...control, model: control.question ? null : await find(control.model) });
  const opening = states[0].traits;
  const models = {};
  for (const key of Object.keys(opening)) models[key] ??= await find(key.split(" ")[0]);

  let isShowing = false, playing = 0, done = null, current = 0, before = null;
  const tried = new Set(); // the numbers of the states that were on show
  const memories = model.get("memories").filter(({ plot }) => `${plot} _figure` in opening);
  for (const memory of memories) Object.assign(memory, { model: await find(memory.plot), kept: [] });
  // Where two states differ, in words: a step and an answer are no settings.
  const differences = (one, other) =>
    controls.flatMap(({ is_step: isStep, question, labels }, at) => {
      const [place, second] = [one, other].map((number) => states[number].places[at]);
      return isStep || question || place === second ? [] : [{ at, words: labels[place] }];
    });
  const isOfSameSettings = (one, other) => one === other || (Math.max(one, other) < byPlaces.length && !differences(one, other).length);
  const wordsOf = (one, other) => differences(one, other).map(({ words }) => words);
  const figureOf = (plot, number) => JSON.parse(values[states[number].traits[`${plot} _figure`] ?? opening[`${plot} _figure`]]);
  const parsed = {}; // figures of states that were tried, which nothing changes
  const withTried = ({ plot, joins, along }, number) => {
    const isBeside = (other) => other !== number && differences(number, other).every(({ at }) => along.includes(at));
    const figure = figureOf(plot, number);
    for (const other of joins ? [...tried].filter(isBeside) : [])
      join(figure, (parsed[`${plot} ${other}`] ??= figureOf(plot, other)), looks);
    return figure;
  };
  const showMemory = (memory) => {
    const { model: plot, has_ghosts: hasGhosts, kept } = memory;
    const figure = withTried(memory, current);
    const others = kept.filter((other) => !isOfSameSettings(other, current));
    const isPale = hasGhosts && before !== null;
    const pale = isPale ? wordsOf(before, current) : [];
    const words = pale.length && pale.length < 3 ? `before: ${pale.join(", ")}` : "before";
    const [keptFigures, earlier] = [others.map((other) => withTried(memory, other)), isPale ? withTried(memory, before) : null];
    plot.set("_figure", JSON.stringify(withEarlier(figure, keptFigures, earlier, words, looks)));
    if (!hasGhosts) return;
    plot.set("kept", kept.map((other, at) => `${looks.signs[at]} ${wordsOf(other, current).join(", ") || "on show"}`));
    plot.set("keep", others.length < kept.length ? "Let go" : kept.length < looks.kept.length ? "Keep" : "");
  };
  const looks = model.get("looks");
  const { model: quest, can_be_met: canBeMet, solutions, met } = model.get("quest");
  const show = (state, words = "") => {
    isShowing = true;
    const next = states.indexOf(state);
    if (!isOfSameSettings(next, current)) before = current;
    current = next;
    const isRemembered = new Set(memories.map(({ plot }) => `${plot} _figure`));
    for (const [key, number] of Object.entries({ ...opening, ...state.traits }))
      if (!isRemembered.has(key)) models[key].set(key.split(" ")[1], values[number]);
    // What is seen comes first; a chart in a closed tab has time until the others are painted.
    const isSeen = ({ model: plot }) => plot.shownIn?.offsetParent;
    memories.filter(isSeen).forEach(showMemory);
    setTimeout(() => memories.filter((memory) => !isSeen(memory)).forEach(showMemory), 100);
    tried.add(current);
    if (quest) keepQuest();
    isShowing = false;
    note.textContent = words;
    el.dataset.state = current;
  };
  for (const memory of memories.filter(({ has_ghosts: hasGhosts }) => hasGhosts)) {
    const { model: plot, kept } = memory;
    plot.on("keep", () => {
      const at = kept.findIndex((other) => isOfSameSettings(other, current));
      if (at >= 0) kept.splice(at, 1);
      else if (kept.length < looks.kept.length) kept.push(current);
      showMemory(memory);
    });
    plot.remembers = true;
    plot.trigger("change:keep");
  }
  // A quest that was met stays met, as one whose whole solution was on show; one that cannot be met here says so.
  const questLine = quest && (await find(quest));
  const keepQuest = () => {
    const shown = questLine.get("value");
    done ??= shown.includes('data-met="true"') ? shown : null;
    done ??= solutions.some((numbers) => numbers.every((number) => tried.has(number))) ? met : null;
    if (done) questLine.set("value", done);
    else if (!canBeMet && !shown.includes("(needs a kernel)"))
      questLine.set("value", shown.replace("</div>", " <i>(needs a kernel)</i></div>"));
  };
  const place = ({ model: control, trait, stops }, number) => {
    isShowing = true;
    control.set(trait, stops[number]);
    isShowing = false;
  };
  // The controls follow what is then on show; a question has no model, and its answer stays.
  const jump = (number, words) => {
    playing++;
    controls.forEach((control, at) => control.model && place(control, states[number].places[at]));
    show(states[number], words);
  };
  // What is set is what is shown: a control that was not recorded together with the moved one moves back.
  const answer = (moved) => {
    const state = nearest(byPlaces, controls, moved);
    const isDropped = (control, at) => control.model && at !== moved && placeOf(control) !== state.places[at];
    const dropped = controls.filter(isDropped);
    const words = dropped.map((control) => control.labels[state.places[controls.indexOf(control)]]).join(" and ");
    controls.forEach((control, at) => control.model && place(control, state.places[at]));
    show(state, words && `Recorded with ${words} only.`);
  };
  const lock = async (control, number) => {
    const [answers, button, line] = await Promise.all(["answers", "button", "line"].map((part) => find(control.question[part])));
    onLock(answers, button, line, (choice) => {
      control.answered = choice + 1;
      answer(number);
    });
  };
  for (const [number, control] of controls.entries()) if (control.question) await lock(control, number);
  controls.forEach(({ model: control, trait, is_step: isStep }, number) =>
    control?.on(`change:${trait}`, () => {
      if (isShowing) return;
      playing++; // what the reader moves ends a film
      if (/Slider/.test(control.get("_view_name"))) place(controls[number], nextStop(controls[number]));
      // Other settings are seen at the end of their run, as in the notebook.
      controls.forEach((other, place_) => other.is_step && !isStep && place(other, states[0].places[place_]));
      answer(number);
      const pairs = differences(current, 0).map(({ at }) => [controls[at].name, controls[at].values[states[current].places[at]]]);
      if (isPage) history.replaceState(null, "", `#${new URLSearchParams(pairs)}`);
    }),
  );
  for (const { model: id, trait, layouts } of model.get("switches")) {
    const [buttons, boxes] = [await find(id), await Promise.all(layouts.map(find))];
    const isShown = (place) => (trait === "index" ? buttons.get("index") === place : buttons.get("value"));
    buttons.on(`change:${trait}`, () =>
      boxes.forEach((layout, place) => layout.set("display", isShown(place) ? "flex" : "none")),
    );
  }
  reset.send = () => {
    jump(0);
    answer(0); // an answer stays locked
  };
  const steps = controls.findIndex(({ is_step: isStep }) => isStep);
  const filmStops = matchMedia("(prefers-reduced-motion: reduce)").matches ? -1 : 0; // the last one alone, or all of them
  for (const id of model.get("films")) {
    const button = await find(id);
    button.set("disabled", false);
    button.send = async () => {
      const film = ++playing;
      for (const stop of [...controls[steps].stops.keys()].slice(filmStops)) {
        place(controls[steps], stop);
        answer(steps);
        await pause(300);
        if (film !== playing) return;
      }
    };
  }
  for (const drag of model.get("drags")) {
    const [plot, point, across, up] = await Promise.all([drag.plot, ...drag.sliders].map(find));
    const [[left, right], [low, high]] = drag.extent;
    const put = ({ point: held, x, y }) => {
      const distance = ([of, across, up]) => (of === held ? Math.hypot((across - x) / (right - left), (up - y) / (high - low)) : Infinity);
      const number = closest(drag.states, distance)[3];
      jump(number, `Recorded at the nearest place: ${states[number].label}.`);
    };
    plot.on("change:dragged", () => put(plot.get("dragged")));
    // A step of the keyboard is a step of the grid.
    const grid = { min: 0.5 / drag.side, max: 1 - 0.5 / drag.side, step: 1 / drag.side };
    const along = (slider, low, high) => low + slider.get("value") * (high - low);
    for (const slider of [across, up]) {
      slider.set({ ...grid, value: (Math.floor(drag.side / 2) + 0.5) / drag.side });
      slider.on("change:value", () => {
        if (!isShowing) put({ point: point.get("index"), x: along(across, left, right), y: along(up, low, high) });
      });
    }
  }
  for (const { plot: id, states: marks } of model.get("clicks")) {
    const plot = await find(id);
    plot.on("change:clicked", () => {
      const { customdata, x, y } = plot.get("clicked");
      const isIt = ([mark]) => String(mark) === String(customdata);
      const distance = (one) => (isIt(one) ? -1 : Math.hypot(one[1] - x, one[2] - y));
      const best = closest(marks, distance);
      if (customdata === null) return;
      // A click that moves one control leaves the others where they are.
      const moved = differences(best[3], 0);
      if (moved.length !== 1) return jump(best[3], isIt(best) ? "" : `Recorded: ${states[best[3]].label}.`);
      place(controls[moved[0].at], states[best[3]].places[moved[0].at]);
      answer(moved[0].at);
    });
  }
  const presses = model.get("presses");
  for (const id of new Set(presses.map((press) => press.model)))
    (await find(id)).send = () => {
      const own = presses.filter((press) => press.model === id);
      const press = own.find(({ after }) => after === current) ?? own.find(({ after }) => !after) ?? own[0];
      const moved = wordsOf(press.after, current);
      jump(press.state, moved.length ? `Recorded with ${moved.join(" and ")} only.` : "");
    };
  for (const id of model.get("inactive"))
    (await find(id)).set({ disabled: true, draggable: "", tooltip: "This needs a kernel, as in JupyterLab" });
  // A set-up can be linked: page.html#lambda_var=0.11&start=real. Each explorer that has all of these controls shows it.
  const isPage = globalThis.__ddlab?.isPage;
  const goTo = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const found = controls.flatMap(({ name, values = [] }, at) => {
      const text = asked.get(name);
      const number = values.findIndex((value) => value === text || Number(value) === parseFloat(text));
      return number < 0 ? [] : [[at, number]];
    });
    if (!found.length || found.length < [...asked].length) return;
    for (const [at, number] of found) place(controls[at], number);
    answer(found.at(-1)[0]);
    el.closest(".ddlab-explorer")?.scrollIntoView();
  };
  if (isPage) addEventListener("hashchange", goTo);
  // A tooltip is for a mouse alone.
  add(el, "p", "replay-note").textContent = "This is a recording: what stays grey needs a kernel, as in JupyterLab.";
  show(states[0]); // the last button that was pressed while recording has left its own state
  if (isPage) goTo();
}

export default { initialize, render };
