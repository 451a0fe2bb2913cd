// What is folded on the screen is read on paper.
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((one) => {
    one.open = true;
    one.dataset.opened = "for print";
  });
});
window.addEventListener("afterprint", () => {
  document.querySelectorAll("details[data-opened]").forEach((one) => {
    one.open = false;
    delete one.dataset.opened;
  });
});
