// ---- what is chosen, and where the address says it
const app = document.getElementById('app');
const live = el('p', {class: 'live', 'aria-live': 'polite', id: 'live'});
let chosen = -1;
const watchers = [];
const linkOf = run => {
  const place = placeOf(run), alike = places.filter(p => p.step === place.step && p.model === place.model);
  return '#op=' + runs.op[run] +
    (place.step !== undefined && alike.length === 1 ? '&step=' + place.step : '&at=' + placeAt(run));
};
const runOfLink = hash => {
  const words = new URLSearchParams(hash.slice(1));
  if (!words.has('op')) return -1;
  const there = runsOfOp.get(Number(words.get('op'))) || [];
  const found = words.has('at') ? there.filter(run => placeAt(run) === Number(words.get('at'))) :
    words.has('step') ? there.filter(run => placeOf(run).step === Number(words.get('step'))) : there;
  return found.length ? found[0] : -1;
};
const choose = (run, focus, quiet) => {
  if (run < 0 || run >= runCount) return;
  chosen = run;
  if (!quiet && location.hash !== linkOf(run)) history.replaceState(null, '', linkOf(run));
  for (const watch of watchers) watch(focus);
  live.textContent = label(run) + (placeText(run) ? ' at ' + placeText(run) : '') + andVerdict(run);
};
