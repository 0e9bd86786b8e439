import { type Family, registrations } from './families.ts';
import type { Callback } from './history.ts';
import type { Random } from './random.ts';

/** Where callbacks are sent: each event to its registered path, or all to the one path that takes every event. */
export const destinations = ['registered', 'events'] as const;
export type To = (typeof destinations)[number];

type Sent = Record<string, unknown> & { readonly data: Record<string, unknown> };

interface Mutation {
  readonly invalid: string;
  readonly mutate: (callback: Callback) => Pick<Callback, 'body'> | Pick<Callback, 'family'>;
  /** Whether it makes a callback of the family invalid there. Default: always. */
  readonly applies?: (family: Family, to: To) => boolean;
}

const year9999 = 253_402_214_400_000; // in milliseconds

const atRegisteredPaths = (_: Family, to: To) => to === 'registered';

/** The first is not JSON (400); the others do not fit the envelope, the data or the path (422). */
const mutations: readonly Mutation[] = [
  { invalid: 'truncated', mutate: ({ body }) => ({ body: body.slice(0, -1) }) },
  {
    invalid: 'event_time is text',
    mutate: changed((sent) => ({ ...sent, event_time: `at ${sent.event_time}` })),
  },
  {
    invalid: 'event_time in the future',
    mutate: changed((sent) => ({ ...sent, event_time: year9999 })),
  },
  { invalid: 'data is a list', mutate: changed((sent) => ({ ...sent, data: [sent.data] })) },
  {
    invalid: 'a list in place of text',
    mutate: changed(({ data, ...sent }, family) => {
      const { text } = registrations[family];
      return { ...sent, data: { ...data, [text]: [data[text]] } };
    }),
  },
  {
    invalid: 'no identifying field',
    mutate: changed(({ data, ...sent }, family) => {
      const { identifiedBy } = registrations[family];
      const kept = Object.entries(data).filter(([name]) => !identifiedBy.includes(name));
      return { ...sent, data: Object.fromEntries(kept) };
    }),
    applies: (family) => registrations[family].identifiedBy.length > 0,
  },
  {
    invalid: 'unknown event',
    mutate: changed(({ event, event_type, ...sent }) => ({
      ...sent,
      event: `${event ?? event_type}.exploded`,
    })),
    applies: atRegisteredPaths,
  },
  {
    invalid: "another family's path",
    mutate: ({ family }) => ({ family: family === 'receipt' ? 'consent_form' : 'receipt' }),
    applies: atRegisteredPaths,
  },
];

/** Makes a callback invalid where it is sent. No two callbacks have the same result. */
export function invalidated(callback: Callback, to: To, random: Random): Callback {
  const applicable = mutations.filter(({ applies }) => applies?.(callback.family, to) ?? true);
  const { mutate, invalid } = random.pick(applicable);
  return { ...callback, ...mutate(callback), invalid };
}

function changed(change: (sent: Sent, family: Family) => object): Mutation['mutate'] {
  return ({ body, family }) => ({ body: JSON.stringify(change(JSON.parse(body), family)) });
}
