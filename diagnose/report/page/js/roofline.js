// What kernels compute and move, on logarithmic axes, below the lines that the GPU allows.

const TOP_KERNELS = 10;
const MARKS = [ // one a number format: told apart by shape, not by colour
  ['●', (x, y, r) => draw('circle', { cx: x, cy: y, r, class: 'kernel' })],
  ['■', (x, y, r) => draw('rect', { x: x - r, y: y - r, width: 2 * r, height: 2 * r, class: 'kernel' })],
  ['▲', (x, y, r) => draw('path', { d: `M${x} ${y - r * 1.2}l${r * 1.2} ${r * 2}h${-r * 2.4}z`, class: 'kernel' })],
  ['◆', (x, y, r) => draw('path', { d: `M${x} ${y - r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`, class: 'kernel' })],
];

function rooflineChart({ gpu, bandwidth_bytes_per_s: bandwidth, peaks, kernels }) {
  const known = kernels.filter((one) => one.flop_per_byte > 0 && one.flop_per_s > 0);
  const formats = [...new Set(known.map((one) => one.format))].filter((format) => peaks[format] > 0);
  const roofs = formats.map((format) => ({ format, peak: peaks[format], knee: peaks[format] / bandwidth }));
  const [low, high] = powers([...known.map((one) => one.flop_per_byte), ...roofs.map((roof) => roof.knee)]);
  const [bottom, top] = powers([...known.map((one) => one.flop_per_s), ...roofs.map((roof) => roof.peak)]);
  const across = (value) => LEFT + ((Math.log10(value) - low) / (high - low)) * (WIDE - LEFT - RIGHT);
  const up = (value) => HIGH - BOTTOM - ((Math.log10(value) - bottom) / (top - bottom)) * (HIGH - TOP - BOTTOM);

  const marks = [];
  for (let power = low; power <= high; power++) marks.push(...upright(across(10 ** power), plain(10 ** power), power === low ? 'start' : power === high ? 'end' : 'middle'));
  for (let power = bottom; power <= top; power++) marks.push(...level(up(10 ** power), flops(10 ** power).replace('FLOP/s', '')));
  for (const { peak, knee } of roofs) {
    const start = Math.max(10 ** low, 10 ** bottom / bandwidth);
    const corners = [[start, start * bandwidth], [knee, peak], [10 ** high, peak]];
    marks.push(draw('polyline', { class: 'roof', points: line(corners.map(([x, y]) => [across(x), up(y)])) }));
  }
  const longest = Math.max(...known.map((one) => one.ms_per_step), 1e-9);
  for (const one of known) {
    const [, shape] = MARKS[Math.max(0, formats.indexOf(one.format)) % MARKS.length];
    const mark = shape(across(one.flop_per_byte), up(one.flop_per_s), 3 + 9 * Math.sqrt(one.ms_per_step / longest));
    const facts = [`${ms(one.ms_per_step)} per step`, `${significant(one.flop_per_byte)} FLOP per byte`, flops(one.flop_per_s), one.place ?? ''];
    mark.append(draw('title', {}, `${cut(one.name)}: ${facts.filter(Boolean).join(', ')}`));
    marks.push(mark);
  }
  for (const { format, peak } of roofs) marks.push(written(WIDE - RIGHT - 4, up(peak) - 7, `${format} ${flops(peak)}`, 'end', 'roof-label'));
  marks.push(below('FLOP per byte moved; upwards: FLOP per second'));

  const signs = formats.map((format, index) => `${MARKS[index % MARKS.length][0]} ${format}`).join('  ');
  return chart(`Kernels on ${gpu}`, `a mark is a kernel, its size the time it takes in a step (${signs}); the lines are what the GPU allows. `
    + 'FLOP are counted by the operator’s plain formula, bytes are the least it can move; a kernel above its line gets by with fewer FLOP, '
    + 'as Winograd’s convolutions do.', marks);
}

// The powers of ten around some values.
function powers(values) {
  const low = Math.floor(Math.log10(Math.min(...values))), high = Math.ceil(Math.log10(Math.max(...values)));
  return low < high ? [low, high] : [low - 1, high + 1];
}

function flops(value) {
  const power = Math.max(0, Math.min(5, Math.floor(Math.log10(value) / 3)));
  return `${significant(value / 1000 ** power).replace(/\.0+$/, '')}${HELD}${['', 'k', 'M', 'G', 'T', 'P'][power]}FLOP/s`;
}

function kernelTable({ kernels, peaks, bandwidth_bytes_per_s: bandwidth }) {
  const top = [...kernels].sort((one, other) => other.ms_per_step - one.ms_per_step).slice(0, TOP_KERNELS);
  const rows = top.map((one) => {
    const part = one.flop_per_s / Math.min(peaks[one.format] ?? NaN, one.flop_per_byte * bandwidth);
    const place = one.place ? make('code', {}, cut(one.place)) : UNKNOWN, of = Number.isFinite(part) ? share(part) : UNKNOWN;
    return [make('code', {}, cut(one.name)), place, one.format, ms(one.ms_per_step), significant(one.flop_per_byte), flops(one.flop_per_s), of];
  });
  const columns = [['Kernel', 'source'], ['Line', 'place'], ['Format', ''], ['Per step', 'num'], ['FLOP per byte', 'num'], ['Reached', 'num'], ['Of its line', 'num']];
  return table('Kernels', columns, rows);
}
