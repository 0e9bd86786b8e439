import type pg from 'pg';
import type { Delivery } from '../../callbacks/delivery.ts';
import { InvalidCallback } from '../../callbacks/rejection.ts';
import type { Config } from '../../common/config/config.ts';
import { byBothClocks } from '../store/clock.ts';

/** `expired`: older than what its family keeps; `unknown`: PostgreSQL cannot say now whether it is. */
export type TimeVerdict = 'current' | 'expired' | 'unknown';

export type JudgeTime = (delivery: Delivery) => Promise<TimeVerdict>;

export interface TimeJudgeOptions {
  config: Config;
  pool: pg.Pool;
  circuit: { timeoutMs: number };
  /** PostgreSQL's clock. */
  clock: { current: () => Promise<number | undefined> };
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Creates the function that judges by both clocks whether the time of an event lets it be stored. PostgreSQL is asked only where
 * this process's clock says no.
 *
 * @throws InvalidCallback: no earlier event could replace what one of the future makes
 */
export function createTimeJudge({ config, pool, circuit, clock }: TimeJudgeOptions): JudgeTime {
  /** A record goes as a whole, once its newest event is too old: until then it takes late callbacks. */
  const isRecordStored = async ({ businessId, family, recordId }: Delivery) => {
    const text = `select from receiver.inbox where business_id = $1 and family = $2 and record_id = $3 limit 1`;
    const values = [businessId, family, recordId];
    const { rowCount } = await pool.query({ text, values, query_timeout: circuit.timeoutMs });
    return rowCount === 1;
  };

  return async (delivery) => {
    const { eventMs, family } = delivery;
    const keptMs = config.retention[family] ?? Number.POSITIVE_INFINITY;
    const judge = (nowMs: number) => {
      if (eventMs > nowMs + dayMs) return 'future';
      return eventMs < nowMs - keptMs ? 'expired' : undefined;
    };
    const ownMs = Date.now();
    const fault = judge(ownMs) && byBothClocks(judge, ownMs, await clock.current());
    if (fault === undefined) return 'current';
    if (fault === 'unknown') return fault;
    if (fault === 'future')
      throw InvalidCallback.at('/event_time', 'must not be more than a day in the future');
    return isRecordStored(delivery).then(
      (isStored) => (isStored ? 'current' : 'expired'),
      () => 'unknown',
    );
  };
}
