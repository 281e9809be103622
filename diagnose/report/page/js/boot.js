
// ---- only in report.html: the picture is in the page, and so is the switch between dark and light

async function inflated(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}

function themeButton(button, system) {
  const page = document.documentElement;
  const isDark = () => (page.dataset.theme ? page.dataset.theme === 'dark' : system.matches);
  const say = () => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `${button.textContent} colours`);
  };
  button.addEventListener('click', () => { page.dataset.theme = isDark() ? 'light' : 'dark'; say(); });
  system.addEventListener('change', say);
  say();
  button.hidden = false;
}

themeButton(document.querySelector('.dg-theme'), matchMedia('(prefers-color-scheme: dark)'));
const packed = document.getElementById('dg-packed')?.textContent.trim();
start(document.body, packed ? await inflated(packed) : null);
