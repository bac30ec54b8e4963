(() => {
  const tabs = () => [...document.querySelectorAll("#steps [role=tab][data-tab-id]")];
  const tab = (step) => tabs().find((tab) => tab.dataset.tabId === step);
  const KEPT = "captionbias";
  let asked = false;
  let returning = null;
  let wanted = history.state?.step; // the step at which the page was loaded again

  // The steps are in the browser's history, so that its back button goes to the step before.
  const noteStep = () => {
    const step = tabs().find((tab) => tab.ariaSelected === "true")?.dataset.tabId;
    if (wanted && step === wanted) wanted = null;
    if (wanted && tab(wanted) && !tab(wanted).disabled) {
      returning = wanted;
      tab(wanted).click();
    }
    if (wanted || !step || step === history.state?.step) return;
    if (step === returning) returning = null;
    else if (!history.state?.step) history.replaceState({ step }, "");
    else {
      history.pushState({ step }, "");
      window.scrollTo({ top: 0 });
    }
  };

  // A page that is loaded again asks for the session that it had in this tab of the browser.
  const keepSession = () => {
    const box = document.querySelector("#token textarea, #token input");
    if (box && !asked) {
      asked = true;
      box.value = sessionStorage.getItem(KEPT) || "";
      if (box.value) {
        box.dispatchEvent(new Event("input", { bubbles: true }));
        box.dispatchEvent(new KeyboardEvent("keypress", { key: "Enter", bubbles: true }));
      }
    }
    const token = document.querySelector("#session [data-token]")?.dataset.token;
    if (token !== undefined) sessionStorage.setItem(KEPT, token);
  };

  new MutationObserver(() => {
    noteStep();
    keepSession();
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["aria-selected", "aria-disabled", "data-token"] });

  window.addEventListener("popstate", ({ state }) => {
    const back = tab(state?.step);
    if (!back || back.ariaSelected === "true") return;
    returning = state.step;
    back.click();
  });

  document.addEventListener("click", ({ target, isTrusted }) => {
    if (isTrusted) wanted = null;
    const step = { own: "files", next: "check" }[target.closest("button")?.id];
    if (step) {
      tab(step).click();
      tab(step).focus();
    }
  });

  document.addEventListener("keydown", (event) => {
    const steps = tabs().filter((tab) => !tab.disabled);
    const at = steps.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    steps.at(to % steps.length).click();
    steps.at(to % steps.length).focus();
  });

  // A result tells how high it is, so that the page is scrolled and not the frame in it.
  window.addEventListener("message", ({ source, data }) => {
    const height = Number(data?.captionbias?.height);
    const frame = [...document.querySelectorAll("iframe")].find((frame) => frame.contentWindow === source);
    if (!frame || !(height > 0)) return;
    frame.style.height = `${Math.ceil(height)}px`;
    // Room for the whole result in the place of the first: the page stays where it was scrolled to.
    const block = frame.closest("#result-frame");
    if (block) block.style.minHeight = frame.style.height;
  });
})();
