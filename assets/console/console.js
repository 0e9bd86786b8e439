/* Keys, as /console/keys lists them: / searches, g and a letter opens a section, j and k go through a list, ? lists the keys.
   Every page works without scripts. */

const secondKeyMs = 1_500;
let goesUntil = 0;

function stepTo(step) {
  const links = [...document.querySelectorAll('main tbody tr')].flatMap(
    (row) => row.querySelector('a[href]') ?? [],
  );
  const row = document.activeElement.closest('tr');
  const at = links.findIndex((link) => link.closest('tr') === row);
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step]?.focus();
}

const acts = {
  '/': () => {
    const search = document.querySelector('#search');
    search.focus();
    search.select();
  },
  '?': () => location.assign('/console/keys'),
  g: () => {
    goesUntil = performance.now() + secondKeyMs;
  },
  j: () => stepTo(1),
  k: () => stepTo(-1),
};

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea, [contenteditable], dialog');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const section =
    performance.now() < goesUntil && document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  goesUntil = 0;
  if (!section && !Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  if (section) section.click();
  else acts[event.key]();
});

/* An open menu closes with Escape, and with a click elsewhere. */

const closeUserMenu = () => document.querySelector('.user[open]')?.removeAttribute('open');
addEventListener('click', (event) => event.target.closest('.user') ?? closeUserMenu());
addEventListener('keydown', (event) => event.key === 'Escape' && closeUserMenu());

/* A list that shows what is new by itself: [data-live] is replaced by that of a newer copy of the page. */

const pollMs = 3_000;
const longestPauseMs = 60_000;

function watchList(list) {
  const bar = document.createElement('p');
  bar.className = 'live';
  const [one, many] = list.dataset.live.split(' ');
  bar.innerHTML = `<label><input type="checkbox"> Show new ${many} as they arrive</label>
    <span class="paused"></span> <span role="status"></span>`;
  const [on, paused, told] = bar.querySelectorAll('input, .paused, [role]');
  on.checked = localStorage.getItem('live') !== 'off';
  on.addEventListener('change', () => localStorage.setItem('live', on.checked ? 'on' : 'off'));
  list.before(bar);

  const isSelected = () => !getSelection().isCollapsed && getSelection().containsNode(list, true);
  const isInUse = () => list.contains(document.activeElement) || isSelected();
  const idsIn = (element) =>
    [...element.querySelectorAll('tbody tr')].map((row) => row.querySelector('a')?.href);
  let waitMs = pollMs;

  const replace = (page) => {
    const fresh = new DOMParser().parseFromString(page, 'text/html').querySelector('[data-live]');
    const known = new Set(idsIn(list));
    const added = new Set(idsIn(fresh).filter((id) => !known.has(id))).size;
    const { scrollTop = 0, scrollLeft = 0 } = list.querySelector('.scroll') ?? {};
    list.replaceChildren(...fresh.childNodes);
    Object.assign(list.querySelector('.scroll') ?? {}, { scrollTop, scrollLeft });
    if (added > 0) told.textContent = `${added} new ${added === 1 ? one : many}`;
  };

  const poll = async () => {
    const inUse = on.checked && isInUse();
    paused.textContent = inUse ? 'Paused while the list is in use.' : '';
    if (on.checked && !inUse && !document.hidden) {
      try {
        const response = await fetch(location.href, { cache: 'no-store' });
        if (response.status === 401) {
          told.textContent = 'You are signed out. Reload the page to sign in.';
          on.disabled = true;
          return;
        }
        if (!response.ok) throw new Error(response.statusText);
        const page = await response.text();
        // Meanwhile somebody may have begun to read, or switched it off.
        if (on.checked && !isInUse()) replace(page);
        waitMs = pollMs;
      } catch {
        waitMs = Math.min(2 * waitMs, longestPauseMs);
      }
    }
    setTimeout(poll, waitMs);
  };
  setTimeout(poll, waitMs);
}

for (const list of document.querySelectorAll('[data-live]')) watchList(list);

/* A list of names that is a part of all: what is typed finds the others. */

for (const input of document.querySelectorAll('input[data-aliases]')) {
  input.addEventListener('input', async () => {
    const text = input.value;
    const query = new URLSearchParams({ kind: input.dataset.aliases, text });
    const response = await fetch(`/console/aliases/options?${query}`).catch(() => undefined);
    // Meanwhile more may have been typed.
    if (!response?.ok || input.value !== text) return;
    const found = (await response.json()).map(({ id, alias }) =>
      Object.assign(
        document.createElement('option'),
        input.dataset.byName ? { value: alias, label: id } : { value: id, label: alias },
      ),
    );
    input.list.replaceChildren(...found);
  });
}

/* A click on a short id copies the whole. */

addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (!button) return;
  const before = button.textContent;
  const copied = await navigator.clipboard?.writeText(button.dataset.copy).then(
    () => true,
    () => false,
  );
  button.textContent = copied ? 'Copied' : button.dataset.copy;
  if (copied) setTimeout(() => Object.assign(button, { textContent: before }), 1_500);
});
