/* The key / leads to the search. Every page works without scripts. */

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea, [contenteditable]');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector('#search').focus();
});
