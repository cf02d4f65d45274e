// Frame of the viewer in a notebook: it forwards requests of the page, and the answers.

function render({model, el}) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-downloads";
  frame.title = "tensorcfr";
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = model.get("page");
  const ask = event => { if (event.source === frame.contentWindow) model.send(event.data); };
  const answer = said => frame.contentWindow && frame.contentWindow.postMessage(said, "*");
  window.addEventListener("message", ask);
  model.on("msg:custom", answer);
  el.append(frame);
  return () => { window.removeEventListener("message", ask); model.off("msg:custom", answer); };
}

export default {render};
