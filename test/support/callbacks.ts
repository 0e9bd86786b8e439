import fc from 'fast-check';
import { eventsOf } from '../../src/families/family.ts';
import { type Family, families } from '../../src/families/index.ts';
import { milliseconds } from '../../src/families/iso-time.ts';
import { identify } from '../../src/intake/identity.ts';
import { envelope as common, samples as data } from '../../src/sandbox/samples.ts';

type FamilyName = (typeof families)[number]['name'];

/** The registered paths, as in Config. */
export const registeredPaths: Record<string, readonly string[]> = Object.fromEntries(
  families.map(({ name, path }) => [name, path.default]),
);

/** A registered path of each family. */
export const paths = Object.fromEntries(families.map(({ name, path }) => [name, path.default[0]])) as Record<
  FamilyName,
  string
>;

export const receiptData = data.receipt.data;
export const consentFormData = data.consent_form.data;
export const reviewRequestData = data.review_request.data;
export const appointmentData = data.appointment.data;

type Overrides = { event?: string; data?: object } & { [field in keyof typeof common]?: unknown } & {
  transaction_id?: string;
};

/** A callback as the interface documents it. */
export type Callback = typeof common & { event: string; data: Record<string, unknown> };

const callbackOf =
  <Data extends object>({ data: ofFamily, ...around }: { event: string; data: Data }) =>
  ({ data, ...envelope }: Overrides = {}) =>
    ({
      ...common,
      ...around,
      ...laterThan(data),
      ...envelope,
      data: { ...ofFamily, ...data },
    }) as typeof common & { event: string; data: Data };

/** A time that is more than a day after its event says nothing: so the event is that of the last one which it tells of. */
function laterThan(data: object = {}): { event_time?: number } {
  const times = Object.entries(data).flatMap(([name, value]) =>
    /^(created|updated|modified|completed)_at$|^(admission_date|at)$/.test(name)
      ? [milliseconds(value as number | string)]
      : [],
  );
  const latest = Math.max(0, ...times.filter((ms) => ms <= Date.now() + 86_400_000));
  return latest > (common.event_time + 86_400) * 1000 ? { event_time: Math.floor(latest / 1000) } : {};
}

export const receiptCallback = callbackOf(data.receipt);
export const consentFormCallback = callbackOf(data.consent_form);
export const reviewRequestCallback = callbackOf(data.review_request);
export const appointmentCallback = callbackOf(data.appointment);

/** A callback of each family, with every documented field. */
export const samples = Object.fromEntries(
  Object.entries(data).map(([name, sample]) => [name, callbackOf(sample)]),
) as unknown as Record<FamilyName, (overrides?: Overrides) => Callback>;

/** The delivery of a callback. */
export function deliveryOf(callback: Callback) {
  const family = (families as readonly Family[]).find((each) => eventsOf(each).includes(callback.event));
  return {
    id: identify(callback, family),
    family: family?.name ?? 'other',
    body: Buffer.from(JSON.stringify(callback)),
  };
}

const event = (...names: string[]) => fc.constantFrom(...names);
/** Half of them lack some of these fields. */
const absent = fc.oneof(
  fc.constant([]),
  fc.subarray([
    'created_at',
    'updated_at',
    'name',
    'clinic_id',
    'net_amount',
    'amount_paid',
    'amount_due',
    'url',
    'type',
  ]),
);
/** A callback that lacks these fields. */
const without = (names: readonly string[], { data, ...envelope }: Callback): Callback => ({
  ...envelope,
  data: Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name))),
});
const fewTimes = fc.integer({ min: 1_700_000_000, max: 1_700_000_002 });

/** Versions of a few receipts and consent forms, many lean or oddly timed, with ties in all their times. */
export const history = fc.array(
  fc.oneof(
    fc
      .record({
        event: event('receipt.created', 'receipt.updated', 'receipt.deleted'),
        event_time: fewTimes,
        receipt_id: fc.integer({ min: 1, max: 3 }),
        updated_at: fc.oneof(
          fewTimes.map((seconds) => seconds * 1000),
          fc.constantFrom(null, undefined),
        ),
        net_amount: fc.option(fc.integer({ min: 0, max: 99 }).map((paise) => paise / 100)),
        business_id: fc.constantFrom('b1', 'b2'),
        created_at: fc.constantFrom(receiptData.created_at, 0, '0001-01-01T00:00:00Z', null, 1_700_000_001),
        absent,
      })
      .map(({ event, event_time, business_id, absent, ...data }) =>
        without(absent, receiptCallback({ event, event_time, business_id, data } as Overrides)),
      ),
    fc
      .record({
        event: event('mcert.created', 'mcert.updated'),
        event_time: fewTimes,
        id: fc.constantFrom('a', 'b'),
        url: fc.option(fc.constantFrom('u1', 'u2', 'u3')),
        absent,
      })
      .map(({ event, event_time, absent, ...data }) =>
        without(absent, consentFormCallback({ event, event_time, data } as Overrides)),
      ),
  ),
  { minLength: 1, maxLength: 24 },
);
