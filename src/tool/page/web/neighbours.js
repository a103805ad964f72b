// ---- the graph around an operator: two hops up and down, in columns by distance.
const neighbourhood = run => {
  const level = new Map([[run, 0]]), links = [];
  const walk = (start, map, end, sign) => {
    let front = [start];
    for (let hop = 1; hop <= 2; ++hop) {
      const next = [];
      for (const r of front) for (const e of map.get(r) || []) {
        const other = end[e];
        if (!level.has(other)) {
          if (level.size >= 40) continue;
          level.set(other, sign * hop);
          next.push(other);
        }
        links.push(e);
      }
      front = next;
    }
  };
  walk(run, producers, edges.from, -1);
  walk(run, consumers, edges.to, 1);
  let byOrder = false;
  if (level.size === 1) {
    byOrder = true;
    for (const d of [-2, -1, 1, 2]) {
      const other = run + d;
      if (other >= 0 && other < runCount && placeAt(other) === placeAt(run)) level.set(other, d);
    }
  }
  const rowsOf = new Map();
  const xy = new Map();
  for (const [r, l] of [...level].sort((a, b) => a[0] - b[0])) {
    const n = rowsOf.get(l) || 0;
    rowsOf.set(l, n + 1);
    xy.set(r, [(l + 2) * 136 + 4, n * 46 + 6]);
  }
  const height = Math.max(...rowsOf.values()) * 46 + 6;
  const colour = r => { const v = at(runs.own_fault, r, 0) ? 1 : verdictOf(r); return v >= 0 ? `var(--${VERDICTS[v]})` : at(runs.nonfinite, r, 0) ? 'var(--culprit)' : 'var(--soft)'; };
  const drawn = svg('svg', {viewBox: `0 0 676 ${height}`, style: 'width:100%;max-width:760px;min-width:560px', role: 'group', 'aria-label': 'Neighbouring operators'});
  const seen = new Set();
  const link = (a, b, dash, title) => {
    if (!xy.has(a) || !xy.has(b) || seen.has(a + ',' + b)) return;
    seen.add(a + ',' + b);
    const [x1, y1] = xy.get(a), [x2, y2] = xy.get(b);
    const path = svg('path', {d: `M${x1 + 122} ${y1 + 18} C${x1 + 134} ${y1 + 18} ${x2 - 12} ${y2 + 18} ${x2} ${y2 + 18}`, fill: 'none', stroke: 'var(--soft)', 'stroke-width': 1.5, 'stroke-dasharray': dash});
    path.append(svg('title', {}, title));
    drawn.append(path);
  };
  const SOURCES = ['same address', 'part of it', 'same name'], BYTES = ['bytes unknown', 'same bytes', 'other bytes: overwritten in between', 'same elements in another order'];
  for (const e of links) link(edges.from[e], edges.to[e], edges.how[e] % 4 === 2 ? '2 3' : edges.how[e] >= 8 ? '6 3' : 'none', `${SOURCES[edges.how[e] / 4 | 0]}, ${BYTES[edges.how[e] % 4]}`);
  if (byOrder) {
    const list = [...level.keys()].sort((a, b) => a - b);
    for (let i = 1; i < list.length; ++i) link(list[i - 1], list[i], '2 4', 'by the order of execution alone');
  }
  for (const [r, [x, y]] of xy) {
    const v = verdictOf(r), a = svg('a', {href: linkOf(r), 'data-run': r}, svg('title', {}, label(r) + andVerdict(r)));
    a.append(svg('rect', {x, y, width: 122, height: 36, rx: 5, fill: r === run ? 'var(--hover)' : 'var(--card)', stroke: colour(r), 'stroke-width': r === run ? 3 : 1.5}),
      svg('rect', {x: x + 3, y: y + 32, width: 116, height: 3, fill: shade(r)}),
      svg('text', {x: x + 6, y: y + 14}, short(opName(runs.op[r]), 19)),
      svg('text', {x: x + 6, y: y + 29, class: 'soft'}, short((v < 0 ? '' : MARKS[v] + ' ') + (known('error')(r) >= 0 ? three(runs.error[r]) + ' ' : '') + opType(runs.op[r]), 20)));
    drawn.append(a);
  }
  return [el('h3', {}, 'Neighbourhood'), byOrder ? soft('The dump tells no addresses, and no card tells names of tensors: dotted lines are the order of execution alone.') : '',
    scroll('Neighbourhood', drawn),
    soft('Frames show verdicts, the bars below the measure of the map.')];
};
