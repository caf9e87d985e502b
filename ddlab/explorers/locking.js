// Locks the answer to a question on a page without a kernel, and shows the reply to it.
async function render({ model }) {
  const find = (name) => findModel(model, model.get(name));
  const [answers, button, line, reply] = await Promise.all(["answers", "button", "line", "reply"].map(find));
  onLock(answers, button, line, (choice) => reply.set("value", model.get("replies")[choice]));
}

export default { initialize, render };
