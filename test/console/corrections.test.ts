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
import { visitAs } from './visitor.ts';

const { database, service, visitor } = useConsole();
beforeEach(() => clear(database));

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

const right = (body: string) => body.replace('"1700000000"', '1700000000');
const correct = (id: string, body: string) => visitor.post(`/quarantine/${id}/body`, { body });

describe('a rejected body', () => {
  it('is corrected as a whole and replayed by the role privacy; every other digit stays as it was', async () => {
    const id = await reject(wrong());
    const operator = await visitAs(service.url, 'operator');
    const masked = await operator.read(`/quarantine/${id}`);
    expect(masked).toContain('got text');
    expect(masked).not.toMatch(/CANARY|textarea/);
    expect((await operator.post(`/quarantine/${id}/body`, { body: right(wrong()) })).status).toBe(403);
    const shown = await (await visitor.post(`/quarantine/${id}/personal`)).text();
    expect(shown).toMatch(/<textarea[^>]*>{&quot;event/);
    const done = await correct(id, right(wrong()));
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
    expect(await visitor.read(`/quarantine/${id}`)).toContain(`/console/quarantine/${correction!.id}`);
    expect(await visitor.read(`/quarantine/${correction!.id}`)).toContain(`/console/quarantine/${id}`);
    expect(
      await database.rows(`select actor, filter, rows from access_log where action = 'quarantine correct'`),
    ).toEqual([{ actor: 'admin-token', filter: { quarantine: id }, rows: '1' }]);
  });

  it('that is still rejected shows the errors with what was entered, and stores nothing', async () => {
    const id = await reject(wrong());
    const logged = async () =>
      (
        await database.rows(
          `select from access_log where action = 'body' and filter->>'quarantine' = '${id}'`,
        )
      ).length;
    const before = await logged();
    const response = await correct(id, wrong().replace('"receipt_id"', '"x"'));
    const page = await response.text();
    expect([response.status, await logged()]).toEqual([422, before + 1]);
    expect(page).toContain('Nothing was stored or replayed');
    expect(page).toContain('/data/receipt_id');
    expect(page).toMatch(/<textarea[^>]*>[^<]*&quot;x&quot;/);
    const broken = await (await correct(id, '{"entered":\r\n')).text();
    expect(broken).toMatch(/<textarea[^>]*>{&quot;entered&quot;:\n<\/textarea>/);
    expect(await (await correct(id, wrong())).text()).toContain('Nothing was changed');
    expect([await rows(), await deliveries()]).toEqual([[{ id, corrects: null, done: false }], []]);
  });

  it('at the path for every event is not said to have been expected there', async () => {
    const id = await reject(JSON.stringify({ ...receiptCallback(), event_time: 'x' }), '/events');
    expect(await visitor.read(`/quarantine/${id}`)).not.toMatch(/Expected/);
  });

  it('that is no JSON, or is long, is corrected too', async () => {
    const id = await reject('{"event": "receipt.created",');
    const long = receiptCallback({ data: { remarks: 'é'.repeat(60_000) } });
    expect((await correct(id, JSON.stringify(long, null, 2))).status).toBe(200);
    expect((await rows()).map(({ corrects, done }) => [corrects, done])).toEqual([
      [null, true],
      [id, true],
    ]);
  });

  it('is corrected once: not again, and not after a replay', async () => {
    const id = await reject(wrong());
    await correct(id, right(wrong()));
    expect((await correct(id, wrong().replace('"1700000000"', '1700000001'))).status).toBe(400);
    expect(await deliveries()).toHaveLength(1);
  });

  it('is never applied with two corrections, however many users correct it at once', async () => {
    const id = await reject(wrong());
    const responses = await Promise.all(
      [1, 2, 3, 4].map((n) => correct(id, wrong().replace('"1700000000"', `170000000${n}`))),
    );
    for (const { status } of responses) expect([200, 400, 422]).toContain(status);
    expect((await deliveries()).length).toBeLessThanOrEqual(1);
    expect((await rows()).length).toBe(1 + (await deliveries()).length);
  });

  it('that the sender sends again after its correction is not applied in its place', async () => {
    const id = await reject(wrong());
    await correct(id, right(wrong()));
    await reject(wrong());
    const preview = await (await visitor.post('/quarantine/preview', { id, action: 'replay' })).text();
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
      const body = Buffer.from(right(wrong()));
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
      const replay = (by: typeof broken, logged: () => Promise<void>) =>
        replayCorrection(database.db, by, old as never, body, logged);
      await expect(replay(broken, record)).rejects.toThrow('crash');
      expect((await rows())[0]).toEqual({ id, corrects: null, done: false });

      const left = await rows();
      if (left.length === 1) await replay(whole, async () => {});
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

// The last one: this patient's bodies are not stored afterwards.
it('an erasure finds the rejected body and its correction', async () => {
  const patient = '161467756044204';
  const id = await reject(wrong());
  await correct(id, right(wrong()));
  expect(await rows()).toHaveLength(2);
  await erasePatient(database.db, families, { id: patient }, { actor: { id: 'tester' }, keepMs: 86_400_000 });
  expect(await rows()).toEqual([]);

  // A correction must not bring the patient back.
  const later = await reject(wrong({ patient_oid: 'somebody-else', receipt_id: 9 }));
  const response = await correct(later, right(wrong({ patient_oid: patient, receipt_id: 9 })));
  expect(await response.text()).toContain('was not stored: it is about something that was erased');
  expect((await rows()).map((row) => row.id)).toEqual([later]);
});
