import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { receipt } from '../../src/callbacks/families/receipt.ts';
import { sampleOf } from '../../src/callbacks/families/sample.ts';
import { readTime } from '../../src/callbacks/times.ts';

/** The envelope of a sample, without its event. */
const common = {
  event_time: 1_700_000_000,
  timestamp: 1_700_000_001,
  client_id: '64a1f0c2e4b0a1b2c3d4e5f6',
  business_id: '64a1f0c2e4b0a1b2c3d4e5f7',
};

type FamilyName = (typeof families)[number]['name'];

export const paths = Object.fromEntries(families.map(({ name, path }) => [name, path.default[0]])) as Record<
  FamilyName,
  string
>;

type Overrides = { event?: string; data?: object } & { [field in keyof typeof common]?: unknown } & {
  transaction_id?: string;
};

/** A callback as the interface documents it. */
export type Callback = typeof common & { event: string; data: Record<string, unknown> };

const callbackOf = (family: Family) => {
  const { event, data: ofFamily, ...around } = sampleOf(family);
  return ({ data, ...envelope }: Overrides = {}): Callback => ({
    ...common,
    event: event || 'user.data.download',
    ...around,
    ...laterThan(data),
    ...(envelope as object),
    data: { ...ofFamily, ...data },
  });
};

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

export const receiptCallback = callbackOf(receipt);

/** A callback of each family, with every documented field. */
export const samples = Object.fromEntries(
  families.map((family) => [family.name, callbackOf(family)]),
) as Record<FamilyName, (overrides?: Overrides) => Callback>;
