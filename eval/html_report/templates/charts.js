/* Pictures of the runs: curves with bands, a heat map, a scatter, and a parallel plot. */

const CIVIDIS = ["#00224e", "#2a3f6d", "#575c6d", "#7d7c78", "#a69d75", "#d3c164", "#fee838"];

function colourOf(charts, place) {
  const colour = charts.palette[place % charts.palette.length];
  return colour === "#000000" ? "var(--ink)" : colour;
}

function sequential(share) {
  const place = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1);
  const first = Math.min(Math.floor(place), CIVIDIS.length - 2);
  const parts = [1, 3, 5].map((start) => {
    const [low, high] = [first, first + 1].map((each) => parseInt(CIVIDIS[each].slice(start, start + 2), 16));
    return Math.round(low + (high - low) * (place - first));
  });
  return { colour: `rgb(${parts.join(",")})`, ink: 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2] > 125 ? "#000" : "#fff" };
}

function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

function bounds(values) {
  const low = Math.min(...values), high = Math.max(...values);
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}

/* A frame with axes; gives the functions from values to places. */
function frame(width, height, xs, ys, xName, yName) {
  const yTicks = ticks(ys[0], ys[1], 4), xTicks = ticks(xs[0], xs[1], Math.max(2, Math.floor(width / 110)));
  const left = 14 + 7 * Math.max(...yTicks.map((tick) => shortNumber(tick).length), 2), right = 14, top = 24, bottom = 42;
  const x = (value) => left + ((value - xs[0]) / (xs[1] - xs[0])) * (width - left - right);
  const y = (value) => height - bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom);
  const parts = [];
  for (const tick of yTicks) {
    parts.push(line(left, y(tick), width - right, y(tick), { class: "grid" }));
    parts.push(text(left - 6, y(tick) + 4, shortNumber(tick), { "text-anchor": "end", class: "soft" }));
  }
  for (const tick of xTicks) {
    parts.push(text(x(tick), height - bottom + 17, shortNumber(tick), { "text-anchor": "middle", class: "soft" }));
  }
  parts.push(text((left + width - right) / 2, height - 7, xName, { "text-anchor": "middle" }));
  parts.push(text(2, 13, yName));
  return { x, y, parts };
}

function legend(charts) {
  const { colour_names: names, colour_key: key } = charts.layout;
  if (!names.length) return null;
  const items = names.map((name, place) =>
    element("li", {}, drawn("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, mark(MARKS[place % MARKS.length], 7, 7, 9, colourOf(charts, place))), name),
  );
  return element("ul", { class: "legend", "aria-label": `Colours: ${key || "settings"}` }, key ? element("li", {}, `${key}:`) : null, ...items);
}

function drawCurves(charts) {
  const measure = Object.keys(charts.curves)[byId("curves-measure").value];
  const curves = charts.curves[measure], layout = charts.layout, place = byId("curves-panels");
  const several = layout.panel_names.length > 1;
  const known = curves.filter((curve) => curve);
  const isShare = measure.includes("accuracy");
  const ys = isShare ? [0, 1.02] : bounds(known.flatMap((curve) => [...curve.low, ...curve.high]));
  const xs = [0, Math.max(...known.flatMap((curve) => curve.steps))];
  const full = byId("curves").clientWidth, columns = Math.max(1, Math.min(layout.panel_names.length, 3, Math.floor(full / 340)));
  const width = Math.max(240, Math.min(704, (full - 24 * (columns - 1)) / columns));
  const many = !layout.colour_names.length && charts.rows.length > 1;
  const figures = layout.panel_names.map((name, panel) => {
    const axes = frame(width, several ? 230 : 300, xs, ys, "step of training", `${measure} (${known[0].section})`);
    const inside = [], said = [];
    charts.rows.forEach((row, index) => {
      const curve = curves[index];
      if (layout.panels[index] !== panel || !curve) return;
      const colour = colourOf(charts, layout.colours[index]);
      const points = curve.steps.map((step, at) => `${axes.x(step).toFixed(1)} ${axes.y(curve.mean[at]).toFixed(1)}`);
      if (curve.num_seeds > 1 && !many) {
        const up = curve.steps.map((step, at) => `${axes.x(step).toFixed(1)} ${axes.y(curve.high[at]).toFixed(1)}`);
        const down = curve.steps.map((step, at) => `${axes.x(step).toFixed(1)} ${axes.y(curve.low[at]).toFixed(1)}`).reverse();
        inside.unshift(drawn("path", { d: `M${[...up, ...down].join("L")}z`, fill: colour, "fill-opacity": 0.16 }));
      }
      inside.push(drawn("path", { d: `M${points.join("L")}`, fill: "none", stroke: colour, "stroke-width": many ? 1 : 2, "stroke-opacity": many ? 0.5 : 1 }));
      const last = curve.steps.length - 1;
      if (!many) {
        const every = Math.max(1, Math.ceil(curve.steps.length / 6));
        curve.steps.forEach((step, at) => {
          if ((last - at) % every === 0) inside.push(mark(MARKS[layout.colours[index] % MARKS.length], axes.x(step), axes.y(curve.mean[at]), 7, colour));
        });
      }
      said.push(`${row.label}: ${shortNumber(curve.mean[0])} at step ${curve.steps[0]}, ${shortNumber(curve.mean[last])} at step ${curve.steps[last]}`);
    });
    const title = `Learning curves: ${measure}${name ? `, ${name}` : ""}`;
    return element("figure", {}, name ? element("figcaption", {}, name) : null, picture(width, several ? 230 : 300, title, said.join("; "), ...axes.parts, ...inside));
  });
  const shown = legend(charts);
  place.replaceChildren(...figures);
  const before = place.previousElementSibling;
  if (before.classList.contains("legend")) before.remove();
  if (shown) place.before(shown);
}

function different(charts, key) {
  const found = new Map(charts.rows.map((row) => [JSON.stringify(row.settings[key]), row.settings[key]]));
  const values = [...found.values()];
  return values.every((value) => typeof value === "number") ? values.sort((one, other) => one - other) : values;
}

function drawHeat(charts) {
  const [figure, across, down] = ["figure", "x", "y"].map((name) => Number(byId(`heat-${name}`).value));
  const columns = different(charts, across), rows = different(charts, down), name = charts.figures[figure].name;
  const cells = rows.map((row) => columns.map((column) => mean(charts.runs.filter((run) => {
    const settings = charts.rows[run.row].settings;
    return settings[across] === column && settings[down] === row;
  }).map((run) => run.values[figure]))));
  const known = cells.flat().filter((value) => value !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const left = 16 + 7 * Math.max(...[...rows, `${charts.keys[down]} ↓`].map((value) => cut(String(value), 20).length)), top = 44;
  const space = Math.min(704, byId("heat").clientWidth) - left - 4;
  const wide = Math.max(24, Math.min(110, space / columns.length)), tall = 40;
  const width = left + wide * columns.length + 4, height = top + tall * rows.length + 4, parts = [], said = [];
  parts.push(text(left, 14, `${charts.keys[across]} →`, { class: "soft" }), text(2, top - 8, cut(`${charts.keys[down]} ↓`, 20), { class: "soft" }));
  columns.forEach((column, at) => parts.push(text(left + (at + 0.5) * wide, top - 8, cut(String(column), Math.max(3, Math.floor(wide / 7))), { "text-anchor": "middle" })));
  rows.forEach((row, place) => {
    parts.push(text(left - 8, top + (place + 0.5) * tall + 4, cut(String(row), 20), { "text-anchor": "end" }));
    columns.forEach((column, at) => {
      const value = cells[place][at];
      const shade = value === null ? { colour: "none", ink: "var(--soft)" } : sequential(high > low ? (value - low) / (high - low) : 0.5);
      parts.push(drawn("rect", { x: left + at * wide + 1, y: top + place * tall + 1, width: wide - 2, height: tall - 2, fill: shade.colour, rx: 3, stroke: value === null ? "var(--line)" : "none" }));
      if (wide > 38) {
        const label = text(left + (at + 0.5) * wide, top + (place + 0.5) * tall + 4, shortNumber(value), { "text-anchor": "middle" });
        label.style.fill = shade.ink;
        parts.push(label);
      }
      said.push(`${charts.keys[across]}=${column}, ${charts.keys[down]}=${row}: ${shortNumber(value)}`);
    });
  });
  byId("heat-panel").replaceChildren(picture(width, height, `${name} by ${charts.keys[across]} and ${charts.keys[down]}`, said.join("; "), ...parts));
}

function drawScatter(charts) {
  const [across, up] = ["x", "y"].map((name) => Number(byId(`scatter-${name}`).value));
  const names = charts.figures.map((figure) => figure.name), layout = charts.layout;
  const runs = charts.runs.filter((run) => run.values[across] !== null && run.values[up] !== null);
  const place = byId("scatter-panel");
  if (!runs.length) return place.replaceChildren(element("p", { class: "note" }, "No run has both scores."));
  const width = Math.max(260, Math.min(560, byId("scatter").clientWidth)), height = 340;
  const axes = frame(width, height, bounds(runs.map((run) => run.values[across])), bounds(runs.map((run) => run.values[up])), names[across], names[up]);
  const marks = runs.map((run) => {
    const series = layout.colours[run.row];
    const made = mark(MARKS[series % MARKS.length], axes.x(run.values[across]), axes.y(run.values[up]), 9, colourOf(charts, series), { "fill-opacity": 0.85 });
    made.append(drawn("title", {}, `${charts.rows[run.row].label}, seed ${run.seed}: ${shortNumber(run.values[across])}, ${shortNumber(run.values[up])}`));
    return made;
  });
  const rank = correlation(ranks(runs.map((run) => run.values[across])), ranks(runs.map((run) => run.values[up])));
  const told = rank === null ? "" : `Spearman's rank correlation over ${runs.length} runs: ${rank.toFixed(2)}.`;
  byId("scatter-correlation").textContent = told;
  const shown = picture(width, height, `${names[up]} against ${names[across]}`, `${runs.length} runs. ${told} The table of scores has the means.`, ...axes.parts, ...marks);
  place.replaceChildren(...[legend(charts), shown].filter((each) => each));
}

function ranks(values) {
  const order = values.map((value, place) => [value, place]).sort((one, other) => one[0] - other[0]);
  const found = new Array(values.length);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && order[end][0] === order[start][0]) end += 1;
    for (let at = start; at < end; at += 1) found[order[at][1]] = (start + end - 1) / 2;
    start = end;
  }
  return found;
}

function correlation(xs, ys) {
  const [middleX, middleY] = [mean(xs), mean(ys)];
  let both = 0, onlyX = 0, onlyY = 0;
  xs.forEach((x, place) => {
    both += (x - middleX) * (ys[place] - middleY);
    onlyX += (x - middleX) ** 2;
    onlyY += (ys[place] - middleY) ** 2;
  });
  return xs.length > 2 && onlyX && onlyY ? both / Math.sqrt(onlyX * onlyY) : null;
}

function drawParallel(charts) {
  const figure = Number(byId("parallel-figure").value), { name, direction } = charts.figures[figure];
  const rows = charts.rows.map((row, place) => ({ ...row, value: mean(charts.runs.filter((run) => run.row === place).map((run) => run.values[figure])) })).filter((row) => row.value !== null);
  const axes = [...charts.keys.map((key, place) => axis(key, rows.map((row) => row.settings[place]), 6, true)), axis(name, rows.map((row) => row.value), 2, false)];
  const full = byId("parallel").clientWidth, narrow = full < 110 * axes.length;
  const width = Math.max(260, Math.min(900, full)), height = narrow ? 70 * axes.length : 320;
  const low = Math.min(...rows.map((row) => row.value)), high = Math.max(...rows.map((row) => row.value));
  const best = rows.length ? rows.reduce((one, other) => ((direction === "lower" ? other.value < one.value : other.value > one.value) ? other : one)) : null;
  /* Wide pages: axes stand side by side. Narrow ones: they lie one below the other. */
  const at = (place, share) => narrow
    ? [16 + share * (width - 32), 34 + place * ((height - 60) / (axes.length - 1))]
    : [90 + place * ((width - 160) / (axes.length - 1)), height - 34 - share * (height - 78)];
  const parts = [];
  const ordered = [...rows].sort((one, other) => (one === best) - (other === best));
  for (const row of ordered) {
    const points = axes.map((each, place) => at(place, each.share(place < charts.keys.length ? row.settings[place] : row.value)).map((value) => value.toFixed(1)).join(" "));
    const share = high > low ? (row.value - low) / (high - low) : 0.5;
    const look = row === best ? { stroke: "var(--warn)", "stroke-width": 3.5 } : { stroke: "var(--accent)", "stroke-width": 1.6, "stroke-opacity": 0.2 + 0.7 * (direction === "lower" ? 1 - share : share) };
    parts.push(drawn("path", { d: `M${points.join("L")}`, fill: "none", ...look }, drawn("title", {}, `${row.label}: ${name} ${shortNumber(row.value)}`)));
  }
  axes.forEach((each, place) => {
    const [x1, y1] = at(place, 0), [x2, y2] = at(place, 1);
    parts.push(line(x1, y1, x2, y2, { stroke: "var(--soft)", "stroke-width": 1.2 }));
    parts.push(text(narrow ? 16 : x1, narrow ? y1 - 14 : (place % 2 ? 28 : 13), cut(each.name, narrow ? 40 : 24), { class: "halo", "text-anchor": narrow ? "start" : "middle", "font-weight": 600 }));
    const taken = [];
    /* The ends of the axis first; a label that would lie on another one is left out. */
    for (const [whole, share] of [...each.labels].sort((one, other) => Math.abs(other[1] - 0.5) - Math.abs(one[1] - 0.5))) {
      const [x, y] = at(place, share), label = cut(whole, 12);
      const isFirst = place === 0, beside = isFirst ? x - 6 : x + 6;
      const anchor = narrow ? (share < 0.1 ? "start" : share > 0.9 ? "end" : "middle") : isFirst ? "end" : "start";
      const size = narrow ? 7 * label.length : 13, from = narrow ? x - { start: 0, middle: size / 2, end: size }[anchor] : y;
      if (taken.some((other) => from < other[1] + 3 && from + size + 3 > other[0])) continue;
      taken.push([from, from + size]);
      parts.push(text(narrow ? x : beside, narrow ? y + 15 : y + 4, label, { class: "halo", "text-anchor": anchor }));
    }
  });
  const said = best ? `${rows.length} combinations of settings. The best is ${best.label} with ${name} ${shortNumber(best.value)}.` : "";
  byId("parallel-panel").replaceChildren(picture(width, height, `All settings and ${name}`, said, ...parts), element("p", { class: "caption" }, said));
}

/* An axis of the parallel plot: numbers by size (settings that span much by their logarithm), else each value once. */
function axis(name, values, most, mayBeLogarithmic) {
  const unique = [...new Set(values)];
  if (unique.every((value) => typeof value === "number") && unique.length > 1) {
    const low = Math.min(...unique), high = Math.max(...unique);
    const by = mayBeLogarithmic && low > 0 && high / low >= 30 ? Math.log : (value) => value;
    const share = (value) => (by(value) - by(low)) / (by(high) - by(low));
    const marked = unique.length <= most ? unique : [low, high, ...ticks(low, high, 3).filter((tick) => share(tick) > 0.12 && share(tick) < 0.88)];
    return { name, share, labels: marked.map((value) => [shortNumber(value), share(value)]) };
  }
  const share = (value) => (unique.length > 1 ? unique.indexOf(value) / (unique.length - 1) : 0.5);
  const every = Math.ceil(unique.length / 12);
  return { name, share, labels: unique.filter((_, place) => place % every === 0).map((value) => [String(value), share(value)]) };
}
