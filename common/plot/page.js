// Values under the pointer.  A figure carries its table, each plot the places of its rows.
'use strict';
(function () {
  const root = document.documentElement;
  window.addEventListener('error', function (event) { root.dataset.error = event.message; });
  const svgNames = 'http://www.w3.org/2000/svg';
  function nearest(xs, x) {
    let best = 0;
    for (let i = 1; i < xs.length; ++i) {
      if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    }
    return best;
  }
  function fill(tip, names, cells) {
    tip.textContent = '';
    const head = document.createElement('b');
    head.textContent = cells[0];
    tip.append(head);
    for (let i = 1; i < names.length; ++i) {
      const line = document.createElement('span');
      const value = document.createElement('span');
      line.textContent = names[i];
      value.textContent = cells[i];
      line.append(value);
      tip.append(line);
    }
  }
  function follow(figure, plot) {
    const rows = figure.dataset.hover.split('\n').map(function (row) { return row.split('\t'); });
    const xs = plot.dataset.xs.split(' ').map(Number);
    const tip = figure.querySelector('.tip');
    const cursor = document.createElementNS(svgNames, 'path');
    cursor.setAttribute('class', 'cursor');
    plot.append(cursor);
    function hide() { tip.style.display = 'none'; cursor.removeAttribute('d'); }
    plot.addEventListener('pointerleave', hide);
    plot.addEventListener('pointermove', function (event) {
      const box = plot.getBoundingClientRect();
      const scale = plot.viewBox.baseVal.width / box.width;
      const at = nearest(xs, (event.clientX - box.left) * scale);
      cursor.setAttribute('d', 'M' + xs[at] + ' ' + plot.dataset.top + 'V' + plot.dataset.bottom);
      fill(tip, rows[0], rows[at + 1]);
      tip.style.display = 'block';
      const outer = figure.getBoundingClientRect();
      const x = box.left - outer.left + xs[at] / scale;
      const room = outer.width - tip.offsetWidth - 8;
      tip.style.left = Math.max(8, x + 12 > room ? Math.min(x - 12 - tip.offsetWidth, room)
                                                 : x + 12) + 'px';
      tip.style.top = (box.top - outer.top + 34) + 'px';
    });
  }
  let plots = 0;
  for (const figure of document.querySelectorAll('figure[data-hover]')) {
    for (const plot of figure.querySelectorAll('svg[data-xs]')) {
      follow(figure, plot);
      ++plots;
    }
  }
  root.dataset.script = 'ready ' + plots;
})();
