import type { Config } from '../config.ts';
import { type AppDependencies, createApp } from './app.ts';
import { listen } from './server.ts';

/**
 * Serves the metrics, and whether the process lives and is ready, at METRICS_PORT where that is set. Several
 * processes of a machine may be given the same: all but one do without, for the work comes first.
 *
 * @returns what closes it
 */
export async function serveMetrics(
  dependencies: Pick<AppDependencies, 'health' | 'admin' | 'log'>,
  config: Pick<Config, 'host' | 'drainMs' | 'limits' | 'metrics'>,
): Promise<() => Promise<void>> {
  const { port } = config.metrics;
  const callbacks = new Map();
  if (port === undefined) return async () => {};
  try {
    const server = await listen(createApp({ ...dependencies, callbacks }), callbacks, { ...config, port });
    dependencies.log.info({ url: server.url }, 'metrics are served here');
    return server.stop;
  } catch (err) {
    dependencies.log.warn({ err, port }, 'METRICS_PORT cannot be used; the work goes on without it');
    return async () => {};
  }
}
