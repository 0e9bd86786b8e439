import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { openConsole } from '../../src/console/app.ts';
import type { ConsoleDependencies } from '../../src/console/dependencies.ts';
import { families } from '../../src/families/index.ts';
import { oidcSettings } from '../support/oidc-settings.ts';
import { adminToken } from './visitor.ts';

/** The routes of the console as Express has them, such as `GET /deliveries/:id`. Nothing is connected to. */
export function routesOf(): string[] {
  const { app, close } = openConsole({
    config: { ...parseConfig({}, families), adminToken, oidc: oidcSettings('http://127.0.0.1:9') },
    databaseUrl: 'postgresql://127.0.0.1:9/none',
    families,
    connections: { pages: 2, downloads: 2 },
    attempts: {},
    receiver: {},
    searches: { consume: () => {} },
    log: createLog('silent'),
  } as unknown as ConsoleDependencies);
  void close();
  const routes = app.router.stack.flatMap(({ route }) =>
    route ? route.stack.map(({ method }) => `${method.toUpperCase()} ${route.path}`) : [],
  );
  return [...new Set(routes)];
}
