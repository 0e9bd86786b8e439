import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

const minPauseMs = 100;
const maxPauseMs = 2_000;

/**
 * A pool whose `connect` retries with backoff until PostgreSQL is available, as the Redis client of a consumer does.
 *
 * BullMQ's worker retries at once after any error but ECONNREFUSED, and a server that starts or stops causes others:
 * without the backoff the worker would spin, and log each attempt.
 */
export class ReconnectingPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connected = this.connectWithRetries();
    if (!callback) return connected;
    connected.then(
      (client) => callback(undefined, client, () => client.release()),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }

  private async connectWithRetries(): Promise<pg.PoolClient> {
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await super.connect();
      } catch (error) {
        if (this.ending || this.ended) throw error;
        await sleep(pauseMs);
      }
    }
  }
}
