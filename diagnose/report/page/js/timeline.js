// The canvas: the whole step where only a part is shown, a time axis, the strip of causes, the lanes. It knows pixels and time; the panel around it knows words.

const OVERVIEW = 12, AXIS = OVERVIEW + 26, STRIP = 24, TITLE = 21, ROW = 17, GAP = 9, TALLEST = 6000, LEAST_SPAN_US = 0.5;
const PAPER = 760, PAPER_RATIO = 2; // pixels across a page, and how sharp they are
const FONT = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

class Timeline {
  // `told(hit)`: what lies under the pointer, or null; `picked(hit)`: what was clicked, or null.
  constructor(canvas, picture, { told, picked }) {
    Object.assign(this, { canvas, picture, told, picked, pen: canvas.getContext('2d'), prepared: [], version: 0, hover: null, pin: null });
    this.whole = Math.max(0.001, ...picture.versions.map((version) => version.drawn_us)); // all versions share the scale
    this.depths = depthsOf(picture);
    this.kinds = picture.names.map(kindOf);
    this.layOut();
    this.from = 0; this.to = this.whole;
    this.listen();
  }

  layOut() {
    const rows = this.depths.reduce((sum, depth) => sum + depth, 0);
    const fixed = AXIS + TITLE + STRIP + GAP + this.depths.length * (TITLE + GAP);
    this.row = Math.max(3, Math.min(ROW, (TALLEST - fixed) / Math.max(1, rows)));
    let y = AXIS;
    this.strip = y + TITLE;
    y = this.strip + STRIP + GAP;
    this.tops = this.depths.map((depth) => { const top = y + TITLE; y = top + depth * this.row + GAP; return top; });
    this.height = y;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.dataset.strip = this.strip;
    this.canvas.dataset.tops = this.tops.join(' ');
    this.canvas.dataset.row = this.row;
  }

  get isZoomed() { return this.to - this.from < this.whole; }
  get shown() { return this.picture.versions[this.version]; }
  rows() { return (this.prepared[this.version] ??= rowsOf(this.shown.events, this.depths)); }
  x(time) { return (time - this.from) * this.scale; }
  time(x) { return this.from + x / this.scale; }

  // ---- what is shown

  show(version) { this.version = version; this.hover = this.pin = null; this.told(null); this.picked(null); this.ask(); }

  look(from, to) {
    const span = Math.min(this.whole, Math.max(LEAST_SPAN_US, to - from));
    this.from = Math.max(0, Math.min(this.whole - span, from + (to - from - span) / 2));
    this.to = this.from + span;
    this.ask();
  }

  zoom(factor, at = (this.from + this.to) / 2) { this.look(at - (at - this.from) / factor, at + (this.to - at) / factor); }
  pan(part) { const by = part * (this.to - this.from); this.look(this.from + by, this.to + by); }
  reset() { this.look(0, this.whole); }

  // Zooms to an event so that it fills a third, and pins it.
  bring(index) {
    const { start, dur } = this.shown.events, room = Math.max(dur[index], 20);
    this.look(start[index] - room, start[index] + dur[index] + room);
    this.choose({ event: index });
  }

  choose(hit) { this.pin = hit; this.picked(hit); this.ask(); }

  // The next culprit after the pinned one (direction 1), or the one before (-1), the costliest first.
  culprit(direction) {
    const { dur, finding } = this.shown.events;
    const order = finding.flatMap((found, index) => (found >= 0 ? [index] : [])).sort((one, other) => dur[other] - dur[one]);
    if (!order.length) return;
    const at = order.indexOf(this.pin?.event ?? -1);
    this.bring(order[at < 0 ? (direction > 0 ? 0 : order.length - 1) : (at + direction + order.length) % order.length]);
  }

  // ---- drawing

  recolour() { this.colours = coloursOf(this.canvas.parentElement, this.picture.rows); this.ask(); }
  // At once and as wide as paper, or as the screen is again.
  print(onPaper) {
    this.onPaper = onPaper;
    this.recolour();
    if (onPaper) this.paint();
  }

  ask() { this.asked ??= requestAnimationFrame(() => { this.asked = undefined; this.paint(); }); }

  paint() {
    const { pen, colours } = this, ratio = this.onPaper ? PAPER_RATIO : globalThis.devicePixelRatio || 1;
    const width = this.onPaper ? PAPER : this.canvas.clientWidth;
    if (!width) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.width = width;
    this.scale = width / (this.to - this.from);
    pen.font = FONT;
    pen.textBaseline = 'middle';
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, width, this.height);
    if (this.isZoomed) this.paintOverview();
    this.paintAxis();
    this.paintStrip();
    this.painted = 0;
    this.rows().forEach((lane, number) => this.paintLane(lane, number));
    this.paintPeak();
    this.paintEnd();
    this.outline(this.hover, 1.5);
    this.outline(this.pin, 2.5);
    Object.assign(this.canvas.dataset, { version: this.version, from: this.from, to: this.to, painted: this.painted });
  }

  paintAxis() {
    const { pen, colours } = this, span = this.to - this.from;
    const rough = (span / this.width) * 90, power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= rough);
    const decimals = Math.max(0, Math.ceil(3 - Math.log10(tick) - 1e-9));
    for (let number = Math.ceil(this.from / tick); number * tick <= this.to; number++) {
      const x = Math.round(this.x(number * tick)) + 0.5, label = `${((number * tick) / 1000).toFixed(decimals)} ms`;
      pen.fillStyle = colours.line;
      pen.fillRect(x - 0.5, AXIS - 5, 1, this.height);
      pen.fillStyle = colours.soft;
      if (x + 4 + pen.measureText(label).width < this.width) pen.fillText(label, x + 4, AXIS - 14);
    }
  }

  paintStrip() {
    this.title('What the time goes to', this.strip);
    paintCauses(this.pen, this.shown.causes, this.colours, { top: this.strip, height: STRIP, width: this.width }, (time) => this.x(time));
  }

  // All of the step, and a frame around what is shown of it.
  paintOverview() {
    const { pen, colours, width } = this, at = (time) => (time / this.whole) * width;
    paintCauses(pen, this.shown.causes, colours, { top: 0, height: OVERVIEW, width }, at);
    pen.fillStyle = colours.veil;
    pen.fillRect(0, 0, at(this.from), OVERVIEW);
    pen.fillRect(at(this.to), 0, width, OVERVIEW);
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(at(this.from), 1, Math.max(3, at(this.to) - at(this.from)), OVERVIEW - 2);
  }

  title(text, top) {
    this.pen.fillStyle = this.colours.ink;
    this.pen.fillText(cut(text), 8, top - TITLE / 2, Math.max(40, this.width - 16));
  }

  paintLane(lane, number) {
    const { title, kind } = this.picture.lanes[number], colour = this.colours[kind] ?? this.colours.host;
    this.title(title, this.tops[number]);
    lane.forEach((row, depth) => {
      const y = this.tops[number] + depth * this.row;
      this.paintRow(row, y, colour, false);
      this.paintRow(row, y, colour, true);
    });
  }

  // One row, either its culprits or all others. What is thinner than a pixel is drawn once a pixel; culprits come last, so none is hidden.
  paintRow(row, y, colour, culprits) {
    const { pen, width, kinds, colours } = this, { finding, name } = this.shown.events, height = this.row - 1;
    let done = -1;
    for (let at = firstAfter(row, this.from); at < row.start.length && row.start[at] < this.to; at++) {
      if (finding[row.index[at]] >= 0 !== culprits) continue;
      const left = Math.max(-2, this.x(row.start[at])), right = Math.min(width + 2, this.x(row.end[at]));
      if (right <= done) continue;
      const from = Math.max(left, done), wide = Math.max(1, right - from - (right - from > 3 ? 1 : 0));
      const kind = kinds[name[row.index[at]]];
      pen.fillStyle = colours.kinds[kind] ?? colour;
      pen.fillRect(from, y, wide, height);
      if (culprits) this.mark(from, y, wide, height);
      done = from + wide;
      this.painted++;
      if (wide > 34 && height > 9) this.label(row.index[at], from, y, wide, height, culprits, kind >= 0 ? colours.on : colours.ink);
    }
  }

  // Hatched and outlined; underlined where there is no room for that.
  mark(x, y, wide, height) {
    const { pen, colours } = this, thin = wide <= 4;
    pen.fillStyle = thin ? colours.accent : colours.hatch;
    pen.fillRect(x, thin ? y + height * 0.6 : y, wide, thin ? height * 0.4 : height);
    if (thin) return;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(x + 0.75, y + 0.75, wide - 1.5, height - 1.5);
  }

  label(index, x, y, wide, height, culprit, ink) {
    const { pen, colours, shown, picture } = this, name = (picture.names[shown.events.name[index]] ?? '').replace(/^void /, '');
    const from = Math.max(x, 0), room = Math.floor((Math.min(x + wide, this.width) - from - 8) / 6);
    if (room < 4) return;
    const text = name.length > room ? `${name.slice(0, room - 1)}…` : name;
    if (culprit) {
      pen.fillStyle = colours.ground;
      pen.fillRect(from + 4, y + 2, pen.measureText(text).width + 4, height - 4);
    }
    pen.fillStyle = culprit ? colours.ink : ink;
    pen.fillText(text, from + (culprit ? 6 : 4), y + height / 2 + 0.5);
  }

  // What lies beyond the end of a version that is shorter than the longest.
  paintEnd() {
    const { pen, colours } = this, end = this.x(this.shown.drawn_us);
    if (end >= this.width - 1 || this.shown.drawn_us >= this.whole) return;
    const left = Math.max(0, end);
    pen.fillStyle = colours.beyond;
    pen.fillRect(left, AXIS, this.width - left, this.height);
    pen.fillStyle = colours.ink;
    pen.fillRect(left, AXIS - 6, 1.5, this.height);
    const text = 'end of this step', wide = pen.measureText(text).width;
    if (left + wide + 14 > this.width) return;
    pen.fillStyle = colours.ground;
    pen.fillRect(left + 5, this.strip + 3, wide + 8, STRIP - 6);
    pen.fillStyle = colours.ink;
    pen.fillText(text, left + 9, this.strip + STRIP / 2);
  }

  // When memory is at its peak.
  paintPeak() {
    const { pen, colours } = this, { peak_us: peak } = this.shown;
    if (peak == null || peak < this.from || peak > this.to) return;
    const at = Math.round(this.x(peak)) + 0.5, text = 'memory peak', wide = pen.measureText(text).width + 8;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(at, AXIS - 2);
    pen.lineTo(at, this.height);
    pen.stroke();
    pen.setLineDash([]);
    const left = Math.max(0, Math.min(at + 3 + wide > this.width ? at - 3 - wide : at + 3, this.width - wide));
    pen.fillStyle = colours.ground;
    pen.fillRect(left, this.strip + STRIP + 2, wide, 14);
    pen.fillStyle = colours.ink;
    pen.fillText(text, left + 4, this.strip + STRIP + 9);
  }

  outline(hit, thick) {
    if (!hit) return;
    const { start, dur, lane, depth } = this.shown.events, { causes } = this.shown, is = hit.event !== undefined;
    const from = is ? start[hit.event] : causes.start[hit.cause], length = is ? dur[hit.event] : causes.dur[hit.cause];
    const top = is ? this.tops[lane[hit.event]] + depth[hit.event] * this.row : this.strip;
    const left = Math.max(-3, this.x(from)), right = Math.min(this.width + 3, this.x(from + length));
    this.pen.strokeStyle = this.colours.ink;
    this.pen.lineWidth = thick;
    this.pen.strokeRect(left, top, Math.max(2, right - left), (is ? this.row : STRIP + 1) - 1);
  }

  // ---- pointer and keys

  hit(x, y) {
    const time = this.time(x), slack = 2 / this.scale;
    if (y >= this.strip && y < this.strip + STRIP) {
      const { start, dur } = this.shown.causes, cause = start.findIndex((from, index) => from <= time && time < from + dur[index]);
      return cause < 0 ? null : { cause };
    }
    const lane = this.tops.findIndex((top, number) => y >= top && y < top + this.depths[number] * this.row);
    if (lane < 0) return null;
    const row = this.rows()[lane][Math.floor((y - this.tops[lane]) / this.row)], at = row ? eventAt(row, time, slack) : -1;
    return at < 0 ? null : { event: row.index[at] };
  }

  // What is pointed at no more.
  leave() { this.hover = null; this.told(null); this.ask(); }

  listen() {
    const { canvas } = this, left = new AbortController();
    let grip = null;
    const drag = (x) => {
      if (grip.overview) { const at = (x / this.width) * this.whole, half = (grip.to - grip.from) / 2; this.look(at - half, at + half); }
      else { const by = (grip.x - x) / this.scale; this.look(grip.from + by, grip.to + by); }
    };
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button) return;
      const overview = this.isZoomed && event.offsetY < OVERVIEW;
      grip = { x: event.offsetX, from: this.from, to: this.to, overview, moved: overview };
      canvas.setPointerCapture(event.pointerId);
      if (overview) drag(event.offsetX);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (grip && Math.abs(event.offsetX - grip.x) > 3) grip.moved = true;
      if (grip?.moved) drag(event.offsetX);
      this.hover = grip?.moved ? null : this.hit(event.offsetX, event.offsetY);
      this.told(this.hover, event.offsetX, event.offsetY);
      this.ask();
    });
    canvas.addEventListener('pointerup', (event) => {
      if (grip && !grip.moved) {
        this.choose(this.hit(event.offsetX, event.offsetY));
        this.told(this.pin, event.offsetX, event.offsetY);
      }
      grip = null;
    });
    canvas.addEventListener('pointerleave', (event) => { grip = null; if (event.pointerType !== 'touch') this.leave(); }); // a finger leaves at once
    canvas.addEventListener('pointercancel', () => { grip = null; this.leave(); });
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
    const anywhere = (name, gone) => document.addEventListener(name, (event) => { if (gone(event)) this.leave(); }, { capture: true, signal: left.signal });
    anywhere('scroll', () => true);
    anywhere('keydown', (event) => event.key === 'Escape');
    anywhere('pointerdown', (event) => event.target !== canvas);
    this.end = () => left.abort();
  }

  // Without Ctrl the page scrolls, as everywhere; sideways the step does.
  wheel(event) {
    const unit = event.deltaMode ? 30 : 1, sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp((-event.deltaY * unit) / 300), this.time(event.offsetX));
    else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) this.pan((sideways * unit) / this.width);
    else return;
    event.preventDefault();
  }

  key(event) {
    const keys = {
      '+': () => this.zoom(1.5), '=': () => this.zoom(1.5), '-': () => this.zoom(1 / 1.5), '−': () => this.zoom(1 / 1.5),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), 0: () => this.reset(), Home: () => this.reset(),
      n: () => this.culprit(1), p: () => this.culprit(-1), Escape: () => this.choose(null),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
