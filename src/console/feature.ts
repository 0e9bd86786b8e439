import { type Express, Router } from 'express';
import { type Config, takesCallbacks } from '../common/config/config.ts';
import type { Check, Feature } from '../receiver/feature.ts';

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
  checks: async ({ config }) =>
    config.oidc && takesCallbacks(config) ? [await checkSignIn(config.oidc)] : [],
};

async function checkSignIn(oidc: NonNullable<Config['oidc']>): Promise<Check> {
  const { createProvider } = await import('./sign-in/provider.ts');
  const detail = await createProvider(oidc).findFault();
  const name = 'sign-in';
  if (!detail) return { name, status: 'ok', title: 'The identity provider responds', detail: '' };
  const todo = 'Compare OIDC_ISSUER with the name in detail, and see that this host reaches the provider';
  return { name, status: 'fail', title: 'Nobody can sign in with an account', detail, todo };
}
