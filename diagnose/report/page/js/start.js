// Brings a report to life. `root` holds what `fragment` wrote; `picture` is what the run folder's picture.json.gz holds, or null.
// Returns a function that takes the listeners away again.
export function start(root, picture) {
  copyButtons(root);
  root.querySelectorAll('.scroll table:not(.ledger)').forEach(stacked);
  root.querySelectorAll('#dg-operators table').forEach(colourOperators);
  const timeline = picture?.versions?.length ? startPicture(root, picture) : null;
  if (picture?.memory?.length) reveal(root, 'memory', ...picture.memory.filter((one) => one.x.length > 1).map(memoryChart));
  if (picture?.roofline?.kernels?.length) {
    const { source } = picture.roofline;
    const note = make('p', { class: 'note' }, `The GPU’s peaks: ${source}`);
    reveal(root, 'roofline', rooflineChart(picture.roofline), kernelTable(picture.roofline), ...(source ? [note] : []));
  }
  const ends = [printedWhole(root, (onPaper) => timeline?.print(onPaper)), ...(timeline ? [redrawn(timeline), timeline.end] : [])];
  return () => ends.forEach((end) => end());
}

// The timeline of the step; null where the report has no place for it.
function startPicture(root, picture) {
  const place = root.querySelector('[data-part="timeline"]');
  if (!place) return null;
  const panel = new Panel(place, picture), ledger = new Ledger(root.querySelector('[data-part="ledger"]'), picture);
  const show = (version) => { panel.show(version); ledger.show(version); };
  const choose = versionSwitch(root.querySelector('[data-part="versions"]'), picture, show);
  choose(0);
  for (const button of root.querySelectorAll('[data-show]')) {
    const longest = panel.longestOf(button.dataset.show);
    button.hidden = longest < 0;
    button.addEventListener('click', () => {
      choose(0);
      panel.timeline.bring(longest);
      panel.stage.scrollIntoView({ block: 'center' });
      panel.canvas.focus({ preventScroll: true });
    });
  }
  return panel.timeline;
}

// The canvas follows its width, the colour scheme (the system's, the page's switch) and the screen's resolution.
function redrawn(timeline) {
  const recolour = () => timeline.recolour();
  const queries = ['(prefers-color-scheme: dark)', '(min-resolution: 1.5dppx)'].map((query) => matchMedia(query));
  const sizes = new ResizeObserver(() => timeline.ask()), theme = new MutationObserver(recolour);
  sizes.observe(timeline.canvas);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme', 'class'] });
  queries.forEach((query) => query.addEventListener('change', recolour));
  return () => { sizes.disconnect(); theme.disconnect(); queries.forEach((query) => query.removeEventListener('change', recolour)); };
}

function reveal(root, part, ...content) {
  if (!content.length) return;
  const place = root.querySelector(`[data-part="${part}"]`), section = place?.closest('section');
  if (!section) return;
  place.replaceChildren(...content);
  section.hidden = false;
  root.querySelector(`a[href="#${section.id}"]`)?.parentElement.removeAttribute('hidden');
}

function copyButtons(root) {
  for (const button of root.querySelectorAll('[data-copy]')) {
    const code = button.parentElement.querySelector('code');
    button.hidden = false;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
      } catch { // no clipboard here: select it, so that the keyboard can copy it
        getSelection().selectAllChildren(code);
        button.textContent = 'Selected';
      }
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
  }
}

// Paper cannot be unfolded and is white. It is laid out before a media query tells of it, so this goes by the event.
function printedWhole(root, draw) {
  const page = document.documentElement, opened = [];
  let theme;
  const before = () => {
    for (const fold of root.querySelectorAll('details:not([open])')) { fold.open = true; opened.push(fold); }
    theme = page.dataset.theme;
    page.dataset.theme = 'light';
    draw(true);
  };
  const after = () => {
    opened.splice(0).forEach((fold) => { fold.open = false; });
    if (theme) page.dataset.theme = theme; else delete page.dataset.theme;
    draw(false);
  };
  addEventListener('beforeprint', before);
  addEventListener('afterprint', after);
  return () => { removeEventListener('beforeprint', before); removeEventListener('afterprint', after); };
}
