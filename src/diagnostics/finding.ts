import type { Config, Environment } from '../config/config.ts';

/** `fail`: the receiver does not work, or may lose something; `warn`: it works, but somebody should decide. */
export type Status = 'ok' | 'warn' | 'fail';

export interface Finding {
  status: Status;
  name: string;
  /** The result and, unless all is well, what to do. */
  detail: string;
}

export type ReportFinding = (status: Status, name: string, detail: string) => void;

export interface Subject {
  env: Environment;
  /** The configuration, with the default of each variable that is invalid. */
  config: Config;
  /** The faults of the configuration, and the variables that have one. */
  problems: readonly string[];
  invalid: ReadonlySet<string>;
  /** A text of another program, such as an error message, without the secrets of the environment. */
  redact: (text: string) => string;
}

/** Reports what it finds; what it raises is one more finding. Changes nothing. */
export type Check = (subject: Subject, report: ReportFinding) => Promise<void> | void;

/** Runs checks one by one: what one of them raises hides none of the others. */
export async function runEach(
  name: string,
  checks: readonly (() => Promise<unknown>)[],
  explain: (error: unknown) => readonly string[],
  report: ReportFinding,
): Promise<void> {
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      for (const problem of explain(error)) report('fail', name, problem);
    }
  }
}
