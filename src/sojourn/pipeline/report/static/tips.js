// Native tooltips take a second to show, and never do on a phone: this one follows the pointer. Without it they remain.
(() => {
  const tip = document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
  for (const title of document.querySelectorAll("svg title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  for (const node of document.querySelectorAll(".dot[title], .split [title]")) {
    node.dataset.tip = node.title;
    node.removeAttribute("title");
  }
  const show = (event) => {
    const text = event.target.dataset?.tip;
    tip.style.opacity = text ? 1 : 0;
    if (!text) return;
    tip.textContent = text;
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(8, Math.min(event.clientX - width / 2, innerWidth - width - 8))}px`;
    tip.style.top = `${event.clientY > height + 24 ? event.clientY - height - 14 : event.clientY + 18}px`;
  };
  addEventListener("pointermove", show);
  addEventListener("pointerdown", show);
})();
