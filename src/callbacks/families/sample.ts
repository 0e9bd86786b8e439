import { callbackEvents, type Family } from './family.ts';
import type { Field, KindName } from './field.ts';

/** Without the rest of its envelope. */
interface Sample {
  event: string;
  transaction_id?: string;
  data: Record<string, unknown>;
}

const examples: Record<KindName, unknown> = {
  text: '',
  untyped: null,
  integer: 1,
  amount: 100,
  time: 1_700_000_000,
  name: 'patient_name-1',
  nested: {},
};

/** With nearly all fields. An id is a text such as `patient-1`, the same in all samples: the sandbox replaces it. */
export function sampleOf(family: Family): Sample {
  const { fields, key, sample: { transaction_id, ...sample } = {} } = family;
  const values = Object.entries(fields)
    .filter(([, { fromEnvelope }]) => !fromEnvelope)
    .map(([name, field]) => [
      name,
      name in sample ? sample[name] : exampleOf(field, name === key ? family.name : name),
    ]);
  return {
    event: callbackEvents(family)[0] ?? '',
    ...(transaction_id !== undefined && { transaction_id: String(transaction_id) }),
    data: Object.fromEntries(values.filter(([, value]) => value !== undefined)),
  };
}

function exampleOf({ kind, sample, meanings, refersTo }: Field, name: string): unknown {
  if (sample !== undefined || kind !== 'text') return sample ?? examples[kind];
  if (meanings) return Object.keys(meanings)[0];
  return /url|link/.test(name) ? `https://files.invalid/${name}-1` : `${refersTo ?? name}-1`;
}
