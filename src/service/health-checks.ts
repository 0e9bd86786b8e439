import { CheckFailed, type HealthCheck } from '../common/readiness.ts';
import type { Problem } from '../health/problem.ts';
import type { FallbackStream } from '../queue/fallback-stream.ts';
import type { Access } from '../receiver/http/access.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { RunningWorker } from '../worker/worker.ts';
import type { Stores } from './open-stores.ts';

interface HealthSources extends Pick<Stores, 'circuit' | 'backend' | 'queue'> {
  worker: Pick<RunningWorker, 'takesJobs'> | undefined;
  access: Pick<Access, 'describe'>;
  problems: () => Promise<readonly Problem[]>;
}

/** The checks of /readyz. The process is ready while one store accepts deliveries; the other checks are information. */
export function healthChecks(sources: HealthSources): HealthCheck[] {
  const { circuit, backend, queue, worker, access, problems } = sources;
  const { fallback } = backend;
  const available = async (store: Circuit, detail: string) => {
    if (!(await store.check())) throw new Error('The store is unavailable.');
    return detail;
  };
  const database = () => available(circuit, 'PostgreSQL');
  const inRedis = async ({ readState }: FallbackStream) => {
    await available(backend.circuit, 'Redis');
    return readState();
  };
  const acknowledged = async (stream: FallbackStream) => {
    const { acknowledges, detail } = await inRedis(stream);
    if (!acknowledges)
      throw new CheckFailed(`PostgreSQL is unavailable, and Redis acknowledges nothing: ${detail}`);
    return 'Redis, until PostgreSQL is available';
  };
  const checks: (HealthCheck | undefined)[] = [
    {
      name: 'store',
      required: true,
      check: () => database().catch((error) => (fallback ? acknowledged(fallback) : Promise.reject(error))),
    },
    {
      name: 'database',
      check: () => database().then(() => 'accepts deliveries'),
      since: () => circuit.unavailableSince,
    },
    {
      name: 'queue',
      check: async () => {
        queue.bullmq();
        return available(backend.circuit, `on ${backend.name}`);
      },
      since: () => backend.circuit.unavailableSince,
    },
    worker && {
      name: 'worker',
      check: async () => {
        if (!worker.takesJobs()) throw new CheckFailed('takes no jobs');
        return queue.obstacle ? 'applies deliveries without jobs' : 'takes jobs';
      },
    },
    {
      name: 'processing',
      check: async () => {
        const found = await problems().catch(() => {
          throw new CheckFailed('could not be read');
        });
        const failing = found.filter(({ status }) => status === 'fail');
        const texts = (some: typeof found) =>
          some.map(({ title, detail }) => `${title}. ${detail}`).join('; ');
        if (failing.length > 0) throw new CheckFailed(texts(failing));
        return texts(found) || 'no delivery waits for more than a minute';
      },
    },
    fallback && {
      name: 'fallback',
      check: async () => {
        const { acknowledges, isOff, detail } = await inRedis(fallback);
        if (!acknowledges && !isOff) throw new CheckFailed(detail);
        return detail;
      },
    },
    { name: 'access', check: async () => access.describe() },
  ];
  return checks.filter((check) => !!check);
}
