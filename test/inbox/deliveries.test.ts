import {
  dropQuarantined,
  listQuarantine,
  readQuarantined,
  replayQuarantined,
} from '../../src/inbox/replay.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { coreOf, mergeAll } from '../support/core.ts';
import { reject } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';

const database = useReceiverDatabase('test');
let core: Core;
beforeEach(() => {
  core = coreOf(database, testConfig());
});

const now = Math.floor(Date.now() / 1000);
const receipt = (receipt_id: unknown, data: object = {}, business_id = 'b1') => ({
  ...{ event: 'receipt.created', event_time: now - 60, business_id },
  data: { receipt_id, ...data },
});

/** Has a callback refused at a path, and returns its id in the quarantine. */
async function refuse(callback: object, family = 'receipt'): Promise<string> {
  const ids = await reject(database, [callback], { family });
  await database.rows(`update receiver.quarantine set received_at = '2026-02-03T04:05:06Z'`);
  return ids.at(-1)!;
}
const inbox = () => database.rows(`select record_id, received_at from receiver.inbox order by id`);

it('a body that is replayed is applied once, keeps its arrival, and is listed no more', async () => {
  const id = await refuse(receipt(7), 'consent_form');
  const dry = await replayQuarantined(core, [id], { dryRun: true });
  expect(dry.get(id)).toMatchObject({ outcome: 'accepted' });
  expect(await inbox()).toEqual([]);
  const twice = await Promise.all([replayQuarantined(core, [id]), replayQuarantined(core, [id])]);
  expect(twice.flatMap((one) => [...one.values()].map(({ outcome }) => outcome))).toContain('accepted');
  expect(await replayQuarantined(core, [id])).toEqual(new Map());
  expect(await inbox()).toEqual([{ record_id: '7', received_at: new Date('2026-02-03T04:05:06Z') }]);
  await mergeAll(core);
  expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '7' }]);
  expect(await listQuarantine(core.db)).toEqual([]);
  expect(await readQuarantined(core, id)).toMatchObject({ replayed_at: expect.any(Date), count: 1 });
  const again = await refuse(receipt(7), 'consent_form');
  expect((await replayQuarantined(core, [again])).get(again)).toMatchObject({ outcome: 'duplicate' });
});

it('a body that is refused again stays, also for the filter of businesses', async () => {
  const id = await refuse(receipt({}));
  const results = await replayQuarantined(core, [id]);
  expect(results.get(id)).toMatchObject({
    outcome: 'rejected',
    rejection: { errors: [{ path: '/data/receipt_id' }] },
  });
  const sound = await refuse(receipt(8), 'consent_form');
  const elsewhere = coreOf(database, testConfig({ authentication: { allowedBusinessIds: ['b2'] } }));
  const refused = await replayQuarantined(elsewhere, [sound]);
  expect(refused.get(sound)).toMatchObject({
    outcome: 'rejected',
    rejection: { message: 'This business_id is not allowed.' },
  });
  const listed = await listQuarantine(core.db);
  expect(listed.map(({ id, count }) => [id, count]).sort()).toEqual(
    [id, sound].map((one) => [one, 1]).sort(),
  );
  expect(await dropQuarantined(core.db, [id])).toBe(1);
  expect(await readQuarantined(core, id)).toBeUndefined();
});

it('a body of a person who is erased is gone', async () => {
  const id = await refuse(receipt(9, { name: 'CANARY', patient_oid: 'P1' }), 'consent_form');
  expect((await readQuarantined(core, id))!.subjects).toEqual(['p:platform:P1']);
  await erasePatient(core, { id: 'somebody' }, ['p:platform:P1']);
  expect(await readQuarantined(core, id)).toBeUndefined();
});
