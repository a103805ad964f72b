// ---- heat strip: operators by places
const previous = run => {
  const all = runsOfOp.get(runs.op[run]);
  return all[all.indexOf(run) - 1];
};
const mainTensor = run => {
  const own = tensorsOf(run);
  return own.find(t => tensors.role[t]) ?? own[0];
};
const change = run => {
  const before = previous(run);
  if (before === undefined) return NaN;
  const a = mainTensor(before), b = mainTensor(run);
  if (a === undefined || b === undefined || !tensors.mean) return NaN;
  const scale = Math.max(at(tensors.std, a, 0), at(tensors.std, b, 0), 1e-30);
  return Math.abs(tensors.mean[b] - tensors.mean[a]) / scale;
};
const tint = (v, least, most) => v === Infinity ? [200, 20, 60] : v === -Infinity ? RAMP[0] : ramp(scaled(least, most, 0, 1)(v));
const duration = run => runs.time && run > 0 && placeAt(run) === placeAt(run - 1) ?
  Math.max(0, runs.time[run] - runs.time[run - 1]) : NaN;
const MEASURES = [
  ['error', 'Error against golden', known('error'), true, 'error'],
  ['cosine', '1 - cosine', run => 1 - at(runs.cosine, run, NaN), true, 'cosine'],
  ['isolated', 'Isolated error', known('isolated'), true, 'isolated'],
  ['expected', 'Error by the expected one', known('by_expected'), true, 'by_expected'],
  ['nonfinite', 'NaN and Inf', known('nonfinite', 0), true, ''],
  ['peak', 'Greatest |x|', known('peak'), true, 'peak'],
  ['saturated', 'Share at the ends of integers', known('saturated'), false, 'saturated'],
  ['zeros', 'Share of zeros', known('zeros'), false, 'zeros'],
  ['change', 'Change against the step before', change, true, ''],
  ['bytes', 'Bytes', known('bytes'), true, ''],
  ['time', 'Microseconds since the record before', duration, true, 'time'],
].filter(m => (!m[4] || runs[m[4]]) && (m[0] !== 'change' || places.length > 1));

// The colour of a run by the measure of the map.
let shade = () => 'none';

// The operators that the map and the error strip show, above each other, behind a margin for numbers.
const MARGIN = 46;
let shownOps = [0, opCount];

const makeMap = () => {
  const odd = compared || !runs.peak || (runs.nonfinite || []).some(count => count);
  let measure = odd ? MEASURES[0] : MEASURES.find(m => m[0] === 'peak');
  let [from, to] = shownOps;
  const canvas = canvasOf('');
  const range = el('span', {class: 'soft'});
  const pick = choices({'aria-label': 'Measure of the map'}, ...MEASURES);
  pick.value = measure[0];
  const legend = el('p', {class: 'legend'});
  const values = () => {
    const list = new Float64Array(runCount);
    let least = Infinity, most = -Infinity;
    for (let run = 0; run < runCount; ++run) {
      let v = measure[2](run);
      if (measure[3] && v > 0) v = Math.log10(v); else if (measure[3] && v <= 0) v = -Infinity;
      list[run] = v;
      if (Number.isFinite(v)) { least = Math.min(least, v); most = Math.max(most, v); }
    }
    // Less than two powers of ten are no great difference.
    if (measure[3] && least <= most) least = Math.min(least, most - 2);
    return [list, least, most];
  };
  const height = Math.max(34, Math.min(260, places.length * 14));
  const draw = () => {
    const [g, width] = sized(canvas, height);
    const [list, least, most] = values();
    shade = run => isNaN(list[run]) ? 'none' : rgb(tint(list[run], least, most));
    const dpr = window.devicePixelRatio || 1, w = Math.round(width * dpr), h = Math.round(height * dpr);
    const image = g.createImageData(w, h), cell = new Float64Array(w * h).fill(NaN), seen = new Uint8Array(w * h);
    const rows = places.length, span = to - from;
    // Where several operators share a column, the greatest value stays.
    for (let run = 0; run < runCount; ++run) {
      const op = runs.op[run];
      if (op < from || op >= to) continue;
      const x0 = Math.floor((op - from) * w / span), x1 = Math.max(x0 + 1, Math.floor((op - from + 1) * w / span));
      const row = placeAt(run), y0 = Math.floor(row * h / rows), y1 = Math.max(y0 + 1, Math.floor((row + 1) * h / rows));
      const v = list[run], gap = x1 - x0 > 3 * dpr ? Math.ceil(dpr) : 0, below = y1 - y0 > 6 * dpr && rows > 1 ? y1 - Math.ceil(dpr) : y1;
      for (let x = x0; x < Math.min(x1, w); ++x) for (let y = y0; y < Math.min(y1, h); ++y) {
        const i = y * w + x;
        seen[i] = x < x1 - gap && y < below ? 1 : 2;
        if (!(cell[i] >= v) && !isNaN(v)) cell[i] = v;
      }
    }
    const hatch = Math.max(3, Math.round(4 * dpr));
    const [none, soft, card] = ['--none', '--soft', '--card'].map(name => css(name).match(/\w\w/g).map(x => parseInt(x, 16)));
    for (let i = 0; i < w * h; ++i) {
      const v = cell[i], x = i % w, y = i / w | 0;
      const c = seen[i] === 2 ? card : !seen[i] ? ((x + y) % (2 * hatch) === 0 ? soft : none) :
        isNaN(v) ? none : tint(v, least, most);
      image.data.set([c[0], c[1], c[2], 255], i * 4);
    }
    g.putImageData(image, 0, 0);
    if (chosen >= 0 && runs.op[chosen] >= from && runs.op[chosen] < to) {
      const x = (runs.op[chosen] - from) * width / span, y = placeAt(chosen) * height / rows;
      g.strokeStyle = css('--ink');
      g.lineWidth = 2;
      g.strokeRect(x - 1, y + 1, Math.max(5, width / span) + 1, Math.max(5, height / rows) - 2);
    }
    const end = v => three(measure[3] ? 10 ** v : v);
    canvas.setAttribute('aria-label', `${measure[1]} of ${opCount} operators at ${places.length} ` +
      (places.length === 1 ? 'moment' : 'moments') + (most >= least ? `, from ${end(least)} to ${end(most)}` : ''));
    legend.replaceChildren(...(most >= least ? [el('span', {}, end(least), rampBar(), end(most))] : []),
      el('span', {}, 'Hatched: not there.'), el('span', {}, 'Dragging selects operators; arrow keys move, Enter opens, + and - or Ctrl and the wheel zoom.'));
    range.textContent = span < opCount ? `operators ${from} to ${to - 1} of ${opCount}` : '';
  };
  const rangeChanged = () => { shownOps = [from, to]; redraw(); };
  const zoom = (factor, centre) => {
    const span = Math.max(Math.min(10, opCount), Math.min(opCount, Math.round((to - from) * factor)));
    from = Math.round(clamp(centre - span * (centre - from) / (to - from), opCount - span));
    to = from + span;
    rangeChanged();
  };
  const spot = event => {
    const box = canvas.getBoundingClientRect();
    return [Math.min(opCount - 1, Math.floor(from + (event.clientX - box.left) / box.width * (to - from))),
      clamp(Math.floor((event.clientY - box.top) / box.height * places.length), places.length - 1)];
  };
  const strip = slider('heat', 'Operators by steps', canvas, run => measure[1] + ' ' + num(measure[2](run)), draw);
  const nearest = (op, place) => runAt.get(place * opCount + op) ?? (runsOfOp.get(op) || [])[0] ?? -1;
  let down = null;
  on(strip, 'pointerdown', event => { down = spot(event)[0]; });
  on(strip, 'pointerup', event => {
    const [op, place] = spot(event);
    if (down !== null && Math.abs(op - down) > Math.max(1, (to - from) / 50)) {
      from = clamp(down, op);
      to = Math.min(opCount, Math.max(from + Math.min(10, opCount), Math.max(op, down) + 1));
      from = clamp(to - Math.min(10, opCount), from);
      rangeChanged();
    } else {
      choose(nearest(op, place), false);
    }
    down = null;
  });
  on(strip, 'wheel', event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.5 : 1 / 1.5, spot(event)[0]);
  }, {passive: false});
  on(strip, 'keydown', event => {
    const run = chosen < 0 ? 0 : chosen, op = runs.op[run], place = placeAt(run);
    const key = event.key;
    if (key === '+' || key === '-') { zoom(key === '-' ? 1.5 : 1 / 1.5, op); event.preventDefault(); return; }
    const step = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1], Home: [-opCount, 0], End: [opCount, 0]}[key];
    if (!step) return;
    event.preventDefault();
    choose(chosen < 0 ? run : nearest(clamp(op + step[0], opCount - 1), clamp(place + step[1], places.length - 1)), false);
  });
  on(pick, 'change', () => { measure = MEASURES.find(m => m[0] === pick.value); draw(); choose(chosen, false, true); });
  const whole = button({onclick: () => { from = 0; to = opCount; rangeChanged(); }}, 'Whole');
  return section('map', 'Map: operators by steps',
    el('div', {class: 'tools'}, pick,
      button({onclick: () => zoom(0.5, chosen < 0 ? (from + to) / 2 : runs.op[chosen])}, 'Zoom in'), whole, range),
    strip, legend,
    asTable('The greatest values of the map', ['Operator', 'At', 'Value'], () => everyRun()
      .filter(run => !isNaN(measure[2](run))).sort((a, b) => measure[2](b) - measure[2](a)).slice(0, 40)
      .map(run => [runLink(run), placeText(run), num(measure[2](run))])));
};
