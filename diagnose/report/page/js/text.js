// page.js is these files one after the other, one ES module: text, kinds, colours, lanes, causes, timeline, panel,
// ledger, charts, roofline, start.
// Numbers read as in the rest of the report: `significant`, `ms`, `size`, `share` do what diagnose/document/text.py does (tested side by side).

const UNKNOWN = '–', HELD = '\u00a0', LONGEST_NAME = 100;

function significant(value) {
  if (value === 0) return '0';
  if (Math.abs(value) < 0.001) return '< 0.001';
  const decimals = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return fixed(value, decimals);
}

// Rounded first: toLocaleString alone rounds what the number looks like (9.995), not what it is.
function fixed(value, decimals) {
  return Number(value.toFixed(decimals)).toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

// What is left after a saving, as exact as the saving is: `less` of text.py.
function less(value, saved) {
  const decimals = (number, digits) => digits - 1 - Math.floor(Math.log10(Math.abs(number)));
  if (Number(value.toFixed(3)) <= 0) return `0${HELD}ms`;
  const exact = Math.max(saved > 0 ? decimals(saved, 2) : 3, decimals(value, 1));
  const shown = Math.min(exact, decimals(value, 3), 3), unit = 10 ** -shown, places = Math.max(0, shown);
  return `${fixed(Math.round(value / unit) * unit, places)}${HELD}ms`;
}

const ms = (value) => (Number.isFinite(value) ? `${significant(value)}${HELD}ms` : UNKNOWN);

// A time of an event: below 0.1 ms in µs, where kernels would all read 0.00x ms.
const span = (us) => (us > 0 && us < 100 ? `${significant(us)}${HELD}µs` : ms(us / 1000));

function share(value) {
  const percent = 100 * value;
  if (percent > 0 && percent < 0.05) return `< 0.1${HELD}%`;
  return `${percent.toFixed(percent === 0 || Math.abs(percent) >= 9.95 ? 0 : 1)}${HELD}%`;
}

function size(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; Math.abs(bytes) >= 1024 && unit < 4; unit++) bytes /= 1024;
  return `${unit ? significant(bytes) : bytes.toFixed(0)}${HELD}${units[unit]}`;
}

const cut = (text) => (text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text);

// An element; attributes by name, children as text or nodes. Text never becomes markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const rowClass = (row) => (/^[a-z_]{1,40}$/.test(row) ? `row row-${row}` : 'row');

// A table in a box that scrolls; `columns` are [title, class].
function table(label, columns, rows) {
  const cell = (tag, content, name) => make(tag, name ? { class: name } : {}, content);
  const head = columns.map(([title, name]) => { const th = cell('th', title, name); th.scope = 'col'; return th; });
  const body = rows.map((row) => make('tr', {}, ...row.map((content, index) => cell('td', content, columns[index][1]))));
  return make('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' },
    stacked(make('table', {}, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...body))));
}

// The table with each cell told its column's name, which page.css shows where the columns do not fit beside each other.
function stacked(table) {
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, index) => {
    cell.dataset.label = titles[index];
    cell.classList.toggle('unknown', cell.textContent === UNKNOWN);
  });
  table.classList.add('stacked');
  return table;
}
