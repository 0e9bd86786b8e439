import { useDatabase } from '../../support/database.ts';
import { clear, insertWithStatus } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

/** Inserts deliveries of a business that were received these numbers of hours ago. */
async function arrivals(business: string, hoursAgo: number[], status = 'applied') {
  await insertWithStatus(
    database,
    `select gen_random_uuid() as id, 'google_review.request' as event, 'review_request' as family, 'c' as client_id,
            '${business}' as business_id, now() as event_time, '{}'::jsonb as envelope,
            now() - ago * interval '1 hour' as received_at, '${status}' as status
     from unnest(array[${hoursAgo}]::float[]) as ago`,
  );
}

const range = (from: number, to: number, step: number) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);

const silence = () =>
  database.rows(`
    select business_id, round(extract(epoch from present_gap) / 3600, 1) as present,
           expected_callbacks as expected, out_of_the_ordinary as odd
    from reporting.silence order by business_id`);

it('an hourly sender that has been silent for ten hours is out of the ordinary', async () => {
  await arrivals('b1', range(10.5, 28 * 24, 1));
  expect(await silence()).toEqual([{ business_id: 'b1', present: '10.5', expected: '10.0', odd: true }]);
});

it('a gap that occurs in the same period of every week is not out of the ordinary', async () => {
  const closedAtThisTime = range(10, 35 * 24, 1).filter((hour) => hour % (7 * 24) >= 10);
  await arrivals('b1', closedAtThisTime);
  expect(await silence()).toEqual([{ business_id: 'b1', present: '10.0', expected: '0.0', odd: false }]);
});

it('an infrequent sender is out of the ordinary once five callbacks were expected, not before', async () => {
  await arrivals('b1', range(30, 40 * 24, 24));
  await arrivals('b2', range(150, 40 * 24, 24));
  expect(await silence()).toMatchObject([
    { business_id: 'b1', expected: '1.0', odd: false },
    { business_id: 'b2', expected: '6.0', odd: true },
  ]);
});

it('after more than a week of silence the average of all the weeks before counts', async () => {
  await arrivals('b1', range(240, 240 + 28 * 24, 24));
  expect(await silence()).toMatchObject([
    { business_id: 'b1', present: '240.0', expected: '10.0', odd: true },
  ]);
});

it('for a sender with less than two weeks of callbacks its one whole week counts', async () => {
  await arrivals('b1', range(10.5, 10.5 + 13.9 * 24, 1));
  expect(await silence()).toMatchObject([{ business_id: 'b1', expected: '10.0', odd: true }]);
});

it('for a sender with less than a week of callbacks nothing is expected yet', async () => {
  await arrivals('b1', [20, 30, 50]);
  expect(await silence()).toEqual([{ business_id: 'b1', present: '20.0', expected: null, odd: null }]);
});

it('a delivery that is pending or failed ends the silence as well', async () => {
  await arrivals('b1', range(10.5, 28 * 24, 1));
  await arrivals('b1', [0.5], 'received');
  await arrivals('b2', [1], 'failed');
  expect(await silence()).toMatchObject([
    { business_id: 'b1', present: '0.5', expected: '0.0', odd: false },
    { business_id: 'b2', present: '1.0', expected: null, odd: null },
  ]);
});

it('every business and family that has sent within 90 days has its own row', async () => {
  await arrivals('b1', [5]);
  await arrivals('b2', [1_000, 1_001]);
  await arrivals('b3', [91 * 24]);
  await insertWithStatus(
    database,
    `select gen_random_uuid() as id, 'mcert.created' as event, 'consent_form' as family, 'c' as client_id,
            'b1' as business_id, now() as event_time, '{}'::jsonb as envelope, now() as received_at, 'received' as status`,
  );
  expect(await database.rows('select business_id, family from reporting.silence order by 1, 2')).toEqual([
    { business_id: 'b1', family: 'consent_form' },
    { business_id: 'b1', family: 'review_request' },
    { business_id: 'b2', family: 'review_request' },
  ]);
});
