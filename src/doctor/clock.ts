import type { Report, Subject } from './finding.ts';

const toleranceS = 2;

/**
 * Compares the clock of this machine with that of a store.
 *
 * @param read the store's time, in milliseconds
 */
export async function checkClock(
  name: string,
  read: () => Promise<number>,
  { config: { authentication } }: Subject,
  report: Report,
): Promise<void> {
  const began = Date.now();
  const theirs = await read();
  const ended = Date.now();
  // Somewhere between the two: what the question took is no difference.
  const difference = Math.max(began - theirs, theirs - ended, 0) / 1000;
  if (difference <= toleranceS) {
    report('ok', name, `differs by less than ${toleranceS} s from this machine's`);
    return;
  }
  const { signingKeys, signatureToleranceS } = authentication;
  const refuses = signingKeys.length > 0 && difference > signatureToleranceS;
  const effect = refuses
    ? ', more than SIGNATURE_TOLERANCE_S: if this one is wrong, every callback is rejected'
    : '';
  const text = `differs by ${Math.round(difference)} s from this machine's${effect}. Synchronize both, for example with chrony`;
  report(refuses ? 'fail' : 'warn', name, text);
}
