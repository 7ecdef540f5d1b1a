if (!window.dpmcLab) {
  window.dpmcLab = true;

  // Back leads where a visitor came from at once. Streamlit adds an entry of its own to the history
  // when it writes a link again, and one without settings before it turns to another page.
  const push = history.pushState.bind(history);
  let held = 0;
  history.pushState = (state, title, url) => {
    clearTimeout(held);
    const to = new URL(url, location.href);
    if (to.pathname !== location.pathname) push(state, title, url);
    else if (!navigator.userActivation.hasBeenActive) history.replaceState(state, title, url);
    else if (to.search) push(state, title, url);
    else held = setTimeout(push, 1000, state, title, url);
  };

  // a tab that is loaded again goes on with its visit
  new MutationObserver(() => {
    const token = document.querySelector(".dpmc-visit")?.dataset.token;
    if (!token) return;
    try { sessionStorage.setItem("dpmc-visit", token); } catch {}
  }).observe(document.body, { subtree: true, attributeFilter: ["data-test-script-state"] });

  // a narrow window has no room for menu and page: the menu is closed at first, and goes once a page
  // is chosen
  const closeMenu = () => {
    const menu = document.querySelector('[data-testid="stSidebar"]');
    if (innerWidth > 900 || !(menu?.getBoundingClientRect().right > 0)) return;
    menu.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
  };
  new MutationObserver((_, watch) => {
    if (!document.querySelector('[data-testid="stSidebarCollapseButton"] button')) return;
    watch.disconnect();
    closeMenu();
  }).observe(document.body, { subtree: true, childList: true });
  addEventListener("click", (event) => {
    if (event.target.closest('[data-testid="stSidebarNavLink"]')) setTimeout(closeMenu, 400);
  });

  // presenting begins at the top of the page
  addEventListener("click", (event) => {
    if (!event.target.closest(".st-key-present-False")) return;
    const toTop = () => {
      if (!document.querySelector(".st-key-presenter-bar")) requestAnimationFrame(toTop);
      else document.querySelector('[data-testid="stMain"]').scrollTo(0, 0);
    };
    toTop();
  });

  // figures have a size in pixels; on paper they are as wide as there is room, and no wider
  const kept = new Map();
  const fit = (part, style) => {
    if (!kept.has(part)) kept.set(part, part.getAttribute("style"));
    for (const [name, value] of Object.entries(style)) {
      part.style.setProperty(name, value, "important");
    }
  };
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll(".stPlotlyChart .svg-container")) {
      const { width, height } = box.getBoundingClientRect();
      if (!width) continue;
      for (const svg of box.querySelectorAll(".main-svg")) {
        svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        fit(svg, { width: "100%", height: "100%" });
      }
      fit(box, {
        width: "100%", "max-width": `${width}px`, height: "auto",
        "aspect-ratio": `${width} / ${height}`,
      });
      for (let part = box.parentElement; part; part = part.parentElement) {
        fit(part, { height: "auto", "flex-basis": "auto" });
        if (part.classList.contains("stElementContainer")) break;
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const [part, style] of kept) {
      if (style === null) part.removeAttribute("style");
      else part.setAttribute("style", style);
      part.removeAttribute("viewBox");
    }
    kept.clear();
  });
}
