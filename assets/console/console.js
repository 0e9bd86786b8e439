/* Every page works without scripts. */

addEventListener('click', async ({ target }) => {
  if (!target.dataset?.copy) return;
  await navigator.clipboard.writeText(target.dataset.copy);
  target.textContent = 'Copied';
});

/* The key / searches, outside of fields. */
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea')) return;
  event.preventDefault();
  document.querySelector('#search').select();
});
