"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const root = document.documentElement;

  // The slider: one task at a time, in every figure that has tasks.
  const slider = document.getElementById("task");
  const tasks = Math.max(0, ...data.shown.map((run) => data.runs[run].tasks.length));
  const show = (task) => {
    for (const part of document.querySelectorAll("main [data-task]")) {
      part.hidden = Number(part.dataset.task) !== task;
    }
    const borders = data.shown.map((run) => data.runs[run].tasks[task - 1]).find(Boolean)?.borders;
    const said = `${task} of ${tasks}` + (borders ? ` · ${borders[1]} classes have come` : "");
    document.getElementById("task-name").textContent = said;
    slider.setAttribute("aria-valuetext", said);
    tip.hidden = true;
  };
  if (tasks > 0) {
    slider.max = tasks;
    slider.value = tasks;
    slider.addEventListener("input", () => show(Number(slider.value)));
    document.getElementById("slider").hidden = tasks < 2;
    show(tasks);
  }

  // What a part of a figure says where one points at it.
  const columnOf = (element) => {
    const column = element.closest(".column");
    return column ? [...column.parentElement.children].indexOf(column) : 0;
  };
  const says = (element) => {
    if (element.dataset.tip) return element.dataset.tip;
    const figure = element.closest("figure");
    const run = data.runs[data.shown[columnOf(element)]];
    const task = figure && run && run.tasks[Number(figure.dataset.task) - 1];
    if (!task) return "";
    if (element.dataset.cell) {
      const [shown, answered] = element.dataset.cell.split(",").map(Number);
      const row = task.confusion[shown];
      const all = row.reduce((sum, count) => sum + count, 0);
      return shown === answered
        ? `${run.classes[shown]}: ${row[answered]} of ${all} right`
        : `${run.classes[shown]} taken for ${run.classes[answered]}: ${row[answered]} of ${all}`;
    }
    if (element.dataset.ghost) return `ghost of ${run.classes[Number(element.dataset.ghost)]}`;
    const [shown, answered] = task.points[Number(element.dataset.point)];
    const time = shown < task.borders[0] ? "past" : shown < task.borders[1] ? "present" : "not yet come";
    const answer = shown === answered ? "answered right" : `answered ${run.classes[answered]}`;
    return `${run.classes[shown]} (${time}), ${answer}`;
  };
  const point = (event) => {
    const element = event.target.closest?.("[data-tip],[data-cell],[data-point],[data-ghost]");
    const text = element ? says(element) : "";
    tip.hidden = text === "";
    if (tip.hidden) return;
    tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${event.clientY > height + 20 ? event.clientY - height - 10 : event.clientY + 18}px`;
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // By day and by night.
  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  name();

  // Saving figures and numbers.
  const save = (blob, file) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const csv = (rows) => {
    const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return new Blob([rows.map((row) => row.map((value) => cell(String(value))).join(",")).join("\n") + "\n"], { type: "text/csv" });
  };
  const svgOf = (figure) => {
    const svg = figure.querySelector("svg").cloneNode(true);
    const { width, height } = svg.viewBox.baseVal;
    const day = Object.fromEntries(data.day.split(";").filter(Boolean).map((pair) => pair.split(":")));
    const style = document.createElementNS(svg.namespaceURI, "style");
    style.textContent = document.getElementById("figure-style").textContent.replace(/var\((--[a-z0-9-]+)\)/g, (_, key) => day[key]);
    const ground = document.createElementNS(svg.namespaceURI, "rect");
    for (const [key, value] of [["width", width], ["height", height], ["fill", day["--page"]]]) ground.setAttribute(key, value);
    svg.prepend(style, ground);
    svg.removeAttribute("style");
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    return { text: new XMLSerializer().serializeToString(svg), width, height };
  };
  const savePng = (figure, file) => {
    const { text, width, height } = svgOf(figure);
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * width, 2 * height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, file), "image/png");
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-save]");
    if (!button) return;
    const figure = button.closest("figure");
    const file = `${figure.dataset.name}.${button.dataset.save}`;
    if (button.dataset.save === "svg") save(new Blob([svgOf(figure).text], { type: "image/svg+xml" }), file);
    if (button.dataset.save === "png") savePng(figure, file);
    if (button.dataset.save === "csv") {
      const rows = [...figure.querySelectorAll("table tr")];
      save(csv(rows.map((row) => [...row.cells].map((cell) => cell.textContent))), file);
    }
  });
  document.getElementById("numbers").addEventListener("click", () => {
    const rows = [["kind", "folder", "seed", "task", "metric", "value", "stamp"]];
    for (const run of data.runs) {
      run.tasks.forEach((task, index) => {
        for (const [metric, value] of Object.entries(task.metrics)) {
          rows.push([run.kind, run.folder, run.seed, index + 1, metric, value, run.stamp ?? ""]);
        }
      });
    }
    save(csv(rows), "numbers.csv");
  });
})();
