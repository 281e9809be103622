// The Diagnose tab: the runs of the log folder, the report of the chosen one, and what changed between two.
// All text that comes from the server as JSON goes into text nodes; HTML comes only from our own, escaping renderers.
import { start } from "./page.js";

const FEW = 4; // runs whose list stays open: a longer one would push the report off the screen
const AGAIN_MS = 1000; // between questions while the server is still looking through the log folder
const NAME = "diagnose";
const outer = window.parent; // TensorBoard's own page; this window where the tab is opened by itself

// `shown`: what the report's place holds or waits for; `end` takes the listeners of the report there away.
const state = { rows: [], chosen: "", against: "", shown: "", listed: false, turn: 0, timer: 0, end: () => {} };
const part = {};

export async function render() {
  document.querySelector("base")?.remove(); // else links within the report would leave it
  document.documentElement.lang = "en";
  document.title = "Diagnose";
  for (const name of ["page.css", "tab.css"]) {
    document.head.append(make("link", { rel: "stylesheet", href: new URL(name, import.meta.url).href }));
  }
  followTheme();
  document.body.append(skeleton());
  Object.assign(state, remembered());
  listenToReloads();
  await refresh();
}

// ---- the frame around the report

function skeleton() {
  const titles = ["Run", "Headline", "Step", "When", "Device"].map((title) => make("th", { scope: "col" }, title));
  part.rows = make("tbody", {});
  part.count = make("summary", {});
  part.list = make("details", { className: "tab-runs" }, part.count,
    make("div", { className: "tab-scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...titles)), part.rows)));
  part.against = make("select", { onchange: () => choose(state.chosen, part.against.value) });
  part.trace = make("a", { className: "tab-button", title: "For ui.perfetto.dev or chrome://tracing" }, "Download the trace");
  const again = make("button", { type: "button", className: "tab-button", onclick: refresh }, "Look for new runs");
  part.compare = make("label", {}, "Compare with ", part.against);
  const tools = make("div", { className: "tab-tools" }, part.compare, part.trace, again);
  part.note = make("p", { className: "tab-note", role: "status" });
  part.report = make("div", {});
  return make("div", { className: "tab" }, make("header", { className: "tab-bar" }, part.list, tools, part.note), part.report);
}

function drawRows() {
  const choosing = document.activeElement?.name === "run";
  const one = runOf(state.chosen);
  part.rows.replaceChildren(...state.rows.map(rowOf));
  if (choosing) part.rows.querySelector("input:checked")?.focus();
  const count = state.rows.length === 1 ? "1 run" : `${state.rows.length.toLocaleString("en")} runs`;
  part.count.replaceChildren(count, ...(one && state.rows.length > 1 ? [make("span", {}, ` – shown: ${one.name}`)] : []));
  part.list.hidden = state.rows.length === 0;
  const others = state.rows.filter((other) => other !== one && !other.problem);
  const options = [{ run: "", name: "no other run" }, ...others].map(({ run, name }) => make("option", { value: run }, name));
  part.against.replaceChildren(...options);
  part.against.value = state.against;
  part.compare.hidden = others.length === 0 || Boolean(one?.problem);
  part.trace.hidden = !one?.trace;
  part.trace.href = address("trace", { run: state.chosen });
}

function rowOf(one) {
  const chosen = one.run === state.chosen;
  const radio = make("input", { type: "radio", name: "run", value: one.run, checked: chosen, onchange: () => choose(one.run, "") });
  const when = new Date(one.when * 1000);
  const shown = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return make("tr", { className: chosen ? "tab-chosen" : "", onclick: ({ target }) => target.closest("label") ?? radio.click() },
    make("td", {}, make("label", {}, radio, make("span", {}, one.name))),
    make("td", { className: one.problem ? "tab-problem" : "" }, ...badge(one), ...prose(one.problem || one.headline)),
    make("td", { className: "tab-short" }, one.step),
    make("td", { className: "tab-short" }, make("time", { dateTime: when.toISOString() }, shown)),
    make("td", { className: "tab-short" }, one.device));
}

const badge = ({ badge: words }) => (words ? [make("span", { className: "tab-badge" }, words), " "] : []);

// ---- what is asked of the server

async function refresh() {
  let answer;
  try {
    answer = await (await ask("runs", {})).json();
  } catch (error) {
    say(error.message);
    return;
  }
  if (!state.listed) part.list.open = answer.runs.length > 1 && answer.runs.length <= FEW; // what a list of one says, its report says
  state.listed ||= !answer.searching; // later it is as open as people want it
  state.rows = answer.runs;
  say(noteOn(answer));
  if (!runOf(state.chosen)) {
    const first = answer.runs.find((one) => !one.problem) ?? answer.runs[0];
    Object.assign(state, { chosen: first?.run ?? "", against: "" });
  }
  if (!runOf(state.against)) state.against = "";
  drawRows();
  clearTimeout(state.timer);
  if (answer.searching) state.timer = setTimeout(refresh, AGAIN_MS);
  await show();
}

function noteOn({ logdir, searching, cut, runs }) {
  if (!logdir) return "TensorBoard was started without --logdir, below which this tab looks for runs.";
  if (searching) return `Looking for runs in ${logdir} …`;
  if (cut) return `${logdir} holds more than is looked through. Start TensorBoard nearer to the runs that are missing here.`;
  if (runs.length === 0) return `There is no report of diagnose in ${logdir}. \`python -m diagnose YOUR_SCRIPT.py\` writes one.`;
  return "";
}

function choose(run, against) {
  Object.assign(state, { chosen: run, against });
  remember();
  drawRows();
  show();
}

// The report of the chosen run, or what changed between two; nothing if that is what is there already.
async function show() {
  const one = runOf(state.chosen);
  const wanted = JSON.stringify([one, state.against && runOf(state.against)]);
  if (wanted === state.shown) return;
  state.shown = wanted;
  const turn = ++state.turn; // a later choice makes this one's answers void
  state.end();
  state.end = () => {};
  part.report.className = state.against ? "tab-comparison" : "";
  if (!one) return part.report.replaceChildren();
  if (one.problem) return fail(one.problem);
  part.report.replaceChildren(make("p", { className: "tab-said" }, state.against ? "Comparing …" : "Reading the report …"));
  try {
    const asked = state.against ? ask("compare", { a: state.against, b: one.run }) : ask("fragment", { run: one.run });
    const html = await (await asked).text();
    if (turn !== state.turn) return;
    part.report.innerHTML = html;
    for (const link of part.report.querySelectorAll('a[href^="http"]')) link.target = "_blank";
    if (!state.against) await draw(one, turn);
  } catch (error) {
    if (turn === state.turn) fail(error.message);
  }
}

async function draw(one, turn) {
  let picture = null;
  let problem = "";
  if (one.picture) {
    try {
      picture = await (await ask("picture", { run: one.run })).json();
    } catch (error) {
      problem = error.message;
    }
  }
  if (turn !== state.turn) return;
  state.end = start(part.report, picture);
  if (problem) part.report.prepend(make("p", { className: "tab-said tab-problem" }, ...prose(`The timeline cannot be drawn: ${problem}`)));
}

function fail(message) {
  state.shown = "";
  part.report.replaceChildren(make("p", { className: "tab-said tab-problem", role: "alert" }, ...prose(message)));
}

function say(message) {
  part.note.replaceChildren(...prose(message));
}

async function ask(route, parameters) {
  let response;
  try {
    response = await fetch(address(route, parameters));
  } catch {
    throw new Error("TensorBoard does not answer. Is it still running?");
  }
  if (!response.ok) throw new Error(await response.text());
  return response;
}

function address(route, parameters) {
  const url = new URL(route, import.meta.url);
  url.search = new URLSearchParams(parameters);
  return url.href;
}

// ---- TensorBoard around the tab

// TensorBoard tells its frames when it has reloaded: a port, and an answer to each message, is all it wants.
function listenToReloads() {
  if (outer === window) return;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => {
    const { type, id, isReply } = JSON.parse(data);
    if (isReply) return;
    port1.postMessage(JSON.stringify({ type, id, payload: null, error: null, isReply: true }));
    if (type === "experimental.DataReloaded") refresh();
  };
  outer.postMessage("experimental.bootstrap", "*", [port2]);
}

// TensorBoard's own switch decides where there is one; alone, the tab follows the system.
function followTheme() {
  if (outer === window) return;
  const body = outer.document.body;
  const follow = () => { document.documentElement.dataset.theme = body.classList.contains("dark-mode") ? "dark" : "light"; };
  new MutationObserver(follow).observe(body, { attributeFilter: ["class"] });
  follow();
}

// TensorBoard's address names the tab and, as `p.<plugin>.<key>`, what a plugin wants to find again.
function remembered() {
  const known = new URLSearchParams(outer.location.hash.slice(1));
  const value = (key) => known.get(`p.${NAME}.${key}`) ?? "";
  return { chosen: value("run"), against: value("against") };
}

function remember() {
  const pairs = [["run", state.chosen], ["against", state.against]].filter(([, value]) => value);
  const hash = [NAME, ...pairs.map(([key, value]) => `p.${NAME}.${key}=${encodeURIComponent(value)}`)].join("&");
  outer.history.replaceState(outer.history.state, "", `#${hash}`);
}

// ---- small things

function runOf(run) {
  return state.rows.find((one) => one.run === run);
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// A sentence whose `back-ticked` parts are code.
function prose(sentence) {
  return sentence.split("`").map((piece, index) => (index % 2 ? make("code", {}, piece) : piece));
}
