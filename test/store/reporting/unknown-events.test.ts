import { samples } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, seconds } from '../../support/deliveries.ts';

const database = useDatabase();

it('other_events shows events that no family lists, with their data, day and patient', async () => {
  const event_time = seconds('2024-03-01T18:30:00Z');
  const [id] = await apply(database, [
    samples.other({ event: 'lab.ready', event_time, data: { patientid: 'p1', tests: [{ name: 'HbA1c' }] } }),
    samples.receipt({ event_time }),
  ]);
  expect(
    await database.rows(
      'select delivery_id, event, business_id, client_id, day::text, event_time, patient_id, data from reporting.other_events',
    ),
  ).toEqual([
    {
      delivery_id: id,
      event: 'lab.ready',
      business_id: '64a1f0c2e4b0a1b2c3d4e5f7',
      client_id: '64a1f0c2e4b0a1b2c3d4e5f6',
      day: '2024-03-02',
      event_time: new Date('2024-03-01T18:30:00Z'),
      patient_id: 'p1',
      data: { patientid: 'p1', tests: [{ name: 'HbA1c' }] },
    },
  ]);
});

it('deliveries shows what the receiver sends beside the data: service, transaction_id and partition_id', async () => {
  const around = { service: 'ipd', transaction_id: 'ipd/b/1', partition_id: 7 };
  const [id] = await apply(database, [{ ...samples.appointment({ event_time: 1_700_000_001 }), ...around }]);
  expect(
    await database.rows('select service, transaction_id, partition_id from deliveries where id = $1', [id]),
  ).toEqual([{ service: 'ipd', transaction_id: 'ipd/b/1', partition_id: '7' }]);
});
