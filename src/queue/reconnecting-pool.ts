import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

const longestPauseMs = 2_000;

/**
 * A pool whose `connect` waits for PostgreSQL to come back, as a Redis client of a consumer does.
 *
 * BullMQ's worker asks again at once after an error that is not ECONNREFUSED, and a server that starts or
 * stops gives other errors: without the wait the worker would spin, and log each turn.
 */
export class ReconnectingPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connected = this.connectAtLast();
    if (!callback) return connected;
    connected.then(
      (client) => callback(undefined, client, () => client.release()),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }

  private async connectAtLast(): Promise<pg.PoolClient> {
    for (let pause = 100; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        return await super.connect();
      } catch (error) {
        if (this.ending || this.ended) throw error;
        await sleep(pause);
      }
    }
  }
}
