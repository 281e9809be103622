// The colours that the canvas draws with are those of page.css. A canvas knows no variables, so they are read off elements.

const INKS = ['ground', 'raised', 'ink', 'soft', 'line', 'accent', 'host', 'loader', 'stream', 'on', 'veil'];

function coloursOf(place, rows) {
  const probe = make('span', { hidden: '' });
  place.append(probe);
  const read = (colour) => { probe.style.color = colour; return getComputedStyle(probe).color; };
  const inks = Object.fromEntries(INKS.map((name) => [name, read(`var(--${name})`)]));
  const causes = rows.map((row) => { probe.className = rowClass(row.row); return read('var(--row)'); });
  const kinds = KINDS.map(([kind]) => { probe.className = `kind-${kind}`; return read('var(--kind)'); });
  probe.remove();
  return { ...inks, causes, kinds, hatch: hatched(inks.accent), beyond: hatched(inks.line) };
}

// Diagonal lines, so that what matters is told apart without colour as well.
function hatched(colour) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const pen = tile.getContext('2d');
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  for (const shift of [-6, 0, 6]) { pen.moveTo(shift, 6); pen.lineTo(shift + 6, 0); }
  pen.stroke();
  return pen.createPattern(tile, 'repeat');
}
