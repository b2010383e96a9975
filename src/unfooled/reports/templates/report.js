"use strict";
// The page works without this script; with it tables sort, charts answer and examples can be searched.
// Text from data only ever becomes a text node or an attribute of a chart's drawing.
(function () {
  const root = document.documentElement;

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  function data(id) {
    const block = document.getElementById(id);
    return block ? JSON.parse(block.textContent) : null;
  }

  // Light or dark.
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const theme = make("button", { type: "button", class: "theme" });
  function nameTheme() {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    root.style.colorScheme = root.dataset.theme;
    nameTheme();
    drawCharts();
  });
  dark.addEventListener("change", () => { nameTheme(); drawCharts(); });
  document.querySelector(".top").append(theme);
  nameTheme();

  // Tables: a click on a heading sorts, numbers from the largest.
  function sortBy(table, column, direction) {
    const heads = [...table.tHead.rows[0].cells];
    const numeric = heads[column].classList.contains("number");
    const rows = [...table.tBodies[0].rows];
    const key = (row) => row.cells[column].dataset.value;
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = numeric ? Number(x) - Number(y) : x.localeCompare(y, undefined, { numeric: true });
      return direction === "descending" ? -order : order;
    });
    table.tBodies[0].append(...rows);
    heads.forEach((head, number) => head.setAttribute("aria-sort", number === column ? direction : "none"));
  }
  for (const table of document.querySelectorAll("table[data-table]")) {
    if (table.tBodies[0].rows.length < 2) continue;
    const heads = [...table.tHead.rows[0].cells];
    const pick = make("select", {}, make("option", { value: "" }, "as listed"));
    heads.forEach((head, number) => {
      const title = head.textContent;
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const other = first === "descending" ? "ascending" : "descending";
      const button = make("button", { type: "button" }, title);
      button.addEventListener("click", () =>
        sortBy(table, number, head.getAttribute("aria-sort") === first ? other : first));
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      pick.append(make("option", { value: `${number} ${first}` }, title));
    });
    pick.addEventListener("change", () => {
      const [column, direction] = pick.value.split(" ");
      if (direction) sortBy(table, Number(column), direction);
    });
    table.parentElement.before(make("label", { class: "sorter" }, "Sort by ", pick));
  }

  // Charts: the specifications carry no colours; they are taken from the style sheet.
  const charts = data("charts-data") || {};
  function drawCharts() {
    if (typeof window.vegaEmbed !== "function") return;
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const text = { labelColor: colour("soft"), titleColor: colour("soft"), labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: 400, labelFont: "system-ui, sans-serif", titleFont: "system-ui, sans-serif" };
    const config = {
      background: "transparent",
      view: { stroke: null },
      axisX: { tickCount: 6, labelFlush: false, labelOverlap: true },
      axis: { ...text, gridColor: colour("line"), domainColor: colour("line"), tickColor: colour("line") },
      legend: { ...text, labelColor: colour("ink") },
    };
    for (const [id, chart] of Object.entries(charts)) {
      const place = document.getElementById(id);
      if (!place || place.dataset.failed) continue;
      const names = Object.keys(chart.slots);
      const range = names.map((name) => colour(`s${chart.slots[name]}`));
      const spec = JSON.parse(JSON.stringify(chart.spec));
      for (const layer of spec.layer) {
        if (layer.encoding.color) layer.encoding.color.scale = { domain: names, range };
        if (layer.encoding.shape) layer.encoding.shape.scale = { domain: names };
        if (layer.encoding.y.axis && layer.encoding.y.type === "nominal")
          layer.encoding.y.axis.labelLimit = place.clientWidth * 0.45;
      }
      spec.config = config;
      const drawn = make("div", {});
      const before = [...place.childNodes];
      place.replaceChildren(drawn);
      window.vegaEmbed(drawn, spec, { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: id, tooltip: { theme: isDark() ? "dark" : "light" } })
        .catch((error) => {
          place.dataset.failed = "true";
          place.replaceChildren(...before);
          console.error(error);
        });
    }
  }
  drawCharts();

  // Examples.
  const found = data("examples-data");
  const browser = document.getElementById("browser");
  if (found && browser) browse(found, browser);

  function browse(all, place) {
    const PAGE = window.innerWidth < 640 ? 5 : 10;
    const GOOD = ["held", "certified", "right"];
    const BAD = ["fooled", "once", "certified-wrong", "wrong"];
    let page = 0;
    const option = (value, title) => make("option", { value }, title);
    const choice = (title, options) => {
      const select = make("select", {}, option("", "all"), ...options);
      select.addEventListener("change", () => { page = 0; update(); });
      return [make("label", {}, title, select), select];
    };
    const [modelLabel, model] = choice("Model", all.models.map((name, n) => option(String(n), name)));
    const [wayLabel, way] = choice("Attack or certificate", all.ways.map((name) => option(name, name)));
    const [outcomeLabel, outcome] = choice("Outcome", Object.entries(all.outcomes).map(([k, v]) => option(k, v)));
    const search = make("input", { type: "search", placeholder: all.thing === "text" ? "words in the text" : "words of the entry" });
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { page = 0; update(); }, 150);
    });
    const count = make("p", { class: "count", role: "status" });
    const list = make("ol", { class: "samples" });
    const back = make("button", { type: "button" }, "Previous");
    const next = make("button", { type: "button" }, "Next");
    back.addEventListener("click", () => { page -= 1; update(); place.scrollIntoView(); });
    next.addEventListener("click", () => { page += 1; update(); place.scrollIntoView(); });
    place.replaceChildren(
      make("div", { class: "tools" }, make("label", {}, "Search", search), modelLabel, wayLabel, outcomeLabel, count),
      list,
      make("div", { class: "tools" }, back, next),
    );
    const haystacks = all.items.map((item) => [item.text.join(" "), ...item.records.flatMap((record) =>
      (record.edits || []).map((edit) => edit[3]))].join(" ").toLowerCase());

    function matching() {
      const words = search.value.toLowerCase().trim();
      const items = [];
      all.items.forEach((item, number) => {
        if (words && !haystacks[number].includes(words)) return;
        const records = item.records.filter((record) =>
          (model.value === "" || record.model === Number(model.value)) &&
          (way.value === "" || record.way === way.value) &&
          (outcome.value === "" || record.outcome === outcome.value));
        if (records.length) items.push([item, records]);
      });
      return items;
    }

    function update() {
      const items = matching();
      const pages = Math.max(1, Math.ceil(items.length / PAGE));
      page = Math.min(Math.max(0, page), pages - 1);
      const plural = items.length === 1 ? all.thing : `${all.thing}s`;
      count.textContent = `${items.length.toLocaleString("en")} ${plural}, page ${page + 1} of ${pages}`;
      back.disabled = page === 0;
      next.disabled = page >= pages - 1;
      list.replaceChildren(...items.slice(page * PAGE, (page + 1) * PAGE).map(([item, records]) => shown(item, records)));
    }

    // Places count characters as people do, not UTF-16 units.
    function marked(text, spans) {
      const characters = Array.from(text);
      const parts = [];
      let position = 0;
      for (const [start, end, tag, after] of spans) {
        if (start < position || end > characters.length) continue;
        parts.push(characters.slice(position, start).join(""));
        const old = characters.slice(start, end).join("");
        if (tag === "mark") parts.push(make("mark", after ? { class: after } : {}, old));
        else {
          if (old) parts.push(make("del", {}, old));
          if (old && after) parts.push(" ");
          if (after) parts.push(make("ins", {}, after));
        }
        position = end;
      }
      parts.push(characters.slice(position).join(""));
      return parts;
    }

    function shown(item, records) {
      const node = make("li", {});
      item.text.forEach((text, which) => {
        const right = (item.right || []).filter((span) => span[0] === which).map((span) => [span[1], span[2], "mark", "right"]);
        node.append(make("blockquote", { dir: "auto" }, ...marked(text, right)));
      });
      const facts = [item.truth === null ? null : `Truth: ${item.truth}`, item.row === null ? null : `row ${item.row}`,
        item.cut ? "only its beginning is shown" : null];
      node.append(make("p", { class: "note" }, facts.filter(Boolean).join(" · ")));
      records.forEach((record) => node.append(told(item, record)));
      return node;
    }

    function told(item, record) {
      const mood = GOOD.includes(record.outcome) ? " good" : BAD.includes(record.outcome) ? " bad" : "";
      const node = make("div", { class: `record${mood}` });
      let state = all.outcomes[record.outcome];
      if (record.obstinate && record.outcome === "fooled") state = "ignored the change of meaning";
      if (record.obstinate && record.outcome === "held") state = "reacted to the change of meaning";
      const line = make("p", {}, make("span", { class: "state" }, state), ` · ${all.models[record.model]} · ${record.way}`);
      if (record.before !== undefined && record.before !== null) {
        const turned = record.after && record.after !== record.before ? ` became ${record.after}` : "";
        line.append(` · answer ${record.before}${turned}`);
      }
      node.append(line);
      const facts = [];
      if (record.fresh) facts.push(`${record.fresh[0]} of ${record.fresh[1]} fresh predictions confirm it`);
      if (record.queries) facts.push(`${record.queries.toLocaleString("en")} queries`);
      if (record.forwards) facts.push(`${record.forwards.toLocaleString("en")} forwards`);
      if (record.similarity !== undefined) facts.push(`similarity ${record.similarity}`);
      (record.votes || []).forEach((stage, number) => facts.push(
        `${record.votes.length > 1 ? `vote ${number + 1}` : "votes"}: ` +
        Object.entries(stage).map(([label, votes]) => `${votes.toLocaleString("en")} ${label}`).join(", ")));
      if (record.antonyms) facts.push("provably ignores " + record.antonyms.map(([a, b]) => `${a} → ${b}`).join(", "));
      if (record.message) facts.push(record.message);
      if (record.sentence) node.append(make("p", {}, record.sentence));
      if (facts.length) node.append(make("p", { class: "note" }, facts.join(" · ")));
      if (record.pieces) node.append(make("blockquote", { dir: "auto" }, ...record.pieces.map(([text, classes]) =>
        classes === "del" ? make("del", {}, text) : classes ? make("mark", { class: classes }, text) : text)));
      item.text.forEach((text, which) => {
        const edits = (record.edits || []).filter((edit) => edit[0] === which).map((edit) => [edit[1], edit[2], "ins", edit[3]]);
        const masked = (record.masked || []).filter((span) => span[0] === which).map((span) => [span[1], span[2], "mark"]);
        const spans = edits.length ? edits : masked;
        if (spans.length) node.append(make("blockquote", { dir: "auto" }, ...marked(text, spans)));
      });
      return node;
    }
    update();
  }
})();
