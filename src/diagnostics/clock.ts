import type { ReportFinding, Subject } from './finding.ts';

const toleranceS = 2;

/**
 * Compares the clock of this machine with that of a store.
 *
 * @param read the store's time, in milliseconds
 */
export async function checkClock(
  store: string,
  read: () => Promise<number>,
  { config: { authentication } }: Pick<Subject, 'config'>,
  report: ReportFinding,
): Promise<void> {
  const began = Date.now();
  const theirs = await read();
  // The store looked at its clock at some time during the question, which is therefore no difference.
  const seconds = Math.max(began - theirs, theirs - Date.now(), 0) / 1000;
  if (seconds <= toleranceS) return report('ok', 'clock', `as that of ${store}`);
  const { signingKeys, signatureToleranceS } = authentication;
  const rejects = signingKeys.length > 0 && seconds > signatureToleranceS;
  const effect = rejects
    ? ', more than SIGNATURE_TOLERANCE_S: if this one is wrong, all callbacks are rejected'
    : '';
  const text = `${Math.round(seconds)} s apart from that of ${store}${effect}. Synchronize both, as with chrony`;
  report(rejects ? 'fail' : 'warn', 'clock', text);
}
