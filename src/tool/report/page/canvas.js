// ---- canvases
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
const slider = (id, words, canvas) => el('div', {class: 'chart', id, tabindex: 0, role: 'slider', 'aria-label': words, 'aria-valuemin': 0,
  'aria-valuemax': Math.max(0, runCount - 1), 'aria-valuenow': 0, 'aria-valuetext': 'none chosen'}, canvas);
const redraws = [];
const redraw = () => redraws.forEach(draw => draw());
let waiting = 0;
on(window, 'resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

// What stands behind a toggle, made when it is first opened.
const asTable = (caption, heads, rows, words) => {
  const details = el('details', {}, el('summary', {}, words || 'As a table'));
  on(details, 'toggle', () => {
    if (!details.open || details.childElementCount > 1) return;
    const body = rows();
    details.append(scroll(caption,
      el('table', {}, el('thead', {}, el('tr', {}, ...heads.map(head => el('th', {scope: 'col'}, head)))),
        el('tbody', {}, ...body.map(row => el('tr', {}, ...row.map(cell => el('td', {}, cell))))))));
  });
  return details;
};
const runLink = run => el('a', {href: linkOf(run), onclick: event => { event.preventDefault(); choose(run, true); }}, bdi(label(run)));
