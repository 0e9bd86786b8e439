import type { Config } from '../config/config.ts';
import { type AppDependencies, createApp } from './app.ts';
import type { RequestLog } from './request-log.ts';
import { listen } from './server.ts';

/**
 * Serves the metrics and the health of the process at METRICS_PORT, if that is set. If the port is in use, for
 * example by another worker of the same machine, the process works without this server.
 *
 * @returns closes the server
 */
export async function serveMetrics(
  dependencies: Pick<AppDependencies, 'health' | 'admin' | 'metrics' | 'log'> & {
    requests?: RequestLog | undefined;
  },
  config: Pick<Config, 'host' | 'limits' | 'metrics' | 'authentication'>,
): Promise<() => Promise<void>> {
  const { port } = config.metrics;
  const callbacks = new Map();
  if (port === undefined) return async () => {};
  try {
    const app = createApp({ ...dependencies, callbacks });
    // Nobody sends callbacks there.
    const own = { ...config, port, socket: undefined, drainMs: 0 };
    const server = await listen(app, callbacks, own, dependencies);
    dependencies.log.info({ url: server.url }, 'metrics server started');
    return server.stop;
  } catch (err) {
    dependencies.log.warn({ err, port }, 'METRICS_PORT cannot be used; continuing without it');
    return async () => {};
  }
}
