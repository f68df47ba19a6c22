// A bar leads to the cases behind it: the first of them, by when they were opened, from the table in this page.
(() => {
  const cases = JSON.parse(document.getElementById("cases").textContent);
  const dialog = document.body.appendChild(document.createElement("dialog"));
  const add = (tag, text, parent = dialog) => Object.assign(parent.appendChild(document.createElement(tag)), { textContent: text });
  const show = (bar) => {
    const { title, ids } = cases[bar.closest("[data-rule]").dataset.rule][bar.dataset.cases];
    dialog.replaceChildren();
    add("h3", title);
    const list = add("ol", "");
    for (const id of ids) add("li", id, list);
    add("button", "Close").onclick = () => dialog.close();
    dialog.showModal();
    dialog.scrollTop = 0;
  };
  for (const bar of document.querySelectorAll("[data-cases]")) {
    bar.addEventListener("click", () => show(bar));
    bar.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") event.preventDefault(), show(bar);
    });
  }
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
})();
