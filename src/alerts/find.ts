import type { Finding } from './alert.ts';
import type { Definition, Sources } from './definitions.ts';

export interface Findings {
  findings: Finding[];
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
): () => Promise<Findings> {
  let pass = 0;
  return async () => {
    const checked = new Set<string>();
    const findings: Finding[] = [];
    for (const { name, isSlow, find } of definitions) {
      if (isSlow && pass % passesPerSlowCheck > 0) continue;
      try {
        findings.push(...(await find(sources)).map((found) => ({ name, ...found })));
        checked.add(name);
      } catch (error) {
        await onError(error);
      }
    }
    pass += 1;
    return { findings, checked };
  };
}
