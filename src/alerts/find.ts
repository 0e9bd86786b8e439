import type { Condition } from './alert.ts';
import type { Definition, Sources } from './definitions.ts';

export interface Conditions {
  conditions: Condition[];
  /** The names that could be checked. */
  checked: ReadonlySet<string>;
}

const passesPerSlowCheck = 10;

/**
 * Creates a function that runs all checks. A check that fails hides no other.
 *
 * @param onError called with the error of a check
 */
export function createFind(
  definitions: readonly Definition[],
  sources: Sources,
  onError: (error: unknown) => Promise<void>,
): () => Promise<Conditions> {
  let pass = 0;
  return async () => {
    const checked = new Set<string>();
    const conditions: Condition[] = [];
    for (const { name, isSlow, find } of definitions) {
      if (isSlow && pass % passesPerSlowCheck > 0) continue;
      try {
        conditions.push(...(await find(sources)).map((found) => ({ name, ...found })));
        checked.add(name);
      } catch (error) {
        await onError(error);
      }
    }
    pass += 1;
    return { conditions, checked };
  };
}
