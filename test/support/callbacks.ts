import { families } from '../../src/callbacks/families/index.ts';
import { readTime } from '../../src/callbacks/times.ts';
import { envelope as common, samples as data } from '../../src/sandbox/samples.ts';

type FamilyName = (typeof families)[number]['name'];

/** A registered path of each family. */
export const paths = Object.fromEntries(families.map(({ name, path }) => [name, path.default[0]])) as Record<
  FamilyName,
  string
>;

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
      ? [readTime(value) ?? 0]
      : [],
  );
  const latest = Math.max(0, ...times.filter((ms) => ms <= Date.now() + 86_400_000));
  return latest > (common.event_time + 86_400) * 1000 ? { event_time: Math.floor(latest / 1000) } : {};
}

export const receiptCallback = callbackOf(data.receipt);
export const consentFormCallback = callbackOf(data.consent_form);
export const reviewRequestCallback = callbackOf(data.review_request);

/** A callback of each family, with every documented field. */
export const samples = Object.fromEntries(
  Object.entries(data).map(([name, sample]) => [name, callbackOf(sample)]),
) as unknown as Record<FamilyName, (overrides?: Overrides) => Callback>;
