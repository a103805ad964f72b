// ---- error strip: the error of outputs so far, and of each operator by itself, above the operators of the map
const makeErrors = () => {
  if (!runs.error && !runs.isolated) return '';
  const own = runs.isolated || runs.input_error, isCulprit = run => verdictOf(run) === 1 || at(runs.own_fault, run, 0) === 1;
  const errorOf = known('error'), worst = run => Math.max(errorOf(run) || 0, at(runs.isolated, run, 0) || 0);
  const limit = limits.find(l => l.measure === 'euclid');
  const height = 200, left = MARGIN, bottom = 18;
  let least = Infinity, most = -Infinity;
  for (const list of [runs.error || [], own || []]) for (const v of list) {
    if (v > 0 && Number.isFinite(v)) { least = Math.min(least, v); most = Math.max(most, v); }
  }
  if (least > most) { least = 1e-6; most = 1; }
  if (limit) { least = Math.min(least, limit.limit); most = Math.max(most, limit.limit); }
  const low = Math.floor(Math.log10(least) - 0.2), high = Math.ceil(Math.log10(most) + 0.2);
  const y = v => !(v > 0) ? height - bottom : v === Infinity ? 4 :
    (height - bottom - 24) - (Math.log10(v) - low) / (high - low) * (height - bottom - 34);
  const draw = () => {
    const [g, width] = sized(canvas, height);
    const x = run => left + (width - left) * (runs.op[run] + 0.5 - shownOps[0]) / (shownOps[1] - shownOps[0]);
    const isShown = run => runs.op[run] >= shownOps[0] && runs.op[run] < shownOps[1];
    g.strokeStyle = css('--line');
    const every = Math.max(1, Math.ceil((high - low) / 6));
    for (let p = low; p <= high; p += every) {
      segment(g, left, y(10 ** p), width, y(10 ** p));
      write(g, '1e' + p, left - 5, y(10 ** p) + 4, 'right', '--soft');
    }
    write(g, 'equal', left - 5, height - bottom + 4, 'right', '--soft');
    if (limit) {
      g.strokeStyle = css('--culprit');
      g.setLineDash([6, 4]);
      segment(g, left, y(limit.limit), width, y(limit.limit));
      g.setLineDash([]);
      write(g, 'limit ' + num(limit.limit), left + 4, y(limit.limit) - 4, 'left', '--culprit');
    }
    const line = (list, colour, dash, place) => {
      if (!list) return;
      g.strokeStyle = colour;
      g.setLineDash(dash);
      g.lineWidth = 1.5;
      // Of many runs in a pixel the greatest stays.
      const greatest = new Map();
      for (let run = 0; run < runCount; ++run) {
        if (isNaN(list[run]) || !isShown(run) || (place !== undefined && placeAt(run) !== place)) continue;
        const px = Math.round(x(run) * 2) / 2;
        if (!(greatest.get(px) >= list[run])) greatest.set(px, list[run]);
      }
      const column = [...greatest].sort((a, b) => a[0] - b[0]);
      g.globalAlpha = place === undefined && places.length > 1 ? 0.4 : 1;
      g.beginPath();
      for (const [px, v] of column) g.lineTo(px, y(v));
      g.stroke();
      g.setLineDash([]);
      g.fillStyle = colour;
      if (column.length <= width / 5) for (const [px, v] of column) dot(g, px, y(v), 2.5);
      g.globalAlpha = 1;
    };
    // Of all moments the greatest, faintly, and those of the chosen one.
    for (const place of places.length > 1 && chosen >= 0 ? [undefined, placeAt(chosen)] : [undefined]) {
      line(own, css('--golden'), [4, 3], place);
      line(runs.error, css('--mine'), [], place);
    }
    g.font = '14px system-ui, sans-serif';
    for (const run of culprits.filter(isShown).slice(0, 400)) write(g, MARKS[1], x(run), Math.max(14, y(worst(run)) - 6), 'center', '--culprit');
    if (chosen >= 0 && isShown(chosen)) {
      g.strokeStyle = css('--ink');
      g.lineWidth = 1;
      segment(g, x(chosen), 0, x(chosen), height - bottom);
    }
    g.font = '11px system-ui, sans-serif';
    write(g, 'operator ' + shownOps[0], left, height - 3, 'left', '--soft');
    write(g, String(shownOps[1] - 1), width - 4, height - 3, 'right', '--soft');
  };
  const culprits = everyRun().filter(isCulprit);
  const canvas = canvasOf(`Error of ${runCount} records, from ${num(least)} to ${num(most)}; ${culprits.length} culprits` +
    (culprits.length ? ', the first ' + label(culprits[0]) : ''));
  const strip = slider('errors', 'Error in the order of execution', canvas, run => 'error ' + num(errorOf(run)) +
    (runs.isolated ? ', isolated ' + num(runs.isolated[run]) : ''), draw);
  on(strip, 'pointerup', event => {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (box.width - left);
    const op = clamp(Math.floor(shownOps[0] + share * (shownOps[1] - shownOps[0])), opCount - 1);
    const there = runsOfOp.get(op) || [];
    choose(there.find(run => chosen >= 0 && placeAt(run) === placeAt(chosen)) ?? there[0] ?? -1, false);
  });
  on(strip, 'keydown', event => {
    const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -runCount, End: runCount, PageUp: -20, PageDown: 20}[event.key];
    if (!step) return;
    event.preventDefault();
    choose(chosen < 0 ? 0 : clamp(chosen + step, runCount - 1), false);
  });
  return section('err', 'Error in the order of execution', strip,
    el('p', {class: 'legend'}, runs.error ? el('span', {}, el('i', {style: 'background:var(--mine)'}), 'cumulative: of the outputs') : '',
      own ? el('span', {}, el('i', {class: 'dashed'}), runs.isolated ? 'isolated: by what its own inputs make' :
        'of the inputs: what lies above it is the operator\u2019s own') : '',
      el('span', {}, el('span', {class: 'culprit'}, MARKS[1]), ' culprit'),
      places.length > 1 ? el('span', {}, 'Faint: the greatest of all steps.') : ''),
    asTable('Greatest errors', ['Operator', 'At', 'Verdict', 'Error', runs.isolated ? 'Isolated error' : 'Error of inputs'], () =>
      everyRun().filter(run => errorOf(run) >= 0 || at(own, run, NaN) >= 0)
        .sort((a, b) => worst(b) - worst(a)).slice(0, 40)
        .map(run => [runLink(run), placeText(run), badge(verdictOf(run)), num(errorOf(run)), num(at(own, run, NaN))])));
};
