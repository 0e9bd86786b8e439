import type { Family } from './family.ts';

/**
 * A callback with every documented field of a family (service-interface section 2): a database that refuses it refuses
 * what the platform may send.
 *
 * @param id a whole number of 15 digits, of a record that does not exist
 */
export function knownGood({ events, fields }: Family, id: number) {
  const inData = Object.entries(fields).filter(([, { fromEnvelope }]) => !fromEnvelope);
  const seconds = Math.floor(Date.now() / 1000);
  return {
    event: events[0] ?? 'sample.event',
    event_time: seconds,
    timestamp: seconds,
    client_id: 'sample',
    business_id: 'sample',
    transaction_id: `ipd/sample/admissions/sample-${id}/clearances/sample`,
    data: Object.fromEntries(inData.map(([name, { sample }]) => [name, sample(id)])),
  };
}
