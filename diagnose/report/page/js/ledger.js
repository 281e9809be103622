// The ledger's bars and the step time, for the version that is shown. The first version is what the page came with.

class Ledger {
  constructor(table, picture) {
    Object.assign(this, { picture, head: table.tHead, body: table.tBodies[0], foot: table.tFoot });
    this.original = { body: [...this.body.children], foot: [...this.foot.children] };
  }

  show(version) {
    const { body, foot } = version ? this.changed(version) : this.original;
    this.body.replaceChildren(...body);
    this.foot.replaceChildren(...foot);
  }

  // The rows of both, largest before first, with what they were and what they are.
  changed(version) {
    const { versions, rows } = this.picture, before = versions[0].ledger, after = versions[version].ledger;
    const whole = total(before), left = total(after), known = Object.fromEntries(rows.map((row) => [row.row, row]));
    const size = (part) => [before[part] ?? 0, after[part] ?? 0];
    const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    parts.sort((one, other) => size(other)[0] - size(one)[0] || size(other)[1] - size(one)[1]);
    const body = parts.map((part) => this.part(known[part] ?? { row: part, title: part, meaning: '' }, ...size(part), whole, left));
    const name = this.original.foot[0].cells[0].textContent;
    const foot = this.line({}, [name], change(whole, left, less(left, whole - left)), share(left > 0 ? 1 : 0));
    return { body, foot: [foot] };
  }

  part({ row, title, meaning }, before, after, whole, left) {
    const wide = (value) => `${whole > 0 ? Math.min(100, (100 * value) / whole).toFixed(2) : 0}%`;
    const bar = draw('svg', { class: 'bar', 'aria-hidden': 'true' },
      draw('rect', { class: 'before', width: wide(before), height: '100%' }), draw('rect', { class: 'fill', width: wide(after), height: '100%' }));
    return this.line({ 'data-row': row, class: rowClass(row) }, [make('i', { class: 'swatch' }), cut(title)],
      change(before, after, ms(after)), share(left > 0 ? after / left : 0), [bar], coded(meaning));
  }

  // A row with a cell below each header. What takes most of a part is known of the step as it was only.
  line(attributes, name, time, part, bar = [], meaning = []) {
    const contents = [name, [time], [part], bar, [], meaning];
    const cells = [...this.head.rows[0].cells].map(({ className }, index) =>
      (index ? make('td', { class: className }, ...contents[index]) : make('th', { scope: 'row' }, ...contents[index])));
    return make('tr', attributes, ...cells);
  }
}

const total = (ledger) => Object.values(ledger).reduce((sum, value) => sum + value, 0);
const coded = (sentence) => sentence.split('`').map((part, index) => (index % 2 ? make('code', {}, part) : part));
const change = (before, after, told) =>
  (ms(before) === ms(after) ? ms(after) : make('span', {}, make('span', { class: 'was' }, `${ms(before)} → `), told));

// One radio button a version, with its step time, and below them what the chosen one changes. Returns a function that chooses one.
function versionSwitch(place, picture, chosen) {
  const before = picture.versions[0].step_ms;
  const times = picture.versions.map(({ step_ms: after }, index) => (index ? less(after, before - after) : ms(after)));
  const said = make('output', { 'data-part': 'step-time' });
  const choose = (index) => {
    inputs[index].checked = true;
    said.textContent = index ? `Step: ${times[0]} → ${times[index]}, as predicted` : `Step: ${times[0]}`;
    chosen(index);
  };
  const group = `dg-version-${Math.random().toString(36).slice(2)}`; // several reports may share a document
  const inputs = picture.versions.map((_, index) => make('input', { type: 'radio', name: group, value: index }));
  const labels = picture.versions.map(({ title }, index) => make('label', {}, inputs[index], make('b', {}, title), make('span', {}, times[index])));
  inputs.forEach((input, index) => input.addEventListener('change', () => choose(index)));
  place.replaceChildren(make('fieldset', {}, make('legend', {}, 'Show the step'), ...labels), said);
  place.hidden = picture.versions.length < 2;
  return choose;
}
