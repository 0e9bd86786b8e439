import { type Express, Router } from 'express';
import type { Feature } from '../feature.ts';

/** The pages for people, where somebody can sign in. Their code is loaded with the first request: commands do without. */
export const console: Feature = {
  name: 'console',
  routes: (core) => {
    const router = Router({ caseSensitive: true });
    const { role, adminToken, oidc } = core.config;
    if (role === 'worker' || !(adminToken || oidc)) return router;
    let opening: Promise<Express> | undefined;
    router.get('/', (_req, res) => res.redirect(303, '/console'));
    router.use('/console', async (req, res, next) => {
      opening ??= import('./open-console.ts').then(({ openConsole }) => openConsole(core));
      (await opening)(req, res, next);
    });
    return router;
  },
};
