import type { Family } from '../../src/callbacks/families/family.ts';
import { type Callback, samples } from './callbacks.ts';

/** A text that nobody may see who must not see personal data. */
export const canary = 'CANARY';

type Name = keyof typeof samples;

/** The sample of a family with a canary in every field that may identify a patient, and in a field of its own. */
export function canaryOf(family: Family, overrides: Parameters<(typeof samples)[Name]>[0] = {}): Callback {
  const personal = Object.entries(family.fields).filter(([, field]) => field.personal !== false);
  const marked = personal.map(([name, { kind }]) => {
    const text = `${canary} ${name}`;
    return [name, kind === 'nested' ? { id: text, name: text, first_name: text } : text];
  });
  // An event that no family lists may name a patient in any spelling.
  const data = {
    patient_id: `${canary} patient_id`,
    ...Object.fromEntries(marked),
    [`${canary} field`]: canary,
  };
  return samples[family.name as Name]({ ...overrides, data: { ...data, ...overrides.data } });
}
