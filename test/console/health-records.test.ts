import { paths, samples } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { useConsole } from './use-console.ts';

const { database, service, visitor } = useConsole();
const pushed = samples.other({
  event: 'abha.hiu_data_push',
  data: { consent_id: 'shown', entries: [{ care_context_id: 'cc-1', content: 'SECRET', media: 'm' }] },
});

it('no role sees the content of health records: in a delivery, its record, a report, a download or a rejected body', async () => {
  const [id] = await apply(database, [pushed]);
  expect((await post(service.url + paths.receipt, pushed)).status).toBe(422);
  const [{ id: body }] = (await database.rows('select id from quarantine')) as [{ id: string }];
  const range = { from: '2000-01-01', to: '2100-01-01' };
  const business = pushed.business_id;
  const shown = await Promise.all(
    [
      visitor.post(`/deliveries/${id}/personal`),
      visitor.post('/records/other/personal', { business, id: id! }),
      visitor.post('/reports/other_events/personal', { ...range, columns: 'all' }),
      visitor.post('/reports/other_events/csv', { ...range, personal: 'yes' }),
      visitor.post(`/quarantine/${body}/personal`),
    ].map(async (response) => (await response).text()),
  );
  for (const [place, text] of shown.entries())
    expect([place, text]).toEqual([place, expect.stringMatching(/^(?!.*SECRET)(?=.*shown).*\[redacted\]/s)]);
  // What is hidden would be lost by a correction of the whole body.
  expect(shown.at(-1)).not.toContain('<textarea');
  expect(await database.rows(`select from inbox where envelope::text like '%SECRET%'`)).toHaveLength(1);
});
