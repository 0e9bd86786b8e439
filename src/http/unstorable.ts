import type { FieldError } from './errors.js';

export function findUnstorable(_json: string, _value: unknown): FieldError[] {
  return [];
}
