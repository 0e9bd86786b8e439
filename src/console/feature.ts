import { type Express, Router } from 'express';
import { takesCallbacks } from '../common/config/config.ts';
import type { Feature } from '../receiver/feature.ts';

/** The code of the pages is loaded with the first request: commands do without. */
export const console: Feature = {
  name: 'console',
  routes: (core) => {
    const router = Router({ caseSensitive: true });
    const { adminToken, oidc } = core.config;
    if (!takesCallbacks(core.config) || !(adminToken || oidc)) return router;
    let opening: Promise<Express> | undefined;
    router.get('/', (_req, res) => res.redirect(303, '/console'));
    router.use('/console', async (req, res, next) => {
      opening ??= import('./console.ts').then(({ openConsole }) => openConsole(core));
      (await opening)(req, res, next);
    });
    return router;
  },
};
