// Locks the answer to a question on a page without a kernel, and shows the reply to it.
async function render({ model }) {
  const find = (name) => findModel(model, model.get(name));
  const [answers, button, line, reply] = await Promise.all(["answers", "button", "line", "reply"].map(find));
  answers.on("change:index", () => button.set("disabled", answers.get("index") === null));
  // A button sends its click to the kernel; here it is answered on the page.
  button.send = async () => {
    const choice = answers.get("index");
    answers.set("disabled", true);
    button.set("disabled", true);
    line.set("value", `Locked: ${answers.get("_options_labels")[choice]}`);
    reply.set("value", model.get("replies")[choice]);
  };
}

export default { initialize, render };
