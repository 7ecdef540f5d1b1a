if (!window.dpmcDrag) {
  window.dpmcDrag = true;

  // Verdict and figures follow a slider while it is dragged, without the server: what the page
  // shows at each of its values is fetched once somebody is about to move it.
  const PLAYED = 4000; // milliseconds for all values
  const played = new Set(); // by themselves: their sliders
  const fetched = new Map(); // the latest, by address
  let playing = null, next = null, unsettled = false;

  const sliders = () => [...document.querySelectorAll(".dpmc-drag")].map((place) => {
    const { slider, ahead, at, values, reversed, once } = place.dataset;
    const input = document.querySelector(`.st-key-${slider} input`);
    const button = place.querySelector("button");
    return { slider, input, ahead, at: Number(at), values: JSON.parse(values), reversed, once, button };
  }).filter(({ input }) => input);

  const fetchFrames = async ({ ahead }) => {
    if (fetched.has(ahead)) return;
    fetched.set(ahead, null);
    if (fetched.size > 12) fetched.delete(fetched.keys().next().value);
    const answer = await fetch(ahead).catch(() => null);
    if (answer?.ok) fetched.set(ahead, await answer.json());
    else fetched.delete(ahead);
    const held = sliders().find((one) => one.ahead === ahead && isHeld(one));
    if (held) follow(held);
  };
  const isRunning = () => document.querySelector("[data-test-script-state=running]");
  const isHeld = ({ input }) => input === document.activeElement;

  const put = (part, [name, ...deeper], value) => {
    const copy = Array.isArray(part) ? [...part] : { ...part };
    copy[name] = deeper.length ? put(copy[name] ?? {}, deeper, value) : value;
    return copy;
  };

  const redraw = (name, { paths, values }, k) => {
    const plot = document.querySelector(`.st-key-chart-${name} .js-plotly-plot`);
    if (!plot?.emit) return;
    let figure = { data: plot.data, layout: plot.layout };
    paths.forEach((path, i) => { figure = put(figure, path, values[k][i]); });
    Object.assign(plot, figure);
    plot.emit("plotly_relayout", {}); // Streamlit draws what its figure has by then
  };

  // the page at value number k
  const show = ({ ahead, at }, k) => {
    const frames = fetched.get(ahead);
    document.body.classList.toggle("dpmc-moved", k !== at);
    const known = frames?.verdicts[k] != null;
    document.body.classList.toggle("dpmc-unknown", k !== at && !known);
    if (k !== at && !unsettled) {
      unsettled = true;
      setTimeout(settle, 200);
    }
    if (!known) return;
    const text = document.querySelector(".st-key-verdict p")?.firstChild;
    if (text) text.nodeValue = frames.verdicts[k];
    Object.entries(frames.cells).forEach(([name, cells]) => {
      document.querySelectorAll(`.st-key-${name} td`).forEach((cell, i) => {
        const words = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
        if (words) words.nodeValue = cells[k][i];
      });
    });
    // one figure with each picture of the screen: two would take longer than a picture lasts
    Object.entries(frames.figures).forEach(([name, changes], i) => {
      if (i) requestAnimationFrame(() => redraw(name, changes, k));
      else redraw(name, changes, k);
    });
  };

  // with the next picture of the screen; of several values the last
  const follow = (slider) => {
    if (!next) requestAnimationFrame(() => {
      const now = sliders().find(({ input }) => input === next); // the server may have drawn since
      if (now) show(now, Number(now.input.value));
      next = null;
    });
    next = slider.input;
  };

  const play = (slider) => {
    const { input, ahead, at, values, reversed, button } = slider;
    const thumb = input.parentElement.parentElement, label = thumb.querySelector("p");
    const order = [...values.keys()];
    if (reversed) order.reverse();
    let start = null, shown = at, place = 0;
    const title = button.textContent;
    playing = slider;
    button.textContent = "Stop";
    const step = (now) => {
      if (start === null && fetched.get(ahead)) start = now;
      // on a busy machine it takes longer: no picture is passed over, of many values few
      const due = start === null ? 0 : Math.floor(((now - start) * order.length) / PLAYED);
      place = Math.min(due, place + Math.ceil(order.length / 60));
      const over = playing !== slider || place >= order.length || !fetched.has(ahead);
      const k = over || start === null ? at : order[place];
      if (k !== shown && input.isConnected) {
        thumb.style.left = `${(100 * k) / (values.length - 1)}%`;
        label.textContent = values[k];
        show(slider, k);
        shown = k;
      }
      if (!over) return requestAnimationFrame(step);
      button.textContent = title;
      if (playing === slider) playing = null;
    };
    fetchFrames(slider);
    requestAnimationFrame(step);
  };

  // what moved stays so until the server has drawn the page at the value of the slider; a short
  // run of the script may not show in its state at all
  const settle = () => {
    const held = sliders().find(isHeld);
    const drawn = !held || Number(held.input.value) === held.at;
    if (drawn && !playing && !isRunning()) {
      document.body.classList.remove("dpmc-moved", "dpmc-unknown");
      unsettled = false;
    } else setTimeout(settle, 200);
  };

  const near = ({ target }) => {
    const one = sliders().find(({ input }) => input.closest(".stSlider").contains(target));
    if (one) fetchFrames(one);
  };
  for (const event of ["pointerover", "pointerdown", "focusin"]) addEventListener(event, near);
  addEventListener("click", ({ target }) => {
    const one = sliders().find(({ button }) => button?.contains(target));
    if (one && playing) playing = null;
    else if (one) play(one);
  });
  new MutationObserver((changes) => {
    for (const { target, attributeName } of changes) {
      if (attributeName === "aria-valuetext") {
        const moved = sliders().find((one) => one.input === target && isHeld(one));
        if (moved) follow(moved);
      } else if (target.dataset.testScriptState === "notRunning") {
        setTimeout(() => {
          const held = sliders().find(isHeld);
          if (held && Number(held.input.value) !== held.at) follow(held);
        }, 100);
      }
    }
  }).observe(document.body, {
    subtree: true, attributeFilter: ["aria-valuetext", "data-test-script-state"],
  });
  // a visitor's own run, once it is drawn: looked for, since the end of a short script may not show
  setInterval(() => {
    const run = sliders().find(({ once, slider }) => once && !played.has(slider));
    if (!run || playing || isRunning()) return;
    played.add(run.slider);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(run);
  }, 300);
}
