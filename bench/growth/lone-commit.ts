import { identify } from '../../src/intake/identity.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { history } from '../../src/sandbox/history.ts';
import { openPool } from '../../src/store/pool.ts';
import { Latencies } from '../load/latencies.ts';

const plain = `
insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
values ($1, $2, $3, $4, $5, $6, $7)`;

/** Median milliseconds of a commit of one delivery and of a plain insert of one, measured in turns. */
export async function loneCommits(url: string, seed: number, count: number) {
  const pool = openPool({ connectionString: url, max: 1 }, () => {});
  const ours = new Latencies();
  const theirs = new Latencies();
  let number = 0;
  for (const { family, body, envelope } of history({ seed })) {
    const id = identify(envelope as never);
    const { event, client_id, business_id, event_time } = envelope;
    const time = new Date(event_time > 1e11 ? event_time : event_time * 1000);
    const began = performance.now();
    if (number % 2 === 0) {
      await insertDeliveries(pool, [{ id, family, body: Buffer.from(body) }]);
      ours.add(performance.now() - began);
    } else {
      const values = [id, event, family, client_id, business_id, time, body];
      await pool.query({ name: 'plain', text: plain, values });
      theirs.add(performance.now() - began);
    }
    number += 1;
    if (number === count * 2) break;
  }
  // They have no jobs: the next measurement must not wait for them.
  await pool.query(`delete from inbox where id in (select id from pending_deliveries)`);
  await pool.end();
  return { ours: ours.percentile(0.5), plain: theirs.percentile(0.5) };
}
