// Charts as SVG: the frame that all share, and memory.

const WIDE = 720, HIGH = 300, LEFT = 104, RIGHT = 16, TOP = 14, BOTTOM = 50;
const FEWEST_POINTS = 3, FLAT = 0.1; // of the most: a curve that varies by less is told in words

function chart(title, caption, marks) {
  const svg = marks.length ? [draw('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, role: 'img', 'aria-label': title }, ...marks)] : [];
  return make('figure', { class: 'chart' }, make('figcaption', {}, make('b', {}, title), `: ${caption}`), ...svg);
}

const written = (x, y, text, anchor = 'middle', name = 'label') => draw('text', { x, y, 'text-anchor': anchor, class: name }, text);
const upright = (x, text, anchor) => [draw('line', { x1: x, y1: TOP, x2: x, y2: HIGH - BOTTOM, class: 'grid' }), written(x, HIGH - BOTTOM + 20, text, anchor)];
const level = (y, text) => [draw('line', { x1: LEFT, y1: y, x2: WIDE - RIGHT, y2: y, class: 'grid' }), written(LEFT - 8, y + 4, text, 'end')];
const below = (text) => written((LEFT + WIDE - RIGHT) / 2, HIGH - 8, text);
const line = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');

function memoryChart({ title, x_title: unit, x, bytes }) {
  const low = x[0], high = x.at(-1), [least, most] = bytes.reduce(([small, large], one) => [Math.min(small, one), Math.max(large, one)], [Infinity, 1]);
  if (x.length < FEWEST_POINTS || most - least <= FLAT * most) return chart(title, least < most ? `${size(least)} to ${size(most)}.` : `always ${size(most)}.`, []);
  const tick = tickOf(most), top = Math.ceil(most / tick) * tick;
  const across = (value) => LEFT + ((value - low) / (high - low || 1)) * (WIDE - LEFT - RIGHT);
  const up = (value) => HIGH - BOTTOM - (value / top) * (HIGH - TOP - BOTTOM);
  const points = x.map((at, index) => [across(at), up(bytes[index])]), marks = [];
  for (let value = 0; value <= top; value += tick) marks.push(...level(up(value), size(value)));
  marks.push(...upright(across(low), plain(Math.round(low)), 'start'), ...upright(across(high), plain(Math.round(high)), 'end'), below(unit));
  marks.push(draw('polygon', { class: 'area', points: line([[across(low), up(0)], ...points, [across(high), up(0)]]) }));
  marks.push(draw('polyline', { class: 'path', points: line(points) }));
  return chart(title, `at most ${size(most)}.`, marks);
}

// A round number of bytes, so that there are a few lines.
function tickOf(most) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(most / 3) / Math.log(1024)));
  return [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].map((step) => step * unit).find((step) => most / step <= 5) ?? most;
}

const plain = (value) => value.toLocaleString('en-US', { maximumFractionDigits: 6 });
