// ---- all together
const [table, update] = makeTable();
app.append(live, makeErrors(), makeMap(), el('div', {class: 'cols'}, table, makeOp()), makeTrends(), makePairs());
update();
redraw();
on(document, 'click', event => {
  const link = event.target.closest('a[href^="#op="]');
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  choose(link.dataset.run ? Number(link.dataset.run) : runOfLink(link.getAttribute('href')), true);
});
on(window, 'hashchange', () => choose(runOfLink(location.hash), true));
const linked = runOfLink(location.hash), firstLink = document.getElementById('first');
if (linked >= 0) choose(linked, false);
else choose(firstLink ? runOfLink(firstLink.getAttribute('href')) : 0, false, true);
document.body.dataset.ready = performance.now().toFixed(1);
