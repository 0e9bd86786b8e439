import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { consentFormCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { clear, insertCallbacks } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { useConsole } from './use-console.ts';

const { database, service, visitor } = useConsole();
beforeEach(() => clear(database));

const receipts = (...remarks: string[]) =>
  remarks.map((text, receipt_id) => receiptCallback({ data: { receipt_id, remarks: text } }));

/** Deliveries that fail because of a constraint. */
async function fail(callbacks: object[]): Promise<string[]> {
  await database.pool.query(`alter table receipts add constraint plain check (remarks not like 'bad%')`);
  const ids = await insertCallbacks(database, callbacks);
  await applyDeliveries(database.db, families, ids);
  await database.pool.query('alter table receipts drop constraint plain');
  return ids;
}

const statuses = async () =>
  (await database.rows('select status, count(*)::int as n from deliveries group by 1 order by 1')).map(
    ({ status, n }) => `${n} ${status}`,
  );

const textOf = async (response: Response | Promise<Response>) => (await response).text();
/** The hidden fields of the first form for an address. */
const formFor = (page: string, address: string) => {
  const [, form] = new RegExp(`action="/console${address}"[^>]*>(.*?)</form>`, 's').exec(page) ?? [];
  const fields = form?.matchAll(/name="(\w+)" value="([^"]*)"/g);
  return fields && Object.fromEntries(Array.from(fields, ([, name, value]) => [name!, value!]));
};
const figure = (page: string, name: string) =>
  Number(new RegExp(`<dt>${name}</dt>\\s*<dd>([\\d,]+)</dd>`).exec(page)?.[1]);

it('without a problem the page says so', async () => {
  expect(await visitor.read('/problems')).toContain('No problems:');
});

describe('failed deliveries', () => {
  it('are grouped by cause, and cannot be dropped', async () => {
    await fail([
      ...receipts('bad', 'bad', 'good'),
      receiptCallback({ event: 'receipt.updated', data: { receipt_id: 9, remarks: 'bad' } }),
    ]);
    const page = await visitor.read('/problems');
    expect(page.match(/Replay …/g)).toHaveLength(2);
    expect(page).toContain('(receipts.plain)');
    expect(page).toContain('cannot be dropped');
    expect(page).not.toContain('Drop');
    const list = /href="([^"]*status=failed&amp;[^"]*)"/.exec(page)![1]!.replaceAll('&amp;', '&');
    expect((await visitor.read(list.replace('/console', ''))).match(/status-failed/g)).toHaveLength(2);
  });

  it('say what PostgreSQL refused, in which field, and what to do', async () => {
    await database.pool.query(`alter table receipts add constraint plain check (remarks not like 'bad%')`);
    const ids = await insertCallbacks(database, [
      ...receipts('bad'),
      receiptCallback({ data: { receipt_id: 8, archive: 1e30 } }),
    ]);
    await applyDeliveries(database.db, families, ids);
    const page = await visitor.read('/problems');
    expect(page).toContain('A value violates a check constraint.');
    expect(page).toMatch(/Field: <code>remarks<\/code>.*Constraint: <code>CHECK \(.*bad%/s);
    expect(page).toContain('A number is too large for its column.');
    const delivery = await visitor.read(`/deliveries/${ids[0]}`);
    expect(delivery).toContain('Field: <code>remarks</code>');
    const link = /href="\/console([^"]*)">Deliveries with the same cause/.exec(delivery)![1]!;
    expect((await visitor.read(link.replaceAll('&amp;', '&'))).match(/status-failed/g)).toHaveLength(1);
    await database.pool.query('alter table receipts drop constraint plain');
  });

  it('are marked as seen, which the list counts, and the mark is deleted with them', async () => {
    const [id] = await fail(receipts('bad', 'bad'));
    const seen = await visitor.post(`/deliveries/${id}/seen`);
    expect([seen.status, seen.headers.get('location')]).toEqual([303, `/console/deliveries/${id}`]);
    expect(await database.rows(`select filter from access_log where action = 'seen'`)).toEqual([
      { filter: { delivery: id } },
    ]);
    const page = await visitor.read(`/deliveries/${id}`);
    expect(page).toContain('by admin-token');
    expect(page).not.toContain('Mark as seen');
    expect(await visitor.read('/problems')).toContain('>2 deliveries</a><small class="beside">1 seen<');
    await database.pool.query('delete from failed_deliveries; delete from inbox');
    expect(await database.rows('select from seen_deliveries')).toEqual([]);
  });

  it('a form of an earlier version replays no more than the business that it names', async () => {
    await fail(receipts('bad'));
    const none = await textOf(visitor.post('/replay/preview', { businessId: 'nobody' }));
    expect(none).toContain('0 deliveries match');
  });

  it('a preview that would apply nothing offers no replay, and says why', async () => {
    const [id] = await fail(receipts('bad'));
    await database.pool.query(`alter table receipts add constraint plain check (remarks = '')`);
    const stuck = await textOf(visitor.post('/replay/preview', { id: id! }));
    await database.pool.query('alter table receipts drop constraint plain');
    expect(stuck).toContain('would apply nothing: every delivery would fail again');
    expect(stuck).not.toContain('action="/console/replay"');
    const none = await textOf(visitor.post('/replay/preview', { business: 'nobody' }));
    expect(none).toContain('0 deliveries match');
    expect(none).not.toContain('action="/console/replay"');
    await visitor.post('/replay', { id: id! });
    const again = await textOf(visitor.post('/replay/preview', { id: id!, status: 'applied' }));
    expect(again).toContain('So there is nothing to replay.');
    expect(again).not.toContain('action="/console/replay"');
  });

  it('a replay begins with a preview, and changes nothing until it is confirmed', async () => {
    await fail(receipts('bad', 'bad', 'good'));
    const preview = await textOf(visitor.post('/replay/preview', { family: 'receipt' }));
    expect([figure(preview, 'Would be applied'), figure(preview, 'Rows that would change')]).toEqual([2, 2]);
    expect(await statuses()).toEqual(['1 applied', '2 failed']);
    expect(await database.rows('select 1 from receipts')).toHaveLength(1);

    const done = await textOf(visitor.post('/replay', { family: 'receipt' }));
    expect([figure(done, 'Applied'), figure(done, 'Failed again')]).toEqual([2, 0]);
    expect(await statuses()).toEqual(['3 applied']);
    expect(await visitor.read('/problems')).not.toContain('Failed deliveries by cause');
  });

  it('a delivery that fails again stays failed, with its new error', async () => {
    const [id] = await fail(receipts('bad'));
    await database.pool.query(`alter table receipts add constraint stricter check (remarks = '')`);
    const preview = await textOf(visitor.post('/replay/preview', { id: id! }));
    expect(figure(preview, 'Would fail again')).toBe(1);
    expect(preview).toContain('receipts.stricter');
    expect(figure(await textOf(visitor.post('/replay', { id: id! })), 'Failed again')).toBe(1);
    await database.pool.query('alter table receipts drop constraint stricter');
    expect(await statuses()).toEqual(['1 failed']);
  });

  it('a replay of one delivery, of a group or of a filter does not change the others', async () => {
    const [one] = await fail([
      ...receipts('bad', 'bad'),
      receiptCallback({ business_id: 'b2', data: { remarks: 'bad' } }),
      receiptCallback({ event: 'receipt.updated', data: { receipt_id: 7, remarks: 'bad' } }),
    ]);
    await visitor.post('/replay', { id: one! });
    expect(await statuses()).toEqual(['1 applied', '3 failed']);
    await visitor.post('/replay', { business: 'b2' });
    expect(await statuses()).toEqual(['2 applied', '2 failed']);
    const [{ error }] = (await database.rows(`select error from deliveries where status = 'failed'`)) as [
      { error: string },
    ];
    await visitor.post('/replay', { error: 'another', event: 'receipt.updated' });
    await visitor.post('/replay', { since: '2030-01-01T00:00' });
    expect(await statuses()).toEqual(['2 applied', '2 failed']);
    await visitor.post('/replay', { error, event: 'receipt.updated' });
    expect(await statuses()).toEqual(['3 applied', '1 failed']);
  });

  it('a list of failed ones offers to replay what its filter selects, and nothing where a replay cannot', async () => {
    await fail([...receipts('bad'), receiptCallback({ business_id: 'b2', data: { remarks: 'bad' } })]);
    const offered = async (query: string) =>
      formFor(await visitor.read(`/deliveries?${query}`), '/replay/preview');
    expect(await offered('')).toBeUndefined();
    expect(await offered('status=failed&since=2023-01-01T00:00')).toBeUndefined();
    const fields = await offered('status=failed&business=b2&receivedSince=2023-01-01T00:00&order=event');
    const preview = await textOf(visitor.post('/replay/preview', fields));
    expect(preview).toContain('1 delivery matches');
    await visitor.post('/replay', formFor(preview, '/replay'));
    expect(await database.rows(`select business_id as b from deliveries where status = 'applied'`)).toEqual([
      { b: 'b2' },
    ]);
  });

  it('an applied delivery is replayed by its id only', async () => {
    const [id] = await fail(receipts('good'));
    await database.pool.query('update receipts set net_amount = 0');
    expect((await visitor.post('/replay', { status: 'applied' })).status).toBe(400);
    await visitor.post('/replay', { status: 'applied', id: id! });
    expect(await database.rows('select net_amount from receipts')).toEqual([{ net_amount: '490.05' }]);
  });

  it.each([
    { family: 'dog' },
    { id: 'x' },
    { status: 'received' },
    { since: 'yesterday' },
    { since: '0001-01-01T00:00' },
  ])('an invalid form does nothing: %j', async (fields) => {
    await fail(receipts('bad'));
    expect((await visitor.post('/replay', fields as unknown as Record<string, string>)).status).toBe(400);
    expect(await statuses()).toEqual(['1 failed']);
  });
});

describe('the quarantine', () => {
  const reject = async (body: unknown, path = paths.receipt) => {
    const response = await post(service.url + path, body);
    expect(response.status).toBeGreaterThanOrEqual(400);
  };
  /** Inserts a body that was rejected and is valid today, as after a fix. */
  const insertValid = (receipt_id: number) =>
    database.pool.query(
      `insert into quarantine (id, path, reason, errors, body)
       values (gen_random_uuid(), $1, 'invalid', '[{"path": "/data/new", "message": "was strange"}]', $2)`,
      [paths.receipt, JSON.stringify(receiptCallback({ data: { receipt_id } }))],
    );
  const remaining = async () =>
    Number((await database.rows('select count(*) as n from quarantine where replayed_at is null'))[0]!.n);

  it('is grouped by error, and shows paths never and bodies only on demand', async () => {
    await reject({ ...receiptCallback({ data: { name: 'CANARY' } }), event_time: 'x' });
    await reject({ ...receiptCallback({ data: { name: 'CANARY2' } }), event_time: 'y' });
    await reject('<html>');
    await reject(consentFormCallback());
    const page = await visitor.read('/problems');
    expect(page).toContain('<code>/event_time</code>');
    expect(page.match(/Replay …/g)).toHaveLength(3);
    expect(page).not.toMatch(/CANARY|registered_url_for_receipt/);
    const [{ id }] = (await database.rows(
      `select id from quarantine where body::text like '%' || encode('CANARY2', 'hex') || '%'`,
    )) as [{ id: string }];
    expect(await visitor.read(`/quarantine/${id}`)).not.toContain('CANARY');
    expect(await textOf(visitor.post(`/quarantine/${id}/personal`))).toContain('CANARY2');
  });

  it('a replay accepts, after its preview, the bodies that are valid today, and leaves the others', async () => {
    await insertValid(1);
    await insertValid(2);
    await reject({ ...receiptCallback(), event_time: 'x' });
    const fields = { reason: 'invalid', action: 'replay' };
    const preview = await textOf(visitor.post('/quarantine/preview', fields));
    expect([figure(preview, 'Would be accepted'), figure(preview, 'Would still be rejected')]).toEqual([
      2, 1,
    ]);
    expect([await remaining(), await database.rows('select 1 from deliveries')]).toEqual([3, []]);

    const done = await textOf(visitor.post('/quarantine/replay', fields));
    expect([figure(done, 'Accepted'), figure(done, 'Still rejected')]).toEqual([2, 1]);
    expect([await remaining(), (await database.rows('select 1 from deliveries')).length]).toEqual([1, 2]);
  });

  it('a preview that would accept nothing offers no replay, and says why', async () => {
    await reject('<html>');
    const preview = await textOf(
      visitor.post('/quarantine/preview', { reason: 'not_json', action: 'replay' }),
    );
    expect(preview).toContain('A replay would accept nothing.');
    expect(preview).not.toContain('action="/console/quarantine/replay"');
  });

  it('is dropped one by one, by group, or all on explicit request', async () => {
    await insertValid(1);
    await reject({ ...receiptCallback(), event_time: 'x' });
    await reject({ ...receiptCallback({ data: { receipt_id: 2 } }), event_time: 'x' });
    await reject('<html>');
    const drop = async (fields: Record<string, string>) => {
      const before = await remaining();
      const preview = await visitor.post('/quarantine/preview', { ...fields, action: 'drop' });
      expect(await remaining()).toBe(before);
      await visitor.post('/quarantine/drop', fields);
      return [preview.status, before - (await remaining())];
    };
    expect(await drop({})).toEqual([400, 0]);
    expect(await drop({ faults: ' ' })).toEqual([400, 0]);
    const [{ id }] = (await database.rows(`select id from quarantine where reason = 'not_json'`)) as [
      { id: string },
    ];
    expect(await drop({ id })).toEqual([200, 1]);
    const [group] = await database.rows(
      `select md5(errors::text) as faults from quarantine where errors::text like '%event_time%'`,
    );
    expect(await drop({ reason: 'invalid', faults: String(group!.faults) })).toEqual([200, 2]);
    const some = await visitor.read('/quarantine?reason=invalid&since=2030-01-01T00:00');
    expect(formFor(some, '/quarantine/preview')).toBeUndefined();
    const all = formFor(await visitor.read('/quarantine'), '/quarantine/preview')!;
    expect(all).toEqual({ all: 'yes', action: 'replay' });
    const those = formFor(await visitor.read('/quarantine?reason=invalid'), '/quarantine/preview')!;
    expect(those).toEqual({ reason: 'invalid', action: 'replay' });
    expect(await drop(all)).toEqual([200, 1]);
  });

  it('a drop does not delete bodies received after its preview', async () => {
    await reject('<html>');
    const preview = await textOf(visitor.post('/quarantine/preview', { reason: 'not_json', action: 'drop' }));
    const asOf = /name="asOf" value="(\d+)"/.exec(preview)![1]!;
    await database.pool.query(`update quarantine set last_received_at = now() + interval '1 second'`);
    await visitor.post('/quarantine/drop', { reason: 'not_json', asOf });
    expect(await remaining()).toBe(1);
  });

  it('pages contain every body once, last received first', async () => {
    await database.pool.query(
      `insert into quarantine (id, path, reason, body, last_received_at)
       select gen_random_uuid(), 'p', 'not_json', 'x', now() - (n / 3) * interval '1 second' from generate_series(1, 130) as n`,
    );
    const seen: string[] = [];
    for (let path = '/quarantine'; path; ) {
      const page = await visitor.read(path);
      seen.push(
        ...Array.from(page.matchAll(/href="\/console\/quarantine\/([\da-f-]{36})"/g), ([, id]) => id!),
      );
      path = (/href="\/console(\/quarantine\?before=[^"]*)"/.exec(page)?.[1] ?? '').replaceAll('&amp;', '&');
    }
    const expected = await database.rows('select id from quarantine order by last_received_at desc, id desc');
    expect(seen).toEqual(expected.map(({ id }) => id));
  });
});
