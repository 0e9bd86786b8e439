/* Every page works without scripts. */

/* The key / searches, outside of fields. */

addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, select, textarea')) return;
  event.preventDefault();
  document.querySelector('#search').select();
});

/* An open menu closes with Escape, and with a click elsewhere. */

const closeUserMenu = () => document.querySelector('.user[open]')?.removeAttribute('open');
addEventListener('click', (event) => event.target.closest('.user') ?? closeUserMenu());
addEventListener('keydown', (event) => event.key === 'Escape' && closeUserMenu());
