// ---- error strip: the error of outputs so far, and of each operator by itself, in the order of execution
const makeErrors = () => {
  if (!runs.error && !runs.isolated) return '';
  const own = runs.isolated || runs.input_error, isCulprit = run => verdictOf(run) === 1 || at(runs.own_fault, run, 0) === 1;
  const errorOf = known('error'), worst = run => Math.max(errorOf(run) || 0, at(runs.isolated, run, 0) || 0);
  const limit = limits.find(l => l.measure === 'euclid');
  const height = 200, left = 46, bottom = 18;
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
    const x = run => left + 6 + (width - left - 14) * (runCount < 2 ? 0.5 : run / (runCount - 1));
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
    const line = (list, colour, dash) => {
      if (!list) return;
      g.strokeStyle = colour;
      g.setLineDash(dash);
      g.lineWidth = 1.5;
      // Of many runs in a pixel the greatest stays.
      const column = new Map();
      for (let run = 0; run < runCount; ++run) {
        if (isNaN(list[run])) continue;
        const px = Math.round(x(run) * 2) / 2;
        if (!(column.get(px)?.[0] >= list[run])) column.set(px, [list[run], placeAt(run)]);
      }
      g.beginPath();
      let last = -1;
      for (const [px, [v, place]] of column) { place !== last ? g.moveTo(px, y(v)) : g.lineTo(px, y(v)); last = place; }
      g.stroke();
      g.setLineDash([]);
      if (column.size > width / 5) return;
      g.fillStyle = colour;
      for (const [px, [v]] of column) dot(g, px, y(v), 2.5);
    };
    line(own, css('--golden'), [4, 3]);
    line(runs.error, css('--mine'), []);
    g.strokeStyle = css('--line');
    for (let run = 1; run < runCount && places.length < 60; ++run) {
      if (placeAt(run) === placeAt(run - 1)) continue;
      const px = (x(run) + x(run - 1)) / 2;
      segment(g, px, 0, px, height - bottom);
    }
    g.font = '14px system-ui, sans-serif';
    for (const run of culprits.slice(0, 400)) write(g, MARKS[1], x(run), Math.max(14, y(worst(run)) - 6), 'center', '--culprit');
    if (chosen >= 0) {
      g.strokeStyle = css('--ink');
      g.lineWidth = 1;
      segment(g, x(chosen), 0, x(chosen), height - bottom);
    }
    g.font = '11px system-ui, sans-serif';
    write(g, 'first record', left + 6, height - 3, 'left', '--soft');
    write(g, 'last', width - 4, height - 3, 'right', '--soft');
  };
  const culprits = everyRun().filter(isCulprit);
  const canvas = canvasOf(`Error of ${runCount} records, from ${num(least)} to ${num(most)}; ${culprits.length} culprits` +
    (culprits.length ? ', the first ' + label(culprits[0]) : ''));
  const strip = slider('errors', 'Error in the order of execution', canvas, run => 'error ' + num(errorOf(run)) +
    (runs.isolated ? ', isolated ' + num(runs.isolated[run]) : ''), draw);
  on(strip, 'pointerup', event => {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - left - 6) / (box.width - left - 14);
    choose(clamp(Math.round(share * (runCount - 1)), runCount - 1), false);
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
      el('span', {}, el('span', {class: 'culprit'}, MARKS[1]), ' culprit')),
    asTable('Greatest errors', ['Operator', 'At', 'Verdict', 'Error', runs.isolated ? 'Isolated error' : 'Error of inputs'], () =>
      everyRun().filter(run => errorOf(run) >= 0 || at(own, run, NaN) >= 0)
        .sort((a, b) => worst(b) - worst(a)).slice(0, 40)
        .map(run => [runLink(run), placeText(run), badge(verdictOf(run)), num(errorOf(run)), num(at(own, run, NaN))])));
};
