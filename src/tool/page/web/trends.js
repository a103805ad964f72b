// ---- trends
const makeTrends = () => {
  if (places.length < 2) return '';
  const kinds = [['mean', 'mean'], ['min', 'min'], ['max', 'max'], ['std', 'std'], ['euclid', 'error']].filter(([key]) => tensors[key]);
  if (!kinds.length) return '';
  const pick = choices({'aria-label': 'Statistic'}, ...kinds);
  const canvas = canvasOf('Trends', {style: 'width:100%'}), legend = el('p', {class: 'legend'});
  const colours = ['--mine', '--golden', '--agrees', '--diverges', '--culprit', '--ink'], dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [4, 4], [1, 2]];
  const lines = () => trendTensors.map(([op, role, i]) => (runsOfOp.get(op) || []).map(run => {
    const t = tensorAt(run, role, i);
    return [placeAt(run), t === undefined ? NaN : tensors[pick.value][t]];
  }));
  const draw = () => {
    const [g, width] = sized(canvas, 180);
    const all = lines(), known = all.flat().map(p => p[1]).filter(Number.isFinite);
    if (!known.length) return;
    const low = Math.min(...known), high = Math.max(...known);
    const x = p => 60 + (width - 70) * p / (places.length - 1), y = scaled(low, high, 165, 15);
    write(g, three(high), 54, 18, 'right', '--soft');
    write(g, three(low), 54, 168, 'right', '--soft');
    all.forEach((line, k) => {
      g.strokeStyle = css(colours[k]);
      g.setLineDash(dashes[k]);
      g.lineWidth = 2;
      g.beginPath();
      line.filter(p => Number.isFinite(p[1])).forEach((p, i) => i ? g.lineTo(x(p[0]), y(p[1])) : g.moveTo(x(p[0]), y(p[1])));
      g.stroke();
    });
    g.setLineDash([]);
    canvas.setAttribute('aria-label', `${pick.value} of ${all.length} tensors over ${places.length} steps, from ${num(low)} to ${num(high)}`);
    legend.replaceChildren(...trendTensors.map(([op, role, i], k) => el('span', {}, el('i', {style: `background:var(${colours[k]})`}),
      bdi(opName(op)), ` ${roleText(role, i)} `, button({'aria-label': 'Remove ' + opName(op), onclick: () => { trendTensors.splice(k, 1); draw(); }}, '\u00d7'))));
  };
  updateTrends = draw;
  on(pick, 'change', draw);
  redraws.push(draw);
  const steps = [...runsOfOp].filter(([, list]) => list.length > 1).slice(0, 3);
  for (const [op, list] of steps) {
    const t = mainTensor(list[0]);
    if (t !== undefined) trendTensors.push([op, tensors.role[t], index8(t)]);
  }
  if (!trendTensors.length) return '';
  return section('tr', 'Trends over steps', el('div', {class: 'tools'}, pick,
    el('span', {class: 'soft'}, 'Tensors are added in the view of an operator, at most 6.')), canvas, legend,
  asTable('Trends', ['Tensor', 'At', 'Value'], () => trendTensors.flatMap(([op, role, i], k) => lines()[k].slice(0, 20).map(([p, v]) =>
    [bdi(`${opName(op)} ${roleText(role, i)}`), plain(places[p].text), num(v)]))));
};
