// ---- pictures of one tensor
const histogramCanvas = t => {
  const mineAt = histOf.get(t), goldenAt = goldenHistOf.get(t);
  if (mineAt === undefined && goldenAt === undefined) return '';
  const side = (h, i, least, most) => i === undefined ? null : {log: h.scale[i] > 0, bins: h.bins.subarray(i * 48, i * 48 + 48), least, most, scale: h.scale[i]};
  const mine = side(hist, mineAt, at(tensors.min, t, NaN), at(tensors.max, t, NaN));
  const golden = side(goldenHist, goldenAt, at(tensors.golden_min, t, NaN), at(tensors.golden_max, t, NaN));
  const sides = [mine, golden].filter(Boolean), log = sides.some(s => s.log), scale = Math.max(...sides.map(s => s.scale));
  const place = v => log ? Math.asinh(v / scale) : v;
  const least = Math.min(...sides.map(s => place(s.least))), most = Math.max(...sides.map(s => place(s.most)));
  const edge = (s, k) => {
    if (!s.log) return s.least + (s.most - s.least) * k / 48;
    const a = Math.asinh(s.least / s.scale), b = Math.asinh(s.most / s.scale);
    return Math.sinh(a + (b - a) * k / 48) * s.scale;
  };
  const canvas = canvasOf(`Histogram of ${tensorLabel(t)}, from ${num(sides[0].least)} to ${num(sides[0].most)}, counts on a logarithmic scale` +
    (golden ? ', golden as a line' : ''), {style: 'width:100%'});
  const draw = () => {
    if (!canvas.isConnected) return;
    const [g, width] = sized(canvas, 86);
    const across = scaled(least, most, 2, width - 2), x = v => across(place(v));
    const y = c => 68 - c / 255 * 64;
    if (mine) {
      g.fillStyle = css('--mine');
      g.globalAlpha = 0.6;
      for (let k = 0; k < 48; ++k) if (mine.bins[k]) {
        const a = x(edge(mine, k)), b = x(edge(mine, k + 1));
        g.fillRect(a, y(mine.bins[k]), Math.max(1.5, b - a - 0.5), 68 - y(mine.bins[k]));
      }
      g.globalAlpha = 1;
    }
    if (golden) {
      g.strokeStyle = css('--golden');
      g.lineWidth = 2;
      g.beginPath();
      for (let k = 0; k < 48; ++k) {
        g.lineTo(x(edge(golden, k)), y(golden.bins[k]));
        g.lineTo(x(edge(golden, k + 1)), y(golden.bins[k]));
      }
      g.stroke();
    }
    const end = v => three(log ? Math.sinh(v) * scale : v);
    write(g, end(least), 2, 82, 'left', '--soft');
    write(g, end(most), width - 2, 82, 'right', '--soft');
    write(g, log ? 'steps of asinh' : golden ? 'bars mine, line golden' : '', width / 2, 82, 'center', '--soft');
  };
  opDraws.push(draw);
  return el('div', {}, canvas, asTable('Histogram', ['Of', 'From', 'To', 'Bar'], () => [[mine, 'mine'], [golden, 'golden']].filter(([s]) => s)
    .flatMap(([s, name]) => Array.from(s.bins, (count, k) => [name, three(edge(s, k)), three(edge(s, k + 1)), percent(count / 255, 0)])), 'Histogram as a table'));
};
// Where each picture's bytes and floats begin.
const pictureAt = [];
{
  let cell = 0, end = 0, pair = 0;
  for (let p = 0; p < (pictures.of || []).length; ++p) {
    const size = pictures.rows[p] * pictures.columns[p], is = pictures.pair[p];
    pictureAt.push({cell, end, pair, size});
    cell += is ? 3 * size : size;
    end += is ? 11 : 2;
    pair += is;
  }
}
// Of both signs: blue below zero, red above; else from the least to the greatest.
const DIVERGING = [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]];
const gridOf = (p, which) => {
  const {cell, end, size} = pictureAt[p], [low, high] = pictures.ends.subarray(end + 2 * which);
  return {size, rows: pictures.rows[p], cols: pictures.columns[p], low, high, share: i => {
    const v = pictures.cells[cell + which * size + i];
    return v === 255 ? NaN : v / 254;
  }};
};
const thumbnail = (p, which, name) => {
  const {size, rows, cols, low, high, share} = gridOf(p, which);
  if (!size) return '';
  const zoom = Math.max(1, Math.floor(128 / Math.max(rows, cols))), far = Math.max(-low, high);
  const colourOf = s => isNaN(s) ? [220, 0, 220] : low < 0 && high > 0 ? ramp(((low + (high - low) * s) / far + 1) / 2, DIVERGING) : ramp(s);
  return figure(raster(`${name}, ${rows} by ${cols} cells, from ${num(low)} to ${num(high)}`, cols, rows, zoom, i => [...colourOf(share(i)), 255]),
    name, el('br'), three(low) + ' \u2026 ' + three(high));
};
const cellRows = (p, which, name) => {
  const {size, rows, cols, low, high, share} = gridOf(p, which);
  return upTo(size ? rows : 0).map(r => [name, String(r), ...upTo(cols).map(c => three(low + (high - low) * share(r * cols + c)))]);
};
const figure = (picture, ...below) => el('figure', {}, picture, el('figcaption', {}, ...below));
// A small picture that is drawn again when colours change.
const painted = (width, height, name, below, paint) => {
  const canvas = canvasOf(name, {width, height});
  const draw = () => {
    const g = canvas.getContext('2d');
    g.clearRect(0, 0, width, height);
    paint(g);
  };
  draw();
  opDraws.push(draw);
  return figure(canvas, ...below);
};
const errorBars = (bins, name, below, middle) => painted(144, 96, name, below, g => {
  g.fillStyle = css('--mine');
  bins.forEach((count, k) => g.fillRect(k * 3, 96 - count / 255 * 94, 2.5, count / 255 * 94));
  g.fillStyle = css('--culprit');
  if (middle) g.fillRect(71.5, 0, 1, 96);
});
const quantilePlot = (mine, golden) => {
  const low = Math.min(mine[0], golden[0]), high = Math.max(mine[32], golden[32]);
  const place = scaled(low, high, 6, 90);
  return painted(96, 96, `Quantiles of mine by those of golden, from ${num(low)} to ${num(high)}`,
    ['quantiles: mine \u2191', el('br'), 'by golden \u2192'], g => {
      g.strokeStyle = css('--soft');
      segment(g, 4, 92, 92, 4);
      g.fillStyle = css('--mine');
      mine.forEach((v, i) => dot(g, place(golden[i]), 96 - place(v), 2));
    });
};
const pairOf = p => {
  const {end, pair} = pictureAt[p], [farthest, m0, m1, e0, e1] = pictures.ends.subarray(end + 6);
  const part = (list, size, k) => list.subarray(k * size, (k + 1) * size);
  return {farthest, m0, m1, e0, e1, signed: part(pictures.errors, 48, pair), absolute: part(pictures.absolute, 48, pair),
    scatter: part(pictures.scatter, 576, pair), mine: part(pictures.quantiles, 33, 2 * pair), golden: part(pictures.quantiles, 33, 2 * pair + 1)};
};
const errorPictures = p => {
  const {farthest, m0, m1, e0, e1, signed, absolute, scatter, mine, golden} = pairOf(p);
  if (!farthest) return [quantilePlot(mine, golden)];
  // The first row of the data is the lowest.
  const many = i => scatter[(23 - (i / 24 | 0)) * 24 + i % 24];
  const spread = raster(`Error by magnitude of golden: magnitudes 1e${num(m0)} to 1e${num(m1)}, errors 1e${num(e0)} to 1e${num(e1)}`, 24, 24, 5,
    i => many(i) ? [...ramp(0.15 + 0.85 * many(i) / 255), 255] : [128, 128, 128, 40]);
  return [quantilePlot(mine, golden),
    errorBars(signed, `Histogram of mine minus golden, from ${num(-farthest)} to ${num(farthest)}`, ['mine \u2212 golden', el('br'), '\u00b1' + three(farthest)], true),
    errorBars(absolute, `Histogram of the error, from 1e${num(e0)} to 1e${num(e1)}`, ['|error|, logarithmic', el('br'), three(10 ** e0) + ' \u2026 ' + three(10 ** e1)]),
    figure(spread, '|error| \u2191 by |golden| \u2192', el('br'), 'both logarithmic')];
};
const pictureTables = p => {
  const names = pictures.pair[p] ? ['mine', 'golden', '|error|'] : ['mine'];
  const all = el('div', {}, asTable('Cells of the pictures', ['Of', 'Row', ...upTo(pictures.columns[p]).map(String)],
    () => names.flatMap((name, which) => cellRows(p, which, name)), 'Pictures as a table'));
  if (!pictures.pair[p]) return all;
  const {farthest, e0, e1, signed, absolute, mine, golden} = pairOf(p);
  all.append(asTable('Quantiles', ['Share', 'mine', 'golden'], () => Array.from(mine, (v, i) => [percent(i / 32, 1), num(v), num(golden[i])]), 'Quantiles as a table'),
    asTable('Errors', ['mine \u2212 golden from', 'bar', '|error| from', 'bar'], () => Array.from(signed, (count, k) => [three(farthest * (k / 24 - 1)),
      percent(count / 255, 0), three(10 ** (e0 + (e1 - e0) * k / 48)), percent(absolute[k] / 255, 0)]), 'Errors as a table'));
  return all;
};
const sparkline = (list, now, name) => {
  const known = list.filter(Number.isFinite);
  if (known.length < 2) return '';
  const low = Math.min(...known), high = Math.max(...known);
  const x = i => 3 + i * 144 / Math.max(1, list.length - 1), y = scaled(low, high, 27, 3);
  const points = list.map((v, i) => Number.isFinite(v) ? `${x(i).toFixed(1)},${y(v).toFixed(1)}` : '').filter(Boolean).join(' ');
  return svg('svg', {viewBox: '0 0 150 30', width: 150, height: 30, role: 'img', 'aria-label': `${name} over ${list.length} steps, from ${num(low)} to ${num(high)}`},
    svg('polyline', {points, fill: 'none', stroke: 'var(--mine)', 'stroke-width': 1.5}),
    ...(Number.isFinite(list[now]) ? [svg('circle', {cx: x(now), cy: y(list[now]), r: 3, fill: 'var(--culprit)'})] : []));
};
