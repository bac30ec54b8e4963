(() => {
  const tabs = () => [...document.querySelectorAll("#steps [role=tab][data-tab-id]")];
  const tab = (step) => tabs().find((tab) => tab.dataset.tabId === step);
  const runAt = () => new URLSearchParams(location.search).get("run") ?? "";
  let returning = null;
  let wanted = history.state?.step; // the step at which the page was loaded again
  let shown = "";

  // The secret by which this browser's runs are listed; without a place to keep it there is no list.
  const owner = () => {
    try {
      const fresh = () => [...crypto.getRandomValues(new Uint32Array(6))].map((number) => number.toString(36)).join("");
      return (localStorage.captionbias ??= fresh());
    } catch {
      return "";
    }
  };

  // The address leads to the run that is shown.
  const shows = (run) => {
    shown = run;
    if (run === runAt()) return;
    const address = new URL(location);
    if (run) address.searchParams.set("run", run);
    else address.searchParams.delete("run");
    history.replaceState(history.state, "", address);
  };
  // Nothing begins before the run is there that the address leads to.
  const ready = (yes = true) => {
    document.querySelector("#steps").inert = !yes;
  };
  const opened = () => {
    ready(!runAt());
    return [runAt(), owner()];
  };
  window.captionbias = { opened, ready: () => ready(), shows };

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
  new MutationObserver(noteStep).observe(document, {
    subtree: true, childList: true, attributeFilter: ["aria-selected", "aria-disabled"],
  });

  window.addEventListener("popstate", ({ state }) => {
    if (runAt() && runAt() !== shown) return location.reload(); // the step was another run's
    shows(shown);
    const back = tab(state?.step);
    if (!back || back.ariaSelected === "true") return;
    returning = state.step;
    back.click();
  });

  // While files are on their way nothing begins with those before them.
  document.addEventListener("click", (event) => {
    const begins = event.target.closest("#next, #measure");
    if (begins && document.querySelector("#steps .uploading")) event.stopImmediatePropagation();
  }, true);

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
