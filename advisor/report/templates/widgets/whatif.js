"use strict";
// Sliders over the points of a what-if: one per field, the shown point's numbers, a line along a field, a map of two.
widget("whatif", (stage, data, host) => {
  const SERIES = 6; // lines in the chart: the colours that the page has
  const TEXT_COLUMNS = 12, TEXT_ROWS = 24; // of the map: beyond, cells have colours only
  const SVG = "http://www.w3.org/2000/svg";
  const fields = data.fields;
  const sizes = fields.map(field => field.stops.length);
  const live = fields.map((_, place) => place).filter(place => sizes[place] > 1);
  const state = { at: [], last: live[0] ?? 0, pair: live.length > 1 ? [live[0], live[1]] : null };

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // A path may break after its points.
  function breakable(path) {
    return path.split(/(?<=\.)/).flatMap((part, place) => (place ? [make("wbr"), part] : [part]));
  }

  function draw(tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function flat(at) {
    return at.reduce((sum, stop, place) => sum * sizes[place] + stop, 0);
  }

  function unflat(place) {
    const at = [];
    for (let field = sizes.length - 1; field >= 0; field -= 1) {
      at[field] = place % sizes[field];
      place = Math.floor(place / sizes[field]);
    }
    return at;
  }

  // Numbers: as the tables of the page write them.
  function unit(seconds) {
    return [[1, "s"], [1e-3, "ms"], [1e-6, "us"]].find(([scale]) => seconds >= scale) ?? (seconds ? [1e-9, "ns"] : [1, "s"]);
  }

  function largest(values) {
    return Math.max(...values.filter(value => value !== null).map(Math.abs));
  }

  function decimals(values) {
    const most = largest(values);
    let needed = most ? 2 - Math.floor(Math.log10(most)) : 0;
    const width = Math.max(...values) - Math.min(...values);
    if (width > 1e-9 * most) needed = Math.max(needed, -Math.floor(Math.log10(width / 2)));
    return Math.max(0, Math.min(needed, most >= 0.1 ? 4 : 6));
  }

  function signed(value, count, sign) {
    const text = Math.abs(value).toFixed(count);
    if (!Number(text)) return text;
    return `${value < 0 ? "−" : sign ? "+" : ""}${text}`;
  }

  // A value with its interval: 1.23 s (1.10 to 1.40), as everywhere.
  function written([mean, low, high], name = "", sign = false) {
    const known = low !== null && high !== null ? [mean, low, high] : [mean];
    const count = decimals(known);
    const [text, from, to] = known.map(value => signed(value, count, sign));
    return `${text}${name ? ` ${name}` : ""}${from === to ? "" : ` (${from} to ${to})`}`;
  }

  function seconds(values, sign = false) {
    const [scale, name] = unit(largest(values));
    return written(values.map(value => (value === null ? null : value / scale)), name, sign);
  }

  function short(mean) {
    const [scale, name] = unit(Math.abs(mean));
    return `${(mean / scale).toPrecision(3)} ${name}`;
  }

  function chance(share) {
    if (data.deterministic && (share === 0 || share === 1)) return share ? "100\u00a0%" : "0\u00a0%";
    return share > 0.99 ? ">\u00a099\u00a0%" : share < 0.01 ? "<\u00a01\u00a0%" : `${Math.round(100 * share)}\u00a0%`;
  }

  function mean(place) {
    const best = data.best[place];
    return best === null ? null : data.rows[best][place][0];
  }

  // Controls.
  const controls = make("div", { class: "sliders" });
  const sliders = fields.map((field, place) => {
    if (sizes[place] < 2) {
      controls.append(make("p", { class: "fixed" }, `${field.name}: ${field.stops[0]}`));
      return null;
    }
    const id = `${host.id}-slider-${place}`;
    const value = make("span", { class: "value", "aria-hidden": "true" }); // the slider says it itself
    const input = make("input", { type: "range", id, min: 0, max: sizes[place] - 1, step: 1 });
    const ends = make("div", { class: "ends", "aria-hidden": "true" });
    ends.append(make("span", {}, field.stops[0]), make("span", {}, field.stops[sizes[place] - 1]));
    controls.append(make("div", { class: "slider" }, make("label", { for: id }, ...breakable(field.name)), value, input, ends));
    input.addEventListener("input", () => {
      state.at[place] = Number(input.value);
      state.last = place;
      show();
    });
    return { input, value };
  });
  const buttons = make("div", { class: "jumps" });
  function jump(text, at) {
    const button = make("button", { type: "button" }, text);
    button.addEventListener("click", () => go(at));
    buttons.append(button);
  }
  const base = fields.map(field => field.asIs);
  if (!base.includes(null)) jump("As it is", base);
  if (data.fastest !== null) jump(data.pays[data.fastest] ? "What pays most" : "The fastest seen", unflat(data.fastest));

  function go(at) {
    state.at = [...at];
    show();
  }

  // The shown point.
  const said = make("p", { class: "said", role: "status" });
  const body = make("tbody");
  const caption = make("caption", {}, `The shown point, ${data.level} intervals`);
  const head = ["configuration", "makespan", "to the base", "gain over the base"];
  const columns = head.map((text, place) => make("th", place ? { scope: "col", class: "number" } : { scope: "col" }, text));
  const table = make("table", {}, caption, make("thead", {}, make("tr", {}, ...columns)), body);
  const region = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "The shown point" }, table);
  const advice = make("p", { class: "note" });
  const picture = make("figure", { class: "line" });
  const map = make("figure", { class: "map" });
  stage.append(controls, buttons, said, region, advice, make("div", { class: "pictures" }, picture, map));

  function row(name, one, own) {
    const cells = [name];
    if (one === null) cells.push("–", "–", "–");
    else {
      cells.push(seconds(one.slice(0, 3)));
      cells.push(one[3] === null ? "–" : seconds(one.slice(3, 6), true));
      cells.push(own === null || one[3] === null ? "–" : written([own[0] / one[0], one[6], one[7]]));
    }
    return cells;
  }

  function tell(place) {
    const failed = data.failed[place];
    body.replaceChildren();
    table.hidden = failed !== undefined || data.best[place] === null;
    said.classList.toggle("failed", table.hidden);
    if (table.hidden) {
      said.textContent = `This point failed: ${failed ?? "no answer"}`;
      advice.textContent = "";
      return;
    }
    data.names.forEach((name, number) => {
      const one = data.rows[number][place];
      const line = make("tr", number === data.best[place] ? { class: "best" } : {});
      row(name, one, data.base[number]).forEach((text, cell) => {
        const header = cell === 0;
        const element = make(header ? "th" : "td", header ? { scope: "row" } : { class: "number" }, text);
        if (header && number === data.best[place] && data.names.length > 1) {
          element.append(make("span", { class: "tag" }, "fastest here"));
        }
        line.append(element);
      });
      body.append(line);
    });
    const one = data.rows[data.best[place]][place];
    const gain = data.gain[place];
    const parts = [`${data.names[data.best[place]]}: ${seconds(one.slice(0, 3))}`];
    if (gain !== null) {
      const same = gain[0] === 1 && gain[1] === 1 && gain[2] === 1;
      const pays = data.pays[place] ? "pays" : gain[1] === null ? "by too few replications to be sure" : gain[2] < 1 ? "is slower" : "not distinguishable from the base";
      parts.push(same ? "as the base in every replication" : `${written(gain)} times as fast as the base, ${pays}`);
    } else parts.push("the base");
    if (data.ties.includes(place)) parts.push("a tie: within 1 % of the fastest");
    else if (data.chance[place] !== null) parts.push(`fastest of all with a chance of ${chance(data.chance[place])}`);
    for (const [of, name] of [["cost", "costs"], ["energy", "takes"]]) {
      const spent = data[of]?.[place];
      if (spent != null) parts.push(`a run ${name} ${Number(spent.toPrecision(4))}${of === "energy" ? " J" : ""}`);
    }
    said.textContent = parts.join("; ");
    advice.textContent = data.advice?.[place] ? `Advised here: ${data.advice[place]}` : "";
  }

  // The line along the field that was moved last.
  const WIDTH = 440, HEIGHT = 250, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 40;

  function along(field) {
    return fields[field].stops.map((_, stop) => flat(state.at.map((own, place) => (place === field ? stop : own))));
  }

  function positions(field) {
    const values = fields[field].values;
    const count = sizes[field];
    let found = [...Array(count).keys()];
    if (values !== null && new Set(values).size === count) {
      found = values;
      if (values.every(value => value > 0) && Math.max(...values) / Math.min(...values) >= 8) found = values.map(Math.log);
    }
    const low = Math.min(...found), high = Math.max(...found);
    return found.map(value => LEFT + ((value - low) / (high - low || 1)) * (WIDTH - LEFT - RIGHT));
  }

  function ticks(low, high) {
    const raw = (high - low) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= raw * 0.999);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
    return { found, step };
  }

  function chart() {
    const field = state.last, line = along(field), xs = positions(field);
    const here = state.at[field];
    const shown = data.names
      .map((name, number) => ({ name, number, best: Math.min(...line.map(place => data.rows[number][place]?.[0] ?? Infinity)) }))
      .filter(one => one.best < Infinity)
      .sort((one, other) => one.best - other.best)
      .slice(0, SERIES)
      .sort((one, other) => one.number - other.number);
    const reference = data.baseBest === null ? null : data.base[data.baseBest][0];
    let low = reference ?? Infinity, high = reference ?? 0;
    for (const { number } of shown) {
      for (const place of line) {
        const one = data.rows[number][place];
        if (one !== null) { low = Math.min(low, one[1] ?? one[0]); high = Math.max(high, one[2] ?? one[0]); }
      }
    }
    if (!(high > 0) || low > high) { picture.replaceChildren(make("p", { class: "note" }, "No point along this field has an answer.")); return; }
    const margin = 0.06 * (high - low) || 0.05 * high;
    low = Math.max(0, low - margin); high += margin;
    const [scale, name] = unit(high);
    const y = value => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const known = line.map((place, stop) => [fields[field].stops[stop], mean(place)]).filter(([, value]) => value !== null);
    const summary = known.length
      ? `Makespan along ${fields[field].name}: ${short(known[0][1])} at ${known[0][0]}, ${short(known.at(-1)[1])} at ${known.at(-1)[0]}`
      : `No answer along ${fields[field].name}`;
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "figure", role: "img", "aria-label": summary });
    const { found, step } = ticks(low / scale, high / scale);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (const value of found) {
      const height = y(value * scale);
      svg.append(draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: height, y2: height, class: "rule" }));
      svg.append(draw("text", { x: LEFT - 6, y: height + 4, "text-anchor": "end" }, value.toFixed(digits)));
    }
    svg.append(draw("text", { x: 14, y: (HEIGHT - BOTTOM) / 2 + TOP, transform: `rotate(-90 14 ${(HEIGHT - BOTTOM) / 2 + TOP})`, "text-anchor": "middle" }, `makespan in ${name}`));
    xTexts(svg, field, xs, here);
    if (reference !== null) {
      svg.append(draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(reference), y2: y(reference), class: "reference" }));
    }
    svg.append(draw("line", { x1: xs[here], x2: xs[here], y1: TOP, y2: HEIGHT - BOTTOM, class: "here" }));
    shown.forEach(({ number }, place) => series(svg, number, place, line, xs, y, here));
    const key = make("figcaption", {});
    shown.forEach((one, place) => {
      const mark = make("span", { class: "series-line" });
      mark.style.borderColor = `var(--ap-${place + 1})`;
      mark.style.borderTopStyle = DASHES[place].style;
      key.append(make("span", { class: "series" }, mark, one.name));
    });
    const more = data.names.length > shown.length ? ` ${data.names.length - shown.length} more configurations are in the table.` : "";
    const others = live.length > 1 ? ", the other fields as they stand" : "";
    key.append(make("br"), `Along ${fields[field].name}${others}. Band: ${data.level} interval.${reference === null ? "" : " Dashed: the scenario as it is."}${more}`);
    picture.replaceChildren(svg, key);
    svg.addEventListener("click", event => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * WIDTH;
      const near = xs.reduce((best, own, stop) => (Math.abs(own - x) < Math.abs(xs[best] - x) ? stop : best), 0);
      state.at[field] = near;
      show();
    });
  }

  const DASHES = [["", "solid"], ["7 3", "dashed"], ["2 2", "dotted"], ["9 3 2 3", "dashed"], ["4 4", "dashed"], ["1 4", "dotted"]]
    .map(([dash, style]) => ({ dash, style }));

  function xTexts(svg, field, xs, here) {
    // As many stops as there is room for; the shown one always.
    const names = fields[field].stops.map(text => (text.length > 16 ? `${text.slice(0, 15)}…` : text));
    const taken = [];
    const fits = (stop, force) => {
      const half = 2.8 * names[stop].length + 5;
      const middle = Math.max(LEFT - 40 + half, Math.min(WIDTH - 2 - half, xs[stop]));
      if (!force && taken.some(([left, right]) => middle + half > left && middle - half < right)) return;
      taken.push([middle - half, middle + half]);
      svg.append(draw("text", { x: middle, y: HEIGHT - BOTTOM + 16, "text-anchor": "middle", ...(force ? { class: "now" } : {}) }, names[stop]));
    };
    fits(here, true);
    [0, names.length - 1, ...names.keys()].forEach(stop => fits(stop, false));
    const name = fields[field].name;
    svg.append(draw("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, name.length > 58 ? `…${name.slice(-57)}` : name));
  }

  function series(svg, number, place, line, xs, y, here) {
    const colour = `var(--ap-${place + 1})`;
    let run = [];
    const close = () => {
      if (run.length) {
        const top = run.map(([x, one]) => `${x.toFixed(1)},${y(one[2] ?? one[0]).toFixed(1)}`);
        const bottom = run.map(([x, one]) => `${x.toFixed(1)},${y(one[1] ?? one[0]).toFixed(1)}`).reverse();
        svg.append(draw("polygon", { points: [...top, ...bottom].join(" "), fill: colour, class: "band" }));
        const middle = run.map(([x, one]) => `${x.toFixed(1)},${y(one[0]).toFixed(1)}`).join(" ");
        svg.append(draw("polyline", { points: middle, stroke: colour, "stroke-dasharray": DASHES[place].dash, class: "run" }));
        if (run.length < 40) for (const [x, one] of run) svg.append(draw("circle", { cx: x.toFixed(1), cy: y(one[0]).toFixed(1), r: 2.4, fill: colour }));
      }
      run = [];
    };
    line.forEach((point, stop) => {
      const one = data.rows[number][point];
      if (one === null) close();
      else run.push([xs[stop], one]);
    });
    close();
    const now = data.rows[number][line[here]];
    if (now !== null) svg.append(draw("circle", { cx: xs[here], cy: y(now[0]), r: 6, stroke: colour, class: "now" }));
  }

  // The map of two fields.
  let cells = [];

  function heat() {
    if (state.pair === null) return;
    const [down, across] = state.pair;
    const places = fields[down].stops.map((_, row) =>
      fields[across].stops.map((__, column) => flat(state.at.map((own, place) => (place === down ? row : place === across ? column : own)))));
    const means = places.flat().map(mean).filter(value => value !== null);
    const low = Math.min(...means), high = Math.max(...means);
    const [scale, name] = unit(low);
    const texts = sizes[across] <= TEXT_COLUMNS && sizes[down] <= TEXT_ROWS;
    const head = make("tr", {}, make("th", { scope: "col" }, ...breakable(fields[down].name)));
    fields[across].stops.forEach(text => head.append(make("th", { scope: "col", title: text }, texts ? text : "")));
    cells = [];
    const rows = places.map((line, row) => {
      const found = make("tr", {}, make("th", { scope: "row" }, fields[down].stops[row]));
      line.forEach((place, column) => found.append(cell(place, row, column, { low, high, scale, texts })));
      return found;
    });
    const caption = `Makespan in ${name}: ${fields[down].name} down, ${fields[across].name} across`;
    const title = make("p", { class: "title", id: `${host.id}-map` }, caption);
    const grid = make("table", { "aria-labelledby": title.id, ...(texts ? {} : { class: "dense" }) }, make("thead", {}, head), make("tbody", {}, ...rows));
    const note = make("figcaption", {}, `Stronger colour is faster; framed: the shown point; bold: the fastest here. ${texts ? "" : "Columns are in the order of the slider. "}A click goes there.`);
    const region = make("div", { class: texts ? "scroll" : "scroll tall", role: "region", tabindex: "0", "aria-labelledby": title.id }, grid);
    map.replaceChildren(...(live.length > 2 ? [choices()] : []), title, region, note);
    mark();
  }

  function cell(place, row, column, { low, high, scale, texts }) {
    const value = mean(place);
    const found = make("td", { class: "number" });
    const [down, across] = state.pair;
    const where = `${fields[down].stops[row]}, ${fields[across].stops[column]}`;
    if (value === null) {
      found.classList.add("failed");
      found.title = `${where}: failed`;
      found.textContent = texts ? "failed" : "×";
    } else {
      const share = high > low ? Math.log(high / value) / Math.log(high / low) : 0;
      found.style.backgroundColor = `color-mix(in srgb, var(--ap-1) ${(46 * share).toFixed(0)}%, var(--ap-paper))`;
      found.title = `${where}: ${short(value)}`;
      if (texts) found.textContent = (value / scale).toPrecision(4).replace(/^(\d{4,})\.?$/, "$1");
      if (value === low) found.classList.add("least");
    }
    found.addEventListener("click", () => {
      state.at[down] = row;
      state.at[across] = column;
      show();
    });
    cells.push({ found, place });
    return found;
  }

  function choices() {
    const line = make("p", { class: "choices" });
    [["down", 0], ["across", 1]].forEach(([text, side]) => {
      const id = `${host.id}-map-${text}`;
      const select = make("select", { id });
      live.forEach(place => {
        const option = make("option", { value: place }, fields[place].name);
        option.selected = state.pair[side] === place;
        select.append(option);
      });
      select.addEventListener("change", () => {
        const chosen = Number(select.value);
        if (state.pair[1 - side] === chosen) state.pair[1 - side] = state.pair[side];
        state.pair[side] = chosen;
        heat();
        document.getElementById(id).focus();
      });
      line.append(make("label", { for: id }, text), select);
    });
    return line;
  }

  function mark() {
    const now = flat(state.at);
    for (const { found, place } of cells) {
      if (place === now) found.setAttribute("aria-current", "true");
      else found.removeAttribute("aria-current");
    }
  }

  let mapped = null;
  function show() {
    sliders.forEach((slider, place) => {
      if (slider === null) return;
      const field = fields[place], stop = state.at[place];
      const text = `${field.stops[stop]}${stop === field.asIs ? ", as it is" : ""}`;
      slider.input.value = stop;
      slider.input.setAttribute("aria-valuetext", text);
      slider.value.textContent = text;
    });
    tell(flat(state.at));
    chart();
    if (state.pair === null) return;
    const rest = JSON.stringify([state.pair, state.at.map((stop, place) => (state.pair.includes(place) ? -1 : stop))]);
    if (rest !== mapped) heat();
    else mark();
    mapped = rest;
  }

  go(!base.includes(null) ? base : data.fastest !== null ? unflat(data.fastest) : sizes.map(() => 0));
});
