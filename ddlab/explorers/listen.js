// Shared by the widgets of this folder; put before their own script.
const pause = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function findModel(model, id) {
  // After a page reload models come back in any order: wait for the one that is meant.
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      const found = await model.widget_manager.get_model(id);
      if (found) return found;
    } catch {}
    await pause(100);
  }
  throw new Error(`the widget model ${id} did not arrive`);
}

// anywidget drops every message to a model whose script took more than two seconds to start, for good; on a busy machine that
// happens. So the widget takes its messages itself, and then asks for what it may have missed.
async function initialize({ model }) {
  const self = await findModel(model, model.get("_own"));
  const base = Object.getPrototypeOf(Object.getPrototypeOf(self));
  if (self.comm?.on_msg && base?._handle_comm_msg) {
    self.comm.on_msg((message) => base._handle_comm_msg.call(self, message));
  }
  model.send({ kind: "started" });
}

// In a notebook the kernel answers, as long as there is one.
async function untilAlone(button) {
  while (button.comm_live) await new Promise((resolve) => button.once("comm_live_update", resolve));
}

// A question on a page without a kernel: a button sends its click to the kernel; here it is answered on the page.
function onLock(answers, button, line, reply) {
  answers.on("change:index", () => button.set("disabled", answers.get("index") === null));
  button.send = () => {
    const choice = answers.get("index");
    for (const part of [answers, button]) part.set("disabled", true);
    line.set("value", `Locked: ${answers.get("_options_labels")[choice]}`);
    reply(choice);
  };
}

function add(parent, tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = `ddlab-${name}`;
  element.textContent = text;
  parent.append(element);
  return element;
}

// A region that a screen reader reads out: at most every two seconds, and only what holds then, because a live run changes its
// words ten times a second. `read` returns the text; call the result whenever it has changed.
function speaker(parent, read) {
  const spoken = add(parent, "div", "spoken");
  spoken.setAttribute("aria-live", "polite");
  let waiting = 0;
  const speak = () => {
    waiting ||= setTimeout(() => {
      waiting = 0;
      spoken.textContent = read();
    }, 2000);
  };
  speak.stop = () => clearTimeout(waiting);
  return speak;
}
