/* Every page works without scripts. */

/* The key / searches, outside of fields. */
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input')) return;
  event.preventDefault();
  document.querySelector('#search').select();
});
