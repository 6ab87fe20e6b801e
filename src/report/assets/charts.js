"use strict";
// Crosshair and values under the pointer. The charts are complete without it.
(() => {
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

  const time = (s) => {
    if (s < 120) return number.format(s) + " s";
    const whole = Math.round(s);
    const two = (n) => String(n).padStart(2, "0");
    if (whole < 3600) return Math.floor(whole / 60) + " min " + two(whole % 60) + " s";
    return Math.floor(whole / 3600) + " h " + two(Math.floor((whole % 3600) / 60)) + " min";
  };

  const parse = (path) =>
    path
      .getAttribute("d")
      .split(/[M ]/)
      .filter(Boolean)
      .map((pair) => pair.split(",").map(parseFloat));

  const nearest = (points, x) => {
    let low = 0;
    let high = points.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < x) low = middle;
      else high = middle;
    }
    return x - points[low][0] < points[high][0] - x ? points[low] : points[high];
  };

  const element = (parent, tag, className) => {
    const made = document.createElement(tag);
    made.className = className;
    parent.append(made);
    return made;
  };

  for (const group of document.querySelectorAll(".charts")) {
    const charts = [...group.querySelectorAll(".chart[data-t1]")].map((figure) => ({
      end: Number(figure.dataset.t1),
      low: Number(figure.dataset.y0),
      high: Number(figure.dataset.y1),
      unit: figure.dataset.unit,
      plot: figure.querySelector(".plot"),
      frame: figure.querySelector(".frame"),
      lines: [...figure.querySelectorAll("path.s")],
      points: null,
      cross: null,
    }));

    const clear = () => {
      for (const chart of charts) {
        chart.cross?.remove();
        chart.tip?.remove();
        chart.cross = chart.tip = null;
      }
    };

    const move = (active, event) => {
      const box = active.frame.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      if (share < 0 || share > 1) return clear();
      const seconds = share * active.end;
      for (const chart of charts) {
        if (seconds > chart.end) continue;
        const frame = chart.frame.getBoundingClientRect();
        const plot = chart.plot.getBoundingClientRect();
        chart.cross ??= element(chart.plot, "div", "cross");
        const at = frame.left - plot.left + (seconds / chart.end) * frame.width;
        chart.cross.style.left = at + "px";
        if (chart !== active) {
          chart.tip?.remove();
          chart.tip = null;
          continue;
        }
        chart.tip ??= element(chart.plot, "div", "tip");
        chart.points ??= chart.lines.map(parse);
        chart.tip.replaceChildren();
        element(chart.tip, "b", "").textContent = time(seconds);
        chart.lines.forEach((line, i) => {
          const point = nearest(chart.points[i], share * 1000);
          if (!point || Math.abs(point[0] - share * 1000) > 40) return;
          const value = chart.high - (point[1] / 1000) * (chart.high - chart.low);
          const row = element(chart.tip, "span", "");
          const name = element(row, "span", "name");
          element(name, "i", line.getAttribute("class"));
          name.append(line.dataset.label);
          element(row, "span", "").textContent = number.format(value) + " " + chart.unit;
        });
        const width = chart.tip.offsetWidth;
        const left = at + 12 + width > plot.width ? at - width - 12 : at + 12;
        chart.tip.style.left = Math.max(0, left) + "px";
      }
    };

    for (const chart of charts) {
      chart.plot.addEventListener("pointermove", (event) => move(chart, event));
      chart.plot.addEventListener("pointerleave", clear);
    }
  }
})();
