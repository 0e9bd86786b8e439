import { applyReportPaths } from '../../../src/store/reporting/settings.ts';
import { consentFormCallback, receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, insertCallbacks, seconds, setTimes } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const event_time = seconds('2024-03-01T10:29:00Z');
const receipt = (receipt_id: number, business_id = 'b1') =>
  receiptCallback({ event_time, business_id, data: { receipt_id } });

/** Sets when deliveries were received, and when they were applied. */
async function arrive(ids: string[], received: string, applied = received) {
  const condition = `id in ('${ids.join("','")}')`;
  await setTimes(database, { received_at: `'${received}'`, applied_at: `'${applied}'` }, condition);
}

async function quarantine(path: string, body: Buffer, received: string, replayed: string | null = null) {
  await database.pool.query(
    `insert into quarantine (id, path, reason, errors, body, received_at, replayed_at)
     values (gen_random_uuid(), $1, 'does not fit', '[]', $2, $3, $4)`,
    [path, body, received, replayed],
  );
}

async function fillOneHour() {
  const [first, second, third] = await apply(database, [receipt(1), receipt(2), receipt(3)]);
  await insertCallbacks(database, [receipt(1), receipt(1)]);
  const [failed] = await apply(database, [
    receiptCallback({ event_time, business_id: 'b1', data: { receipt_id: 4, archive: 1e30 } }),
  ]);
  const [waiting, later] = await insertCallbacks(database, [receipt(5), receipt(6)]);
  await arrive([first!], '2024-03-01T10:30:00Z', '2024-03-01T10:30:01.5Z');
  await arrive([second!], '2024-03-01T10:31:00.250Z', '2024-03-01T10:31:01.250Z');
  await arrive([third!], '2024-03-01T11:29:59Z', '2024-03-01T11:30:00Z');
  await arrive([failed!], '2024-03-01T10:45:00Z');
  await arrive([waiting!, later!], '2024-03-01T10:50:00Z');
  await arrive([later!], '2024-03-01T10:51:00Z');
}

it('deliveries_daily counts the callbacks of each business and day by status', async () => {
  await fillOneHour();
  await apply(database, [receipt(7, 'b2')]);
  const columns =
    'business_id, received::int, applied::int, failed::int, waiting::int, duplicates::int, reconciled::int';
  expect(await database.rows(`select ${columns} from reporting.deliveries_daily order by 1`)).toEqual([
    { business_id: 'b1', received: 6, applied: 3, failed: 1, waiting: 2, duplicates: 2, reconciled: 0 },
    { business_id: 'b2', received: 1, applied: 1, failed: 0, waiting: 0, duplicates: 0, reconciled: 0 },
  ]);
});

it('a quarantined body counts for the family of its path until it is replayed', async () => {
  await applyReportPaths(database.db, { receipt: ['/r-secret'], consent_form: ['/c-secret'] });
  const hour = '2024-03-01T10:31:00Z';
  await quarantine('/r-secret', Buffer.from('{"business_id" : "b1", "data": 1}'), hour);
  await quarantine('/r-secret', Buffer.from([0xff, 0x00, 0x22]), hour);
  await quarantine('/r-secret', Buffer.from('{}'), hour, '2024-03-02T00:00:00Z');
  await quarantine('/elsewhere', Buffer.from('{'), hour);
  const [id] = await apply(database, [consentFormCallback({ event_time } as never)]);
  await arrive([id!], hour);
  expect(
    await database.rows(`select family, sum(received) as received, sum(quarantined) as quarantined
       from reporting.deliveries_daily group by family order by family`),
  ).toEqual([
    { family: 'consent_form', received: '1', quarantined: '0' },
    { family: 'receipt', received: '0', quarantined: '2' },
    { family: 'unknown', received: '0', quarantined: '1' },
  ]);
  expect(
    await database.rows(
      `select business_id, quarantined from reporting.deliveries_daily
       where family = 'receipt' order by 1`,
    ),
  ).toEqual([
    { business_id: 'b1', quarantined: '1' },
    { business_id: null, quarantined: '1' },
  ]);
});

it('the view quarantine shows the family of a path, also of a previous one, and never the path, which may be secret', async () => {
  await applyReportPaths(database.db, { receipt: ['/former'] });
  await applyReportPaths(database.db, { receipt: ['/present'] });
  await quarantine('/former', Buffer.from('{"business_id":"b7"}'), '2024-03-01T10:31:00Z');
  const rows = await database.rows('select * from reporting.quarantine');
  expect(rows).toMatchObject([{ family: 'receipt', business_id: 'b7', times_received: 1 }]);
  expect(JSON.stringify(rows)).not.toContain('former');
});

it('the view deliveries shows each callback without its content', async () => {
  const [id] = await insertCallbacks(database, [receipt(1)]);
  await insertCallbacks(database, [receipt(1)]);
  const rows = await database.rows('select * from reporting.deliveries');
  expect(rows).toMatchObject([{ delivery_id: id, status: 'received', duplicates: 1, applied_at: null }]);
  expect(JSON.stringify(rows)).not.toContain('+9199');
});
