// The causes of a step as a strip of colours.

// `box`: the strip's place in pixels; `at`: the pixel of a time, from the box's left edge.
function paintCauses(pen, { row, start, dur }, colours, box, at) {
  const columns = Math.ceil(box.width), mixed = new Map();
  for (let index = 0; index < start.length; index++) {
    const left = Math.max(0, at(start[index])), right = Math.min(columns, at(start[index] + dur[index]));
    if (right <= left) continue;
    const first = Math.ceil(left), last = Math.floor(right);
    pen.fillStyle = colours.causes[row[index]] ?? colours.soft;
    if (last > first) pen.fillRect(first, box.top, last - first, box.height);
    if (last < first) add(mixed, last, row[index], right - left);
    else { add(mixed, first - 1, row[index], first - left); add(mixed, last, row[index], right - last); }
  }
  // A pixel that several rows share is divided among them from top to bottom, so that a row's area is its time.
  for (const [column, parts] of mixed) {
    let y = box.top;
    const sum = [...parts.values()].reduce((one, other) => one + other, 0);
    for (const [cause, part] of [...parts].sort(([one], [other]) => one - other)) {
      const high = (box.height * part) / sum;
      pen.fillStyle = colours.causes[cause] ?? colours.soft;
      pen.fillRect(column, y, 1, high);
      y += high;
    }
  }
}

function add(columns, column, row, amount) {
  if (amount <= 0) return;
  if (!columns.has(column)) columns.set(column, new Map());
  const parts = columns.get(column);
  parts.set(row, (parts.get(row) ?? 0) + amount);
}
