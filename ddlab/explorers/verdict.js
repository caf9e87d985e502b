// The verdict on a prediction: what the kernel says of the locked answer, or, without a kernel, the reply to it that was kept.
async function render({ model, el }) {
  const line = add(el, "p", "verdict");
  line.setAttribute("role", "status");
  const show = () => (line.textContent = model.get("text"));
  show();
  model.on("change:text", show);
  const find = (name) => findModel(model, model.get(name));
  if (!model.get("button")) return;
  const [answers, button, locked] = await Promise.all(["answers", "button", "line"].map(find));
  await untilAlone(button);
  onLock(answers, button, locked, (choice) => model.set("text", model.get("replies")[choice]));
}

export default { initialize, render };
