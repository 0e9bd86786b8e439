import fc from 'fast-check';
import { PlatformUnreadable } from '../../src/reconcile/platform.ts';
import { clear } from '../support/deliveries.ts';
import { until } from '../support/until.ts';
import { useFollowUps } from './use-follow-ups.ts';

const { database, payments, followUp, receipts, makeAllDue } = useFollowUps();

const successful = { payment_status: 'PAYMENT_SUCCESS', amount: '400.50', payment_mode: 'UPI', rrn: '0042' };
const states = async () =>
  Object.fromEntries(
    (await database.rows('select payment_id, state from reporting.payments')).map((row) => [
      row.payment_id,
      row.state,
    ]),
  );

it('what the platform tells of a payment is beside its receipt, exact, and per day', async () => {
  await receipts(['a', 'b', '']);
  const platform = payments({
    a: { ...successful, payment_gateway: 'g', created_at: 1_700_006_400_000, upi: 'x@bank', broken: '\0' },
    b: { payment_status: 'PENDING', amount: {}, created_at: 'soon' },
  });
  expect(await followUp(platform)).toEqual({ payments: { found: 2, unknown: 0, unreadable: 0 } });
  expect(platform.asked.sort()).toEqual(['a', 'b']);
  const [told] = await database.rows(`
    select receipt_id::int, day::text, state, status, payment_amount, mode, gateway, rrn, receipt_paid_amount, receipt_day::text
    from reporting.payments where payment_id = 'a'`);
  expect(told).toEqual({
    ...{ receipt_id: 1, day: '2023-11-15', state: 'successful', status: 'PAYMENT_SUCCESS' },
    ...{ payment_amount: '400.50', mode: 'UPI', gateway: 'g', rrn: '0042' },
    ...{ receipt_paid_amount: '400', receipt_day: '2023-11-15' },
  });
  expect(await database.rows(`select extra from payments where payment_id = 'a'`)).toEqual([
    { extra: { upi: 'x@bank' } },
  ]);
  const [daily] = await database.rows(`
    select gateway, mode, successful_payments::int as payments, successful_amount as amount
    from reporting.payments_daily where day = '2023-11-15'`);
  expect(daily).toEqual({ gateway: 'g', mode: 'UPI', payments: 1, amount: '400.50' });
});

it('a payment is asked for again until it is successful, and given up in the end', async () => {
  await receipts(['done', 'pending', 'unknown']);
  const platform = payments({ done: successful, pending: { payment_status: 'PENDING' } });
  expect(await followUp(platform)).toEqual({ payments: { found: 2, unknown: 1, unreadable: 0 } });
  expect(await followUp(platform)).toEqual({ payments: { found: 0, unknown: 0, unreadable: 0 } });
  expect(await states()).toEqual({ done: 'successful', pending: 'open', unknown: 'open' });
  // After an hour, then at most a day later than before.
  for (const [days, hours] of [
    [0, 1],
    [2, 24],
  ]) {
    await makeAllDue(days);
    await followUp(platform);
    expect(
      await database.rows(`select distinct round(extract(epoch from ask_again_at - now()) / 3600)::int as hours from payments
        where ask_again_at is not null`),
    ).toEqual([{ hours }]);
  }
  await makeAllDue(7);
  platform.asked.length = 0;
  await followUp(platform);
  expect(platform.asked.sort()).toEqual(['pending', 'unknown']);
  expect(await states()).toEqual({ done: 'successful', pending: 'open', unknown: 'unknown_to_platform' });
  platform.answers.pending = { payment_status: 'FAILED' };
  await makeAllDue(30);
  await followUp(platform);
  expect(await states()).toMatchObject({ pending: 'not_successful' });
  await makeAllDue();
  platform.asked.length = 0;
  await followUp(platform);
  expect(platform.asked).toEqual([]);
});

it('an answer that is an error delays its payment only; several in a row end the run', async () => {
  await receipts(['a', 'b', 'c', 'd', 'e']);
  const broken = new PlatformUnreadable('500');
  const one = payments({ a: broken, b: successful, c: broken, d: broken, e: successful });
  expect(await followUp(one)).toEqual({ payments: { found: 2, unknown: 0, unreadable: 3 } });
  expect(await states()).toMatchObject({ a: 'open', b: 'successful', e: 'successful' });
  const away = payments({ a: broken, c: broken, d: broken });
  await makeAllDue();
  await expect(followUp(away)).rejects.toThrow(PlatformUnreadable);
  expect(away.asked).toHaveLength(3);
});

it('no more is asked than the limit of a minute permits', async () => {
  await receipts(['a', 'b', 'c']);
  const platform = payments({ a: successful, b: successful, c: successful });
  const stopping = new AbortController();
  const running = followUp(platform, { perMinute: 1, signal: stopping.signal });
  await until(async () => (await states()).a);
  stopping.abort();
  await expect(running).rejects.toThrow('aborted');
  expect(platform.asked).toEqual(['a']);
});

it('payments that wait for an hour come after those of many receipts', async () => {
  await receipts(Array.from({ length: 20 }, (_, index) => `p${index}`));
  const platform = payments({});
  expect(await followUp(platform, { most: 7 })).toEqual({
    payments: { found: 0, unknown: 7, unreadable: 0 },
  });
  expect(await followUp(platform)).toEqual({ payments: { found: 0, unknown: 13, unreadable: 0 } });
  expect(new Set(platform.asked).size).toBe(20);
});

it('whatever stops and errors it meets, each payment is as the platform tells in the end', async () => {
  const fault = fc.option(fc.constantFrom('stop' as const, 'error' as const, 'pending' as const));
  const property = fc.asyncProperty(fc.array(fault, { maxLength: 12 }), async (faults) => {
    await clear(database);
    const ids = ['a', 'b', 'c', 'd'];
    await receipts(ids);
    const coming = [...faults];
    const platform = payments({});
    const stops: AbortController[] = [];
    platform.platform.payment = async (id) => {
      const next = coming.shift();
      if (next === 'stop') stops.at(-1)!.abort();
      if (next === 'error') throw new PlatformUnreadable('500');
      return next === 'pending' ? { payment_status: 'PENDING' } : { ...successful, rrn: id };
    };
    for (let runs = 0; runs < 30 && (runs < 2 || coming.length > 0); runs++) {
      stops.push(new AbortController());
      await makeAllDue();
      await followUp(platform, { signal: stops.at(-1)!.signal }).catch(() => {});
      if (coming.length > 0 && runs > 20) coming.shift();
    }
    coming.length = 0;
    await makeAllDue();
    await followUp(platform);
    expect(await database.rows('select payment_id, rrn, ask_again_at from payments order by 1')).toEqual(
      ids.map((id) => ({ payment_id: id, rrn: id, ask_again_at: null })),
    );
  });
  await fc.assert(property, { numRuns: 6 });
});
