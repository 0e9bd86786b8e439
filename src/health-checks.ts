import type { AccessChecks } from './http/access/access-checks.ts';
import type { QueueBackend } from './queue/backend.ts';
import type { DeliveryQueue } from './queue/delivery-queue.ts';
import type { HealthCheck } from './readiness.ts';
import type { Circuit } from './store/circuit.ts';
import type { RunningWorker } from './worker/worker.ts';

export interface HealthSources {
  /** PostgreSQL's. */
  circuit: Circuit;
  backend: QueueBackend;
  queue: DeliveryQueue;
  worker: Pick<RunningWorker, 'takesJobs'> | undefined;
  access: Pick<AccessChecks, 'describe'>;
}

/** The checks of /readyz. The process is ready while one store accepts deliveries; the other checks are information. */
export function healthChecks(sources: HealthSources): HealthCheck[] {
  const { circuit, backend, queue, worker, access } = sources;
  const { fallback } = backend;
  const available = async (store: Circuit, detail: string) => {
    if (!(await store.check())) throw new Error('The store is unavailable.');
    return detail;
  };
  const database = () => available(circuit, 'PostgreSQL');
  const inRedis = () => available(backend.circuit, 'Redis, until PostgreSQL is available');
  const checks: (HealthCheck | undefined)[] = [
    {
      name: 'store',
      required: true,
      check: () => database().catch((error) => (fallback ? inRedis() : Promise.reject(error))),
    },
    { name: 'database', check: () => database().then(() => 'accepts deliveries') },
    {
      name: 'queue',
      check: async () => {
        queue.bullmq();
        return available(backend.circuit, `on ${backend.name}`);
      },
    },
    worker && {
      name: 'worker',
      check: async () => {
        if (!worker.takesJobs()) throw new Error('It takes no jobs.');
        return 'takes jobs';
      },
    },
    fallback && {
      name: 'fallback',
      check: () => inRedis().then(async () => (await fallback.readDurability()).detail),
    },
    { name: 'access', check: async () => access.describe() },
  ];
  return checks.filter((check) => !!check);
}
