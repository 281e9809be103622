// What surrounds the canvas: tools, the words for what is pointed at, the legend, the longest events as a table.

const LONGEST = 30;

class Panel {
  constructor(place, picture) {
    Object.assign(this, { place, picture });
    this.tip = make('div', { class: 'tip', hidden: '' });
    this.picked = make('p', { class: 'picked', 'aria-live': 'polite' });
    this.canvas = make('canvas', { tabindex: '0', role: 'application', 'aria-roledescription': 'timeline', 'aria-describedby': 'dg-keys' });
    this.stage = make('div', { class: 'stage' }, this.canvas, this.tip);
    this.legend = make('ul', { class: 'legend', 'aria-label': 'Colours of what the time goes to' });
    this.kinds = make('ul', { class: 'legend', 'aria-label': 'Colours of events' });
    this.note = make('p', { class: 'note' });
    this.longest = make('details', { class: 'longest' }, make('summary', {}, `The ${LONGEST} longest events as a table`));
    place.classList.add('picture');
    place.append(this.tools(), this.stage, this.picked, this.legend, this.kinds, this.note, hint(picture.findings.length > 0), this.longest);
    place.hidden = false;
    this.timeline = new Timeline(this.canvas, picture, {
      told: (hit, x, y) => this.tell(hit, x, y),
      picked: (hit) => this.picked.replaceChildren(...(hit ? this.facts(hit) : [])),
    });
    this.timeline.recolour();
  }

  tools() {
    const tool = (label, name, act) => {
      const button = make('button', { type: 'button', 'aria-label': name, title: name }, label);
      button.addEventListener('click', act);
      return button;
    };
    return make('div', { class: 'tools' }, make('h3', {}, 'The step, event by event'),
      tool('−', 'Zoom out', () => this.timeline.zoom(1 / 2)), tool('+', 'Zoom in', () => this.timeline.zoom(2)),
      tool('←', 'Earlier', () => this.timeline.pan(-0.5)), tool('→', 'Later', () => this.timeline.pan(0.5)),
      tool('Whole step', 'Show the whole step', () => this.timeline.reset()));
  }

  show(version) {
    const { title, note, left_out: left } = this.picture.versions[version];
    this.timeline.show(version);
    this.canvas.setAttribute('aria-label', `Timeline of the step, ${title.toLowerCase()}. The table below lists its longest events.`);
    const missing = left.count ? `${left.count.toLocaleString('en-US')} events shorter than ${span(left.shorter_than_us)} are not drawn.` : '';
    this.note.textContent = [note, missing].filter(Boolean).join(' ');
    this.fillLegend(this.picture.versions[version]);
    this.fillLongest(this.picture.versions[version].events);
  }

  fillLegend({ causes, events }) {
    const rows = [...new Set(causes.row)].sort((one, other) => one - other).map((index) => this.picture.rows[index]).filter(Boolean);
    this.legend.replaceChildren(make('li', { class: 'of' }, 'Time'), ...rows.map(({ row, title }) => legendEntry(rowClass(row), cut(title))));
    const kinds = kindEntries(events.name.map((name) => this.timeline.kinds[name]));
    if (events.finding.some((index) => index >= 0)) kinds.push(legendEntry('', 'of a finding', 'swatch hatched'));
    this.kinds.replaceChildren(make('li', { class: 'of' }, 'Events'), ...kinds);
    this.kinds.hidden = !kinds.length;
  }

  fillLongest(events) {
    const order = Array.from(events.dur.keys()).sort((one, other) => events.dur[other] - events.dur[one]).slice(0, LONGEST);
    const rows = order.map((index) => {
      const { name, lane, start, dur, place, finding } = this.event(index);
      return [make('code', {}, name), lane, span(start), span(dur), place ? make('code', {}, place) : UNKNOWN, finding || UNKNOWN];
    });
    const columns = [['Event', 'source'], ['Lane', ''], ['Starts at', 'num'], ['Takes', 'num'], ['Line', 'place'], ['Finding', 'asked']];
    this.longest.querySelector('.scroll')?.remove();
    this.longest.append(table('The longest events', columns, rows));
    this.longest.hidden = !rows.length;
  }

  event(index) {
    const { picture } = this, { events } = picture.versions[this.timeline.version], found = picture.findings[events.finding[index]];
    return {
      name: cut(picture.names[events.name[index]] ?? ''), lane: cut(picture.lanes[events.lane[index]].title),
      start: events.start[index], dur: events.dur[index],
      place: cut(picture.places[events.place[index]] ?? ''), finding: found ? `${found.number}. ${cut(found.title)}` : '',
    };
  }

  facts(hit) {
    const worded = (text, name) => make(name === 'b' ? 'b' : 'span', name && name !== 'b' ? { class: name } : {}, text);
    const when = (start, dur) => worded(`starts at ${span(start)}, takes ${span(dur)}`);
    if (hit.cause !== undefined) {
      const { row, start, dur } = this.picture.versions[this.timeline.version].causes, { title, meaning } = this.picture.rows[row[hit.cause]];
      return [make('span', {}, worded(title, 'b')), worded(meaning.replaceAll('`', '')), when(start[hit.cause], dur[hit.cause])];
    }
    const { name, lane, start, dur, place, finding } = this.event(hit.event);
    const lines = [make('span', {}, worded(name, 'b')), worded(lane), when(start, dur)];
    if (place) lines.push(make('span', {}, make('code', {}, place)));
    if (finding) lines.push(worded(`Finding ${finding}`, 'culprit'));
    return lines;
  }

  tell(hit, x, y) {
    this.tip.hidden = !hit;
    if (!hit) return;
    this.tip.replaceChildren(...this.facts(hit));
    const left = Math.max(4, Math.min(x + 14, this.stage.clientWidth - this.tip.offsetWidth - 4));
    this.tip.style.transform = `translate(${left}px, ${y + 18}px)`;
  }

  // The longest event of a finding in the step as it is; -1 if it has none.
  longestOf(rule) {
    const { finding, dur } = this.picture.versions[0].events, number = this.picture.findings.findIndex((one) => one.rule === rule);
    const longer = (best, found, index) => (found === number && (best < 0 || dur[index] > dur[best]) ? index : best);
    return number < 0 ? -1 : finding.reduce(longer, -1);
  }
}

function hint(hasFindings) {
  const key = (name) => make('kbd', {}, name);
  const findings = [', ', key('n'), ' ', key('p'), ' for the next and previous event of a finding, the longest first'];
  return make('p', { class: 'note hint', id: 'dg-keys' }, 'Drag or ', key('←'), ' ', key('→'), ' to move, ', key('Ctrl'), ' + wheel or ',
    key('+'), ' ', key('−'), ' to zoom, ', key('0'), ' for the whole step', ...(hasFindings ? findings : []), '. A click keeps an event’s details.');
}
