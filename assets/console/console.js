/* The key / leads to the search. Every page works without scripts. */

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea, [contenteditable]');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector('#search').focus();
});

/* A list that shows what is new by itself: [data-live] is replaced by that of a newer copy of the page. */

const pollMs = 3_000;
const longestPauseMs = 60_000;

function watchList(list) {
  const bar = document.createElement('p');
  bar.className = 'live';
  bar.innerHTML = `<label><input type="checkbox"> Show new deliveries as they arrive</label>
    <span class="paused"></span> <span role="status"></span>`;
  const [on, paused, told] = bar.querySelectorAll('input, .paused, [role]');
  on.checked = localStorage.getItem('live') !== 'off';
  on.addEventListener('change', () => localStorage.setItem('live', on.checked ? 'on' : 'off'));
  list.before(bar);

  const isSelected = () => !getSelection().isCollapsed && getSelection().containsNode(list, true);
  const isInUse = () => list.contains(document.activeElement) || isSelected();
  const idsIn = (element) =>
    [...element.querySelectorAll('tbody tr')].map((row) => row.querySelector('a').href);
  let waitMs = pollMs;

  const replace = (page) => {
    const fresh = new DOMParser().parseFromString(page, 'text/html').querySelector('[data-live]');
    const known = new Set(idsIn(list));
    const added = new Set(idsIn(fresh).filter((id) => !known.has(id))).size;
    const { scrollTop = 0, scrollLeft = 0 } = list.querySelector('.scroll') ?? {};
    list.replaceChildren(...fresh.childNodes);
    Object.assign(list.querySelector('.scroll') ?? {}, { scrollTop, scrollLeft });
    if (added > 0) told.textContent = added === 1 ? '1 new delivery' : `${added} new deliveries`;
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
      Object.assign(document.createElement('option'), { value: id, label: alias }),
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
