import { createLog } from '../../src/common/log.ts';
import { timeLimits } from '../../src/common/time-limits.ts';
import { families } from '../../src/families/index.ts';
import { replayCorrection } from '../../src/intake/correction.ts';
import { createIntake, type IntakeOptions } from '../../src/intake/intake.ts';
import { quarantineId } from '../../src/intake/quarantine.ts';
import { replayQuarantine } from '../../src/intake/replay-quarantine.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { paths, receiptCallback, registeredPaths } from '../support/callbacks.ts';
import { clear } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { useConsole } from './use-console.ts';
import { type Visitor, visitAs } from './visitor.ts';

const { database, service, visitor } = useConsole();
let operator: Visitor;
beforeAll(async () => {
  operator = await visitAs(service.url, 'operator');
});
beforeEach(async () => {
  await clear(database, 'notes');
});

/** A receipt whose amount has more digits than a double, and an event time that is a text. */
const wrong = (data: object = {}) =>
  JSON.stringify({
    ...receiptCallback({ data: { name: 'CANARY', ...data } }),
    event_time: '1700000000',
  }).replace('"amount_due":90.05', '"amount_due":90.050000000000000001');

/** Rejects a body; returns its id. */
async function reject(body: string, path = paths.receipt): Promise<string> {
  const response = await post(service.url + path, body);
  expect([400, 422]).toContain(response.status);
  return quarantineId({ path, body: Buffer.from(body) });
}

const rows = async () =>
  (await database.rows(
    'select id, corrects, replayed_at is not null as done from quarantine order by received_at',
  )) as {
    id: string;
    corrects: string | null;
    done: boolean;
  }[];
const deliveries = () => database.rows('select id, envelope::text as text from deliveries');

describe('a rejected body', () => {
  it('is corrected field by field and replayed; every other digit stays as it was', async () => {
    const id = await reject(wrong());
    const page = await operator.read(`/quarantine/${id}`);
    expect(page).toContain('value="&quot;1700000000&quot;"');
    expect(page).not.toContain('CANARY');
    const done = await operator.post(`/quarantine/${id}/fields`, { '/event_time': '1700000000' });
    const text = await done.text();
    expect([done.status, text]).toEqual([200, expect.stringContaining('The corrected body was accepted')]);
    expect(text).not.toContain('CANARY');

    const [delivery] = await deliveries();
    expect(delivery!.text).toContain('90.050000000000000001');
    expect(text).toContain(`/console/deliveries/${delivery!.id}`);
    const [old, correction] = await rows();
    expect([old, correction]).toEqual([
      { id, corrects: null, done: true },
      { id: expect.any(String), corrects: id, done: true },
    ]);
    expect(await operator.read(`/quarantine/${id}`)).toContain(`/console/quarantine/${correction!.id}`);
    expect(await operator.read(`/quarantine/${correction!.id}`)).toContain(`/console/quarantine/${id}`);
    expect(
      await database.rows(`select actor, filter, rows from access_log where action = 'quarantine correct'`),
    ).toEqual([
      { actor: 'subject-operator', filter: { quarantine: id, changed: ['/event_time'] }, rows: '1' },
    ]);
  });

  it('that is still rejected shows the errors with what was entered, and stores nothing', async () => {
    const id = await reject(wrong());
    const entered = { '/event_time': '99999999999999999' };
    const response = await operator.post(`/quarantine/${id}/fields`, entered);
    const page = await response.text();
    expect(response.status).toBe(422);
    expect(page).toContain('Nothing was stored or replayed');
    expect(page).toContain('value="99999999999999999"');
    const notJson = await (await operator.post(`/quarantine/${id}/fields`, { '/event_time': 'soon' })).text();
    expect(notJson).toContain('It is not JSON');
    expect(notJson).toContain('value="soon"');
    const same = await (await operator.post(`/quarantine/${id}/fields`)).text();
    expect(same).toContain('Nothing was changed');
    expect([await rows(), await deliveries()]).toEqual([[{ id, corrects: null, done: false }], []]);
  });

  it('whose corrected field leads to other errors shows their fields too', async () => {
    const id = await reject(
      JSON.stringify({ ...receiptCallback({ data: { receipt_id: 'x' } }), event: 'receipt.maed' }),
    );
    const first = await operator.post(`/quarantine/${id}/fields`, { '/event': '"receipt.created"' });
    expect(first.status).toBe(422);
    expect(await first.text()).toContain('name="/data/receipt_id"');
    const fields = { '/event': '"receipt.created"', '/data/receipt_id': '4711' };
    expect((await operator.post(`/quarantine/${id}/fields`, fields)).status).toBe(200);
    expect((await rows()).map(({ done }) => done)).toEqual([true, true]);
  });

  it('hides the value of a personal field from an operator, who can replace it; no other field can be changed', async () => {
    const id = await reject(JSON.stringify(receiptCallback({ data: { name: ['CANARY'] } })));
    const page = await operator.read(`/quarantine/${id}`);
    expect(page).toContain('/data/name (hidden)');
    expect(page).not.toContain('CANARY');
    const fields = { '/data/name': '"Asha"', '/data/net_amount': '1' };
    expect((await operator.post(`/quarantine/${id}/fields`, fields)).status).toBe(200);
    const [{ text }] = (await deliveries()) as [{ text: string }];
    expect(text).toContain('"Asha"');
    expect(text).toContain('490.05');
  });

  it.each([{ name: 'CANARY' }, ['CANARY'], 'CANARY', 'CANARY.rao'])(
    'hides %j in a field that is not personal: it may be the value of another field',
    async (value) => {
      const { event, data, ...rest } = receiptCallback({ data: { receipt_amount: value } });
      const id = await reject(JSON.stringify({ event, ...rest, event_time: value, data }));
      const page = await operator.read(`/quarantine/${id}`);
      expect(page).toContain('/event_time (hidden)');
      expect(page).not.toContain('CANARY');
    },
  );

  it('is a form, what is wrong first, with what came and what is expected; for the role privacy with every field', async () => {
    const id = await reject(
      JSON.stringify(receiptCallback({ data: { receipt_id: '12a', name: 'CANARY', CANARY: 1 } })),
    );
    const masked = await operator.read(`/quarantine/${id}`);
    expect(masked).toContain('expected a whole number, got text');
    expect(masked).toMatch(
      /Other fields.*Patient · \/data\/name<\/dt><dd>•••<.*Paid · \/data\/amount_paid<\/dt><dd>400</s,
    );
    expect(masked).not.toContain('CANARY');

    const shown = await (await visitor.post(`/quarantine/${id}/personal`)).text();
    expect(shown).toContain('expected a whole number, got &quot;12a&quot;');
    expect(shown.indexOf('name="/data/receipt_id"')).toBeLessThan(shown.indexOf('name="/event"'));
    expect(shown).toMatch(/name="\/data\/name"[^>]*value="&quot;CANARY&quot;"/);
    const fields = { revealed: 'yes', '/data/receipt_id': '12', '/data/name': '"Asha"' };
    // Only the role privacy corrects what it has seen.
    expect(
      (await operator.post(`/quarantine/${id}/fields`, { ...fields, '/data/receipt_id': '"x"' })).status,
    ).toBe(422);
    const [before] = await database.rows('select count(*)::int as n from access_log');
    const wrong = await visitor.post(`/quarantine/${id}/fields`, { ...fields, '/data/receipt_id': '"x"' });
    expect(await wrong.text()).toMatch(/name="\/data\/name"[^>]*value="&quot;Asha&quot;"/);
    const [after] = await database.rows('select count(*)::int as n from access_log');
    expect([wrong.status, (after!.n as number) - (before!.n as number)]).toEqual([422, 1]);
    expect((await visitor.post(`/quarantine/${id}/fields`, fields)).status).toBe(200);
    const [{ text }] = (await deliveries()) as [{ text: string }];
    expect(text).toContain('"Asha"');
    expect(text).toContain('"CANARY": 1');
  });

  it('at the path for every event is not said to have been expected there', async () => {
    const id = await reject(JSON.stringify({ ...receiptCallback(), event_time: 'x' }), '/events');
    expect(await operator.read(`/quarantine/${id}`)).not.toMatch(/Expected/);
  });

  it('that is no JSON is corrected as a whole, by the role privacy', async () => {
    const id = await reject('{"event": "receipt.created",');
    expect(await operator.read(`/quarantine/${id}`)).not.toContain('Correct and replay');
    const shown = await (await visitor.post(`/quarantine/${id}/personal`)).text();
    expect(shown).toMatch(/<textarea[^>]*>{&quot;event&quot;: &quot;receipt.created&quot;,<\/textarea>/);
    const again = await (await visitor.post(`/quarantine/${id}/body`, { body: '{"entered":\r\n' })).text();
    expect(again).toMatch(/<textarea[^>]*>{&quot;entered&quot;:\n<\/textarea>/);
    const long = receiptCallback({ data: { remarks: 'é'.repeat(60_000) } });
    const done = await visitor.post(`/quarantine/${id}/body`, { body: JSON.stringify(long, null, 2) });
    expect(done.status).toBe(200);
    expect((await rows()).map(({ corrects, done }) => [corrects, done])).toEqual([
      [null, true],
      [id, true],
    ]);
  });

  it('is corrected once: not again, and not after a replay', async () => {
    const id = await reject(wrong());
    await operator.post(`/quarantine/${id}/fields`, { '/event_time': '1700000000' });
    const again = await operator.post(`/quarantine/${id}/fields`, { '/event_time': '1700000001' });
    expect(again.status).toBe(400);
    expect(await deliveries()).toHaveLength(1);
  });

  it('is never applied with two corrections, however many users correct it at once', async () => {
    const id = await reject(wrong());
    const responses = await Promise.all(
      [1, 2, 3, 4].map((n) => operator.post(`/quarantine/${id}/fields`, { '/event_time': `170000000${n}` })),
    );
    for (const { status } of responses) expect([200, 400, 422]).toContain(status);
    expect((await deliveries()).length).toBeLessThanOrEqual(1);
    expect((await rows()).length).toBe(1 + (await deliveries()).length);
  });

  it('that the sender sends again after its correction is not applied in its place', async () => {
    const id = await reject(wrong());
    await operator.post(`/quarantine/${id}/fields`, { '/event_time': '1700000000' });
    await reject(wrong());
    const preview = await (await operator.post('/quarantine/preview', { id, action: 'replay' })).text();
    expect(preview).toContain('only the correction can be replayed');
    expect(preview).not.toContain('action="/console/quarantine/replay"');
  });
});

describe('a crash', () => {
  const log = createLog('silent');
  const intake = () =>
    createIntake({
      config: {
        authentication: { allowedClientIds: [], allowedBusinessIds: [] },
        paths: registeredPaths,
        quarantine: { bytes: 1_000_000 },
        retention: {},
        timeLimits: timeLimits(),
      },
      families,
      pool: database.pool,
      circuit: { isOpen: false, run: (call: () => unknown) => call() } as never,
      log,
    } as IntakeOptions);
  const crash = async () => {
    throw new Error('crash');
  };

  it.each(['before it is logged', 'before it is stored', 'before the replay', 'after the replay'])(
    'of a correction %s loses nothing, and nothing is applied twice',
    async (moment) => {
      const id = await reject(wrong());
      const [old] = await database.rows('select * from quarantine');
      const body = Buffer.from(wrong().replace('"1700000000"', '1700000000'));
      const whole = intake();
      const broken = {
        quarantineBody: moment === 'before it is stored' ? crash : whole.quarantineBody.bind(whole),
        replay: async (text: Buffer, path: string, options: { dryRun: boolean }) => {
          if (!options.dryRun && moment === 'before the replay') await crash();
          const result = await whole.replay(text, path, options);
          if (!options.dryRun && moment === 'after the replay') await crash();
          return result;
        },
      };
      const record = moment === 'before it is logged' ? crash : async () => {};
      const correct = (by: typeof broken, logged: () => Promise<void>) =>
        replayCorrection(database.db, by, old as never, body, logged);
      await expect(correct(broken, record)).rejects.toThrow('crash');
      expect((await rows())[0]).toEqual({ id, corrects: null, done: false });

      const left = await rows();
      if (left.length === 1) await correct(whole, async () => {});
      else await replayQuarantine(database.db, {}, whole, { dryRun: false });
      expect((await rows()).map(({ done }) => done)).toEqual([true, true]);
      expect(await deliveries()).toHaveLength(1);
      await whole.close();
    },
  );

  it('leaves no correction that PostgreSQL rejects', async () => {
    await reject(wrong());
    const [old] = await database.rows('select * from quarantine');
    const whole = intake();
    const refusing = {
      quarantineBody: whole.quarantineBody.bind(whole),
      replay: async (_body: Buffer, _path: string, { dryRun }: { dryRun: boolean }) =>
        dryRun
          ? ({ outcome: 'accepted', id: old!.id as string } as const)
          : ({ outcome: 'rejected', reason: 'PostgreSQL says no', errors: [] } as const),
    };
    const result = await replayCorrection(
      database.db,
      refusing,
      old as never,
      Buffer.from('{}'),
      async () => {},
    );
    expect(result).toMatchObject({ outcome: 'rejected', reason: 'PostgreSQL says no' });
    expect(await rows()).toHaveLength(1);
    await whole.close();
  });
});

describe('notes', () => {
  it('say who wrote what and when, as text; a mark says that somebody has seen it', async () => {
    const id = await reject(wrong());
    const add = (fields: Record<string, string>) =>
      operator.post('/notes', { section: 'quarantine', subject: id, ...fields });
    const seen = await add({ seen: 'yes' });
    expect([seen.status, seen.headers.get('location')]).toEqual([303, `/console/quarantine/${id}#notes`]);
    expect(await operator.read('/quarantine')).toContain('data-head="Notes">seen<');
    await add({ text: '<b>asked</b> the clinic' });
    const page = await operator.read(`/quarantine/${id}`);
    expect(page).toContain('&lt;b>asked&lt;/b> the clinic');
    expect(page).toMatch(/subject-operator.*seen/s);
    expect(await operator.read('/quarantine')).toContain('data-head="Notes">1<');
    expect((await add({})).status).toBe(400);
    expect((await add({ subject: '00000000-0000-8000-8000-000000000000', text: 'x' })).status).toBe(404);
    expect(
      await database.rows(`select filter from access_log where action = 'note' order by entry`),
    ).toContainEqual({
      filter: { quarantine: id },
    });
  });

  it('are read by operators, and deleted with what they are about', async () => {
    const id = await reject(wrong());
    await operator.post('/notes', { section: 'quarantine', subject: id, text: 'CANARY' });
    const viewer = await (await visitAs(service.url, 'viewer')).read(`/quarantine/${id}`);
    expect(viewer).toContain('Reading it takes the role operator');
    expect(viewer).not.toContain('CANARY');
    await operator.post('/quarantine/drop', { id });
    expect(await database.rows('select from notes')).toEqual([]);
  });
});

// The last one: this patient's bodies are not stored afterwards.
it('an erasure finds the rejected body and its correction, and deletes their notes', async () => {
  const patient = '161467756044204';
  const id = await reject(wrong());
  await operator.post('/notes', { section: 'quarantine', subject: id, text: 'called the clinic' });
  await operator.post(`/quarantine/${id}/fields`, { '/event_time': '1700000000' });
  expect(await rows()).toHaveLength(2);
  await erasePatient(
    database.db,
    families,
    { id: patient },
    { actor: { id: 'tester' }, keepMs: 86_400_000, keepsTotals: true },
  );
  expect(await rows()).toEqual([]);
  expect(await database.rows('select from notes')).toEqual([]);

  // A correction must not bring the patient back.
  const later = await reject(wrong({ patient_oid: 'somebody-else', receipt_id: 9 }));
  const body = wrong({ patient_oid: patient, receipt_id: 9 }).replace('"1700000000"', '1700000000');
  const response = await visitor.post(`/quarantine/${later}/body`, { body });
  expect(await response.text()).toContain('was not stored: it is about something that was erased');
  expect((await rows()).map((row) => row.id)).toEqual([later]);
});
