(() => {
  // The steps are in the browser's history, so that its back button goes to the step before.
  const tabs = () => [...document.querySelectorAll("#steps > [role=tablist] [role=tab], #steps [data-tab-id]")];
  const shown = () => tabs().find((tab) => tab.ariaSelected === "true")?.dataset.tabId;
  let returning = null;
  const note = () => {
    const step = shown();
    if (!step || step === history.state?.step) return;
    if (step === returning) returning = null;
    else if (history.state?.step) {
      history.pushState({ step }, "");
      window.scrollTo({ top: 0 });
    } else history.replaceState({ step }, "");
  };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, attributeFilter: ["aria-selected"] });
  window.addEventListener("popstate", ({ state }) => {
    const tab = tabs().find((tab) => tab.dataset.tabId === state?.step);
    if (!tab || tab.ariaSelected === "true") return;
    returning = state.step;
    tab.click();
  });
  // A result tells how high it is, so that the page is scrolled and not the frame in it.
  window.addEventListener("message", ({ source, data }) => {
    const height = Number(data?.captionbias?.height);
    const frame = [...document.querySelectorAll("iframe")].find((frame) => frame.contentWindow === source);
    if (frame && height > 0) frame.style.height = `${Math.ceil(height)}px`;
  });
})();
