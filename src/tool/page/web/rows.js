// Runs by operator and place, and the tensors of each run.
const runsOfOp = new Map(), runAt = new Map();
for (let run = 0; run < runCount; ++run) {
  const op = runs.op[run];
  addTo(runsOfOp, op, run);
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
  addTo(producers, edges.to[e], e);
  addTo(consumers, edges.from[e], e);
}
const index8 = t => at(tensors.index, t, 0);
const roleText = (role, i) => (role ? 'output ' : 'input ') + i;
const tensorLabel = t => roleText(tensors.role[t], index8(t));
const tensorAt = (run, role, i) => tensorsOf(run).find(t => tensors.role[t] === role && index8(t) === i);
