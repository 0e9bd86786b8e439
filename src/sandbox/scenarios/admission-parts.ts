import { hexId } from '../clinic.ts';
import type { Random } from '../random.ts';
import { inRupees, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/** The common fields of events, clearances and estimates of an admission. */
export interface Admission {
  readonly transactionId: string;
  readonly nurse: { readonly id: string; readonly name: string };
}

/** An event of the stay, sometimes corrected. */
export function* happening(
  random: Random,
  { transactionId, nurse }: Admission,
  at: number,
  fields: { kind: string; to?: string; clearance_type?: string },
): Scenario {
  const id = hexId(random);
  const version = (action: 'created' | 'updated', at: number): ScenarioEvent => ({
    event: `ipd_admissions_events.${action}`,
    transactionId: `${transactionId}/events/${id}`,
    data: { id, ...fields, ...sometimes(random, { at, by: nurse }) },
  });
  const now = yield version('created', at);
  if (random.chance(0.5)) yield version('updated', now);
}

/** The clearance of a department, completed or still open; its data has no id. */
export function* clearance(random: Random, admission: Admission, type: string): Scenario {
  const transactionId = `${admission.transactionId}/clearances/${type}`;
  const version = (action: 'created' | 'updated', status: string, more = {}): ScenarioEvent => ({
    event: `ipd_admissions_clearances.${action}`,
    transactionId,
    data: { status, type, ...sometimes(random, more) },
  });
  let now = yield version('created', 'pending');
  if (random.chance(0.2)) return;
  const completed = { completed_at: now, completed_by: admission.nurse, updated_at: now };
  now = yield version('updated', 'completed', completed);
  yield* happening(random, admission, now, { kind: 'cleared', clearance_type: type });
}

/** An estimate of the cost of a service, sometimes raised. */
export function* estimate(random: Random, { transactionId, nurse }: Admission, createdAt: number): Scenario {
  const id = hexId(random);
  const service = { name: random.pick(['Room', 'Nursing', 'Pharmacy']), service_id: hexId(random) };
  const rate = inRupees(random.between(5_000, 500_000));
  const discount = { category: random.pick(['percent', 'amount']), value: random.between(0, 20) };
  let quantity = 1;
  const version = (action: 'created' | 'updated', times: Record<string, unknown>): ScenarioEvent => ({
    event: `ipd_admissions_estimates.${action}`,
    transactionId: `${transactionId}/estimates/${id}`,
    data: {
      id,
      ...service,
      ...sometimes(random, {
        quantity,
        rate,
        discount,
        remarks: random.pick(['', 'On request']),
        date: createdAt,
        added_by: nurse,
        created_at: createdAt,
      }),
      ...times,
    },
  });
  let now = yield version('created', sometimes(random, { updated_at: createdAt }));
  while (random.chance(0.5)) {
    quantity += 1;
    now = yield version('updated', { updated_at: now });
  }
}
