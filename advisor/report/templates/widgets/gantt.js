"use strict";
// A timeline to zoom into, on a canvas: rows of processes by PE, bars by kind, critical path, messages, loads.
// Its data are explained in advisor/report/timelines.py; without this script the page shows a still figure and tables.
{
  const AXIS = 26, ROW = 22, GAP = 5, STRIP = 9;
  const WORDS = { compute: "computing", recv: "receiving", send: "sending", exchange: "exchanging", read_write: "disk",
    wait_until: "asleep", delay: "asleep", farm: "working for a farm", barrier: "at a barrier" };
  const FIRST = ["compute", "send", "recv"];
  const LANES = { compute: [0.16, 0.68], send: [0.16, 0.32], recv: [0.52, 0.32] };
  const PATTERNS = ["full", "rising", "falling", "grid", "dots", "level"];
  const FEW = 60; // messages in sight that are drawn without being asked for

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // Seconds with a unit and so many digits.
  function duration(seconds, digits = 3) {
    const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "us"]].find(([scale]) => Math.abs(seconds) >= scale) ||
      (seconds === 0 ? [1, "s"] : [1e-9, "ns"]);
    const value = seconds / scale;
    return `${Math.abs(value) >= 10 ** (digits - 1) ? value.toFixed(0) : Number(value.toPrecision(digits))} ${unit}`;
  }

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Bars of one process as arrays, and rows in the order of the PEs.
  function decode(timeline) {
    const bars = timeline.bars.map((flat) => {
      const count = flat.length / 3;
      const own = { kind: [], many: [], start: new Float64Array(count), end: new Float64Array(count) };
      let at = 0;
      for (let bar = 0; bar < count; bar++) {
        own.kind.push(flat[3 * bar] >> 1);
        own.many.push(flat[3 * bar] & 1);
        own.start[bar] = at + flat[3 * bar + 1];
        at = own.end[bar] = own.start[bar] + flat[3 * bar + 2];
      }
      return own;
    });
    const rows = [], strips = new Map((timeline.loads || []).map((load) => [load.pe, load]));
    let y = 0;
    timeline.pes.forEach((pe, number) => {
      const own = timeline.processes.flatMap((at, process) => (at === number ? [process] : []));
      own.forEach((process, place) => {
        rows.push({ process, pe, y, name: own.length > 1 ? `${pe} · ${process}` : pe, first: place === 0 });
        y += ROW;
      });
      if (strips.has(pe)) {
        rows[rows.length - 1].load = strips.get(pe);
        y += STRIP;
      }
      y += own.length > 1 ? GAP : 0;
    });
    const rowOf = new Map(rows.map((row) => [row.process, row]));
    const kinds = timeline.kinds;
    const order = [...FIRST.filter((kind) => kinds.includes(kind)), ...kinds.filter((kind) => !FIRST.includes(kind))];
    return { bars, rows, rowOf, order, height: y, timeline };
  }

  function paint(pattern, colour, paper) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 6, 6);
    pen.strokeStyle = pen.fillStyle = paper;
    pen.lineWidth = 1.4;
    pen.beginPath();
    if (pattern === "rising" || pattern === "grid") for (const d of [-6, 0, 6]) { pen.moveTo(d, 6); pen.lineTo(d + 6, 0); }
    if (pattern === "falling" || pattern === "grid") for (const d of [-6, 0, 6]) { pen.moveTo(d, 0); pen.lineTo(d + 6, 6); }
    if (pattern === "level") { pen.moveTo(0, 3); pen.lineTo(6, 3); }
    if (pattern === "dots") pen.arc(3, 3, 1.3, 0, 7);
    if (pattern === "dots") pen.fill(); else pen.stroke();
    return tile;
  }

  widget("gantt", (stage, data, host) => {
    const scenes = data.timelines.map(decode);
    let scene = scenes[0], view = { from: 0, to: data.moments };
    let showPath = true, showMessages = false, chosen = null, queued = false;
    let colours = {}, width = 300, labels = 90;

    const canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline to zoom" });
    const size = element("div", { class: "gantt-size" }, canvas);
    const scroller = element("div", { class: "gantt-scroll" }, size);
    const readout = element("p", { class: "gantt-readout", "aria-live": "off" });
    const range = element("p", { class: "gantt-range note" });
    const legend = element("ul", { class: "gantt-legend", "aria-label": "Legend" });
    const bar = element("div", { class: "gantt-bar", role: "toolbar", "aria-label": "Timeline" });
    const help = element("p", { class: "note", id: `${host.id}-help` },
      "Drag to move, drag over the time axis to zoom to a part, pinch or turn the wheel (after a click, or with Ctrl) " +
      "to zoom. Keys: + and − zoom, arrows move and choose a process, comma and full stop go from bar to bar, " +
      "0 or Home shows all.");
    canvas.setAttribute("aria-describedby", help.id);
    stage.append(bar, scroller, readout, legend, range, help);
    const pen = canvas.getContext("2d");

    function button(text, label, act) {
      const made = element("button", { type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", act);
      bar.append(made);
      return made;
    }

    function toggle(text, on, act) {
      const made = button(text, text, () => { act(); press(); draw(); });
      const press = () => made.setAttribute("aria-pressed", String(on()));
      press();
      return made;
    }

    if (scenes.length > 1) {
      const select = element("select", {}, ...scenes.map((one, place) =>
        element("option", { value: place }, one.timeline.configuration)));
      select.addEventListener("change", () => { scene = scenes[Number(select.value)]; chosen = null; reset(); settle(); });
      bar.append(element("label", {}, "Configuration ", select));
    }
    button("+", "Zoom in", () => zoom(2));
    button("−", "Zoom out", () => zoom(0.5));
    button("◀", "Earlier", () => move(-0.25));
    button("▶", "Later", () => move(0.25));
    button("All", "Show the whole run", () => reset());
    toggle("Critical path", () => showPath, () => { showPath = !showPath; });
    if (scenes.some((one) => one.timeline.messages.length)) {
      toggle("Messages", () => showMessages, () => { showMessages = !showMessages; });
    }

    const plot = () => width - labels - 8;
    const xOf = (moment) => labels + ((moment - view.from) / (view.to - view.from)) * plot();
    const momentAt = (x) => view.from + ((x - labels) / plot()) * (view.to - view.from);
    const seconds = (moment) => (moment / data.moments) * scene.timeline.makespan_s;

    function look(from, to) {
      const span = clamp(to - from, 20, data.moments);
      const start = clamp(from, 0, data.moments - span);
      view = { from: start, to: start + span };
      draw();
    }
    function zoom(factor, at = (view.from + view.to) / 2) {
      const left = (at - view.from) / factor, right = (view.to - at) / factor;
      look(at - left, at + right);
    }
    function move(part) {
      const by = part * (view.to - view.from);
      look(view.from + by, view.to + by);
    }
    function reset() { look(0, data.moments); }

    // Everything that depends on the page's width, colours or the configuration.
    function settle() {
      const style = getComputedStyle(stage);
      const of = (name) => style.getPropertyValue(name).trim();
      colours = { paper: of("--ap-paper"), ink: of("--ink"), quiet: of("--quiet"), line: of("--line"), tint: of("--tint") };
      scene.order.forEach((kind, place) => {
        const tile = paint(PATTERNS[place % 6], of(`--ap-${(place % 6) + 1}`), colours.paper);
        colours[kind] = { plain: of(`--ap-${(place % 6) + 1}`), tile, pattern: pen.createPattern(tile, "repeat") };
      });
      colours.font = style.fontFamily;
      width = Math.max(260, Math.floor(stage.clientWidth));
      pen.font = `12px ${colours.font}`;
      const widest = Math.max(0, ...scene.rows.slice(0, 400).map((row) => pen.measureText(row.name).width));
      labels = Math.ceil(clamp(widest + 12, 40, width * (width < 500 ? 0.26 : 0.2)));
      for (const row of scene.rows) row.shown = fit(row.name, labels - 10);
      const full = AXIS + scene.height + 6, shown = Math.min(full, Math.max(260, Math.min(0.7 * innerHeight, 560)));
      scroller.style.maxHeight = `${shown}px`;
      size.style.height = `${full}px`;
      const dots = devicePixelRatio || 1;
      canvas.width = width * dots;
      canvas.height = shown * dots;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${shown}px`;
      pen.setTransform(dots, 0, 0, dots, 0, 0);
      const one = scene.timeline;
      canvas.setAttribute("aria-label", `Timeline of ${one.configuration}: ${one.pes.length} PEs, ` +
        `${one.processes.length} processes, makespan ${duration(one.makespan_s)}; the tables below tell the same`);
      explain();
      draw();
    }

    function fit(text, most) {
      if (pen.measureText(text).width <= most) return text;
      let kept = Array.from(text);
      while (kept.length > 1 && pen.measureText(kept.join("") + "…").width > most) kept = kept.slice(0, -1);
      return kept.join("") + "…";
    }

    function explain() {
      const swatches = scene.order.map((kind) => {
        const swatch = element("canvas", { width: 26, height: 14, "aria-hidden": "true" });
        const ink = swatch.getContext("2d"), [top, height] = LANES[kind] || [0.3, 0.4];
        ink.fillStyle = ink.createPattern(colours[kind].tile, "repeat");
        ink.fillRect(0, top * 14, 26, height * 14);
        return element("li", {}, swatch, WORDS[kind] || kind);
      });
      const path = element("canvas", { width: 26, height: 14, "aria-hidden": "true" }), ink = path.getContext("2d");
      ink.strokeStyle = colours.ink;
      ink.lineWidth = 3;
      ink.strokeRect(0, 11, 26, 0.1);
      swatches.push(element("li", {}, path, "critical path"));
      if (scene.rows.some((row) => row.load)) swatches.push(element("li", {}, "▂▅ grey strip: load of the PE"));
      legend.replaceChildren(...swatches);
      const { merged, operations, messages_left_out: fewer } = scene.timeline;
      const notes = [`${operations.toLocaleString("en")} operations`];
      if (merged) notes.push(`${merged.toLocaleString("en")} of them drawn together with their neighbours of the same kind`);
      if (AXIS + scene.height + 6 > parseFloat(canvas.style.height)) notes.push("scroll in it to see all processes");
      if (fewer) notes.push(`the ${fewer.toLocaleString("en")} shortest messages are not drawn`);
      range.dataset.notes = notes.join("; ");
    }

    function draw() {
      if (queued) return;
      queued = true;
      requestAnimationFrame(() => { queued = false; render(); });
    }

    function render() {
      const high = parseFloat(canvas.style.height), top = scroller.scrollTop;
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, width, high);
      pen.save();
      pen.beginPath();
      pen.rect(0, AXIS, width, high - AXIS);
      pen.clip();
      const ticks = timeTicks();
      pen.fillStyle = colours.line;
      for (const tick of ticks.list) pen.fillRect(Math.round(xOf(tick.moment)), AXIS, 1, high);
      const yOf = (row) => AXIS + row.y - top;
      const seen = scene.rows.filter((row) => yOf(row) + ROW + STRIP > AXIS && yOf(row) < high);
      pen.save();
      pen.beginPath();
      pen.rect(labels, AXIS, width - labels, high - AXIS);
      pen.clip();
      for (const row of seen) renderRow(row, yOf(row));
      const arrows = messagesInSight();
      if (showMessages || (arrows.length <= FEW && view.to - view.from < 0.5 * data.moments)) renderMessages(arrows, yOf);
      if (showPath) renderPath(yOf);
      if (chosen) renderChosen(yOf);
      pen.restore();
      pen.font = `12px ${colours.font}`;
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      for (const row of seen) {
        const own = chosen && chosen.process === row.process;
        pen.fillStyle = own ? colours.ink : colours.quiet;
        if (own) pen.fillRect(0, yOf(row) + 3, 3, ROW - 6);
        pen.fillText(row.shown, 6, yOf(row) + ROW / 2);
      }
      pen.restore();
      renderAxis(ticks, high);
      tell();
    }

    function renderRow(row, y) {
      const own = scene.bars[row.process], last = {};
      pen.fillStyle = colours.tint;
      pen.fillRect(labels, y + 1, plot(), ROW - 2);
      for (let bar = 0; bar < own.start.length; bar++) {
        if (own.end[bar] < view.from || own.start[bar] > view.to) continue;
        const kind = scene.timeline.kinds[own.kind[bar]];
        const left = Math.max(xOf(own.start[bar]), labels - 4), right = Math.min(xOf(own.end[bar]), width + 4);
        const wide = Math.max(right - left, 1);
        if (wide < 2 && last[kind] !== undefined && left + wide <= last[kind] + 0.5) continue;
        last[kind] = left + wide;
        const [top, height] = LANES[kind] || [0.3, 0.4];
        pen.fillStyle = wide < 5 ? colours[kind].plain : colours[kind].pattern;
        pen.fillRect(left, y + top * ROW, wide, height * ROW);
        if (wide >= 6) {
          pen.strokeStyle = colours[kind].plain;
          pen.lineWidth = 1;
          pen.strokeRect(left + 0.5, y + top * ROW + 0.5, wide - 1, height * ROW - 1);
        }
      }
      if (row.load) renderLoad(row.load, y + ROW);
    }

    function renderLoad(load, y) {
      const most = Math.max(...load.values, 1e-9);
      pen.fillStyle = colours.quiet;
      pen.globalAlpha = 0.6;
      load.times.forEach((time, place) => {
        const until = place + 1 < load.times.length ? load.times[place + 1] : data.moments;
        if (until < view.from || time > view.to) return;
        const left = Math.max(xOf(time), labels), right = Math.min(xOf(until), width);
        const high = (load.values[place] / most) * (STRIP - 3);
        pen.fillRect(left, y + STRIP - 2 - high, Math.max(right - left, 0.5), high);
      });
      pen.globalAlpha = 1;
    }

    // Places in the flat list of messages.
    function messagesInSight() {
      const flat = scene.timeline.messages, found = [];
      for (let at = 0; at < flat.length; at += 4) if (flat[at + 3] >= view.from && flat[at + 1] <= view.to) found.push(at);
      return found;
    }

    function renderMessages(places, yOf) {
      const flat = scene.timeline.messages;
      pen.strokeStyle = pen.fillStyle = colours.ink;
      pen.lineWidth = 1;
      pen.globalAlpha = places.length > 400 ? 0.35 : 0.75;
      for (const at of places) {
        const x1 = xOf(flat[at + 1]), x2 = xOf(flat[at + 3]);
        const y1 = yOf(scene.rowOf.get(flat[at])) + ROW / 2, y2 = yOf(scene.rowOf.get(flat[at + 2])) + ROW / 2;
        pen.beginPath();
        pen.moveTo(x1, y1);
        pen.lineTo(x2, y2);
        pen.stroke();
        const angle = Math.atan2(y2 - y1, x2 - x1);
        pen.beginPath();
        pen.moveTo(x2, y2);
        pen.lineTo(x2 - 6 * Math.cos(angle - 0.4), y2 - 6 * Math.sin(angle - 0.4));
        pen.lineTo(x2 - 6 * Math.cos(angle + 0.4), y2 - 6 * Math.sin(angle + 0.4));
        pen.fill();
      }
      pen.globalAlpha = 1;
    }

    function renderPath(yOf) {
      const flat = scene.timeline.path;
      pen.lineJoin = "round";
      for (const [colour, thick] of [[colours.paper, 6], [colours.ink, 2.5]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = thick;
        pen.beginPath();
        for (let at = 0; at < flat.length; at += 3) {
          const y = yOf(scene.rowOf.get(flat[at])) + ROW - 3;
          const left = clamp(xOf(flat[at + 1]), -50, width + 50), right = clamp(xOf(flat[at + 2]), -50, width + 50);
          if (at === 0) pen.moveTo(left, y); else pen.lineTo(left, y);
          pen.lineTo(right, y);
        }
        pen.stroke();
      }
    }

    function renderChosen(yOf) {
      const row = scene.rowOf.get(chosen.process), own = scene.bars[chosen.process];
      if (chosen.bar < 0 || chosen.bar >= own.start.length) return;
      const left = xOf(own.start[chosen.bar]), right = xOf(own.end[chosen.bar]);
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.setLineDash([4, 2]);
      pen.strokeRect(left - 1, yOf(row) + 1, Math.max(right - left, 1) + 2, ROW - 2);
      pen.setLineDash([]);
    }

    // Round times some 90 pixels apart.
    function timeTicks() {
      const span = seconds(view.to - view.from), wish = span / Math.max(1, plot() / 90);
      const power = 10 ** Math.floor(Math.log10(wish));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= wish) || 10 * power;
      const end = Math.max(seconds(view.to), step);
      const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "us"]].find(([scale]) => end >= scale) || [1e-9, "ns"];
      const decimals = clamp(Math.ceil(-Math.log10(step / scale) - 1e-9), 0, 12);
      const list = [];
      for (let number = Math.ceil(seconds(view.from) / step - 1e-9); number * step <= seconds(view.to) + 1e-15; number++) {
        const moment = ((number * step) / scene.timeline.makespan_s) * data.moments;
        list.push({ moment, text: ((number * step) / scale).toFixed(decimals) });
        if (list.length > 60) break;
      }
      return { list, unit };
    }

    function renderAxis(ticks, high) {
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, width, AXIS);
      pen.fillStyle = colours.line;
      pen.fillRect(labels, AXIS - 1, plot(), 1);
      pen.fillRect(labels - 1, AXIS, 1, high);
      pen.font = `12px ${colours.font}`;
      pen.textBaseline = "alphabetic";
      pen.fillStyle = colours.quiet;
      pen.textAlign = "left";
      pen.fillText(`in ${ticks.unit}`, 6, AXIS - 9);
      let free = labels - 20;
      for (const tick of ticks.list) {
        const x = xOf(tick.moment), half = pen.measureText(tick.text).width / 2;
        const middle = clamp(x, labels - 10 + half, width - half - 1);
        if (middle - half < free) continue;
        pen.textAlign = "center";
        pen.fillText(tick.text, middle, AXIS - 9);
        pen.fillRect(Math.round(x), AXIS - 5, 1, 5);
        free = middle + half + 8;
      }
      if (drag && drag.mark !== undefined) {
        const [low, top] = [drag.mark, drag.x].sort((one, other) => one - other);
        pen.globalAlpha = 0.25;
        pen.fillStyle = colours.ink;
        pen.fillRect(low, 0, top - low, high);
        pen.globalAlpha = 1;
      }
    }

    function tell() {
      const all = view.from <= 0 && view.to >= data.moments;
      canvas.dataset.from = String(seconds(view.from));
      canvas.dataset.to = String(seconds(view.to));
      canvas.dataset.path = String(showPath);
      const part = all ? `All of the run: ${duration(scene.timeline.makespan_s)}` :
        `${duration(seconds(view.from), 6)} to ${duration(seconds(view.to), 6)} of ${duration(scene.timeline.makespan_s)}`;
      range.textContent = `${part}; ${range.dataset.notes}. Replication ${scene.timeline.replication}.`;
      const text = chosen ? describe(chosen) : "Point at a bar, or press an arrow key, to read what it is.";
      if (readout.textContent !== text) readout.textContent = text;
    }

    function describe({ process, bar }) {
      const row = scene.rowOf.get(process), own = scene.bars[process];
      const who = `${row.pe}, process ${process}`;
      if (bar < 0 || bar >= own.start.length) return `${who}: nothing here`;
      const kind = scene.timeline.kinds[own.kind[bar]], from = seconds(own.start[bar]), to = seconds(own.end[bar]);
      const several = own.many[bar] ? " (several, drawn as one: the amount is right, the place is not)" : "";
      const critical = onPath(process, own.start[bar], own.end[bar]) ? "; on the critical path" : "";
      return `${who}: ${WORDS[kind] || kind}${several} for ${duration(to - from)}, from ${duration(from, 6)} ` +
        `to ${duration(to, 6)}${critical}`;
    }

    function onPath(process, start, end) {
      const flat = scene.timeline.path;
      for (let at = 0; at < flat.length; at += 3) {
        if (flat[at] === process && Math.min(end, flat[at + 2]) > Math.max(start, flat[at + 1])) return true;
      }
      return false;
    }

    function barAt(x, y) {
      const inside = y - AXIS + scroller.scrollTop;
      const row = y < AXIS ? undefined : scene.rows.find((one) => inside >= one.y && inside < one.y + ROW);
      if (!row || x < labels) return null;
      const own = scene.bars[row.process], slack = (2 / plot()) * (view.to - view.from), at = momentAt(x);
      let best = -1, least = Infinity;
      for (let bar = 0; bar < own.start.length; bar++) {
        if (at < own.start[bar] - slack || at > own.end[bar] + slack) continue;
        const [top, height] = LANES[scene.timeline.kinds[own.kind[bar]]] || [0.3, 0.4];
        const off = Math.abs(inside - row.y - (top + height / 2) * ROW) + Math.max(own.start[bar] - at, at - own.end[bar], 0);
        if (off < least) [best, least] = [bar, off];
      }
      return best < 0 ? null : { process: row.process, bar: best };
    }

    function choose(next) {
      readout.setAttribute("aria-live", "polite");
      chosen = next;
      const row = scene.rowOf.get(next.process), high = parseFloat(canvas.style.height) - AXIS;
      if (row.y < scroller.scrollTop) scroller.scrollTop = row.y;
      if (row.y + ROW > scroller.scrollTop + high) scroller.scrollTop = row.y + ROW - high;
      const own = scene.bars[next.process], start = own.start[next.bar], end = own.end[next.bar];
      const outside = end < view.from || start > view.to;
      if (outside) look(start - 0.4 * (view.to - view.from), start + 0.6 * (view.to - view.from));
      draw();
    }

    function stepRow(by) {
      const place = chosen ? scene.rows.findIndex((row) => row.process === chosen.process) + by : 0;
      const row = scene.rows[clamp(place, 0, scene.rows.length - 1)], own = scene.bars[row.process];
      const middle = (view.from + view.to) / 2;
      let bar = own.start.findIndex((start, at) => start <= middle && own.end[at] >= middle);
      if (bar < 0) bar = own.start.findIndex((start) => start >= view.from);
      choose({ process: row.process, bar: bar < 0 ? 0 : bar });
    }

    function stepBar(by) {
      if (!chosen) return stepRow(0);
      const count = scene.bars[chosen.process].start.length;
      return choose({ process: chosen.process, bar: clamp(chosen.bar + by, 0, Math.max(0, count - 1)) });
    }

    const KEYS = {
      "+": () => zoom(2), "=": () => zoom(2), "-": () => zoom(0.5), "−": () => zoom(0.5), _: () => zoom(0.5),
      ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), ArrowUp: () => stepRow(-1), ArrowDown: () => stepRow(1),
      ",": () => stepBar(-1), ".": () => stepBar(1), Home: reset, 0: reset,
      Escape: () => { chosen = null; draw(); },
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
      event.preventDefault();
      KEYS[event.key]();
    });

    canvas.addEventListener("wheel", (event) => {
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        if (view.to - view.from >= data.moments) return;
        event.preventDefault();
        move((event.deltaX || event.deltaY) / plot());
      } else if (event.ctrlKey || document.activeElement === canvas) {
        event.preventDefault();
        const steps = clamp(event.deltaY * (event.deltaMode === 1 ? 20 : 1), -200, 200);
        zoom(Math.exp(-steps / (event.ctrlKey ? 150 : 300)), momentAt(clamp(event.offsetX, labels, width)));
      }
    }, { passive: false });

    // One pointer moves or marks a part of the axis, two pinch.
    const pointers = new Map();
    let drag = null, pinch = null;
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.offsetX);
      canvas.setPointerCapture(event.pointerId);
      if (pointers.size === 2) {
        const [one, other] = pointers.values();
        pinch = { apart: Math.max(20, Math.abs(one - other)), middle: momentAt((one + other) / 2), view };
        drag = null;
      } else {
        drag = { x: event.offsetX, view, ...(event.offsetY < AXIS ? { mark: event.offsetX } : {}), from: event.offsetX };
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (pointers.has(event.pointerId)) pointers.set(event.pointerId, event.offsetX);
      if (pinch && pointers.size === 2) {
        const [one, other] = pointers.values();
        const factor = Math.max(20, Math.abs(one - other)) / pinch.apart, span = (pinch.view.to - pinch.view.from) / factor;
        const share = ((one + other) / 2 - labels) / plot();
        look(pinch.middle - share * span, pinch.middle + (1 - share) * span);
      } else if (drag && drag.mark !== undefined) {
        drag.x = clamp(event.offsetX, labels, width);
        draw();
      } else if (drag && Math.abs(event.offsetX - drag.from) > 3) {
        const by = ((drag.from - event.offsetX) / plot()) * (drag.view.to - drag.view.from);
        look(drag.view.from + by, drag.view.to + by);
      } else if (!drag) {
        readout.setAttribute("aria-live", "off");
        const found = barAt(event.offsetX, event.offsetY);
        if (found) { chosen = found; draw(); }
      }
    });
    function release(event) {
      pointers.delete(event.pointerId);
      if (drag && drag.mark !== undefined && Math.abs(drag.x - drag.mark) > 5) {
        const [low, top] = [momentAt(drag.mark), momentAt(drag.x)].sort((one, other) => one - other);
        drag = null;
        look(low, top);
      } else if (drag && event.type === "pointerup" && Math.abs(event.offsetX - drag.from) <= 3) {
        const found = barAt(event.offsetX, event.offsetY);
        if (found) chosen = found;
      }
      drag = null;
      if (pointers.size < 2) pinch = null;
      draw();
    }
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("dblclick", (event) => zoom(3, momentAt(event.offsetX)));
    scroller.addEventListener("scroll", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", settle);
    new ResizeObserver(() => { if (Math.floor(stage.clientWidth) !== width && stage.clientWidth) settle(); }).observe(stage);
    settle();
  });
}
