// Runs by operator and place, and the tensors of each run.
const runsOfOp = new Map(), runAt = new Map();
for (let run = 0; run < runCount; ++run) {
  const op = runs.op[run];
  if (!runsOfOp.has(op)) runsOfOp.set(op, []);
  runsOfOp.get(op).push(run);
  runAt.set(placeAt(run) * opCount + op, run);
}
const firstTensor = new Uint32Array(runCount + 1).fill(tensorCount);
for (let t = tensorCount; t-- > 0;) firstTensor[tensors.run[t]] = t;
for (let run = runCount; run-- > 0;) if (firstTensor[run] === tensorCount) firstTensor[run] = firstTensor[run + 1];
const tensorsOf = run => {
  const found = [];
  for (let t = firstTensor[run]; t < tensorCount && tensors.run[t] === run; ++t) found.push(t);
  return found;
};
const index = list => new Map(Array.from(list || [], (value, i) => [value, i]));
const farthestOf = index(farthest.of), histOf = index(hist.of), goldenHistOf = index(goldenHist.of), pictureOf = index(pictures.of);
const producers = new Map(), consumers = new Map();
for (let e = 0; e < edges.from.length; ++e) {
  for (const [map, key] of [[producers, edges.to[e]], [consumers, edges.from[e]]]) {
    if (!map.has(key)) map.set(key, []);
    map.get(key).push(e);
  }
}
const index8 = t => at(tensors.index, t, 0);
const tensorLabel = t => (tensors.role[t] ? 'output ' : 'input ') + index8(t);
