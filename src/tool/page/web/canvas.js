// ---- canvases
const canvasOf = (name, attributes) => el('canvas', {role: 'img', 'aria-label': name, ...attributes});
const sized = (canvas, height) => {
  const width = Math.max(50, canvas.clientWidth), scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + 'px';
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  g.clearRect(0, 0, width, height);
  g.font = '11px system-ui, sans-serif';
  return [g, width];
};
const segment = (g, ...xy) => { g.beginPath(); g.moveTo(xy[0], xy[1]); g.lineTo(xy[2], xy[3]); g.stroke(); };
const dot = (g, x, y, radius) => { g.beginPath(); g.arc(x, y, radius, 0, 7); g.fill(); };
const write = (g, words, x, y, align, colour) => {
  g.textAlign = align;
  g.fillStyle = css(colour);
  g.fillText(words, x, y);
};
// A picture of cells, as many pixels wide as it has columns.
const raster = (name, cols, rows, zoom, colourOf) => {
  const canvas = canvasOf(name, {width: cols, height: rows, style: `width:${cols * zoom}px;height:${rows * zoom}px`});
  const g = canvas.getContext('2d'), image = g.createImageData(cols, rows);
  for (let i = 0; i < cols * rows; ++i) image.data.set(colourOf(i), i * 4);
  g.putImageData(image, 0, 0);
  return canvas;
};
const redraws = [];
// A canvas over all runs that says which one is chosen.
const slider = (id, words, canvas, value, draw) => {
  const strip = el('div', {class: 'chart', id, tabindex: 0, role: 'slider', 'aria-label': words, 'aria-valuemin': 0,
    'aria-valuemax': Math.max(0, runCount - 1), 'aria-valuenow': 0, 'aria-valuetext': 'none chosen'}, canvas);
  redraws.push(draw);
  watchers.push(() => {
    strip.setAttribute('aria-valuenow', chosen);
    strip.setAttribute('aria-valuetext', label(chosen) + ', ' + value(chosen));
    draw();
  });
  on(strip, 'keydown', event => {
    if (event.key !== 'Enter') return;
    choose(Math.max(0, chosen), true);
    event.preventDefault();
  });
  return strip;
};
const redraw = () => redraws.forEach(draw => draw());
// At the next frame, however often it is asked for until then.
const soon = draw => {
  let frame = 0;
  return () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(draw); };
};
on(window, 'resize', soon(redraw));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

// What stands behind a toggle, made when it is first opened.
const folded = (words, make) => {
  const details = el('details', {}, el('summary', {}, words));
  on(details, 'toggle', () => { if (details.open && details.childElementCount === 1) details.append(make()); });
  return details;
};
const asTable = (caption, heads, rows, words) => folded(words || 'As a table', () => scroll(caption,
  el('table', {}, el('thead', {}, el('tr', {}, ...heads.map(head => el('th', {scope: 'col'}, head)))),
    el('tbody', {}, ...rows().map(row => el('tr', {}, ...row.map(cell => el('td', {}, cell))))))));
const runLink = run => el('a', {href: linkOf(run), 'data-run': run}, bdi(label(run)));
