import { seededRandom } from '../../src/sandbox/random.ts';
import type { Backend } from './deployment.ts';

/** The minutes of a long run, see test/run.ts; 0: the short form. */
export const minutes = Number(process.env.DRILL_MINUTES ?? 0);
export const seed = Number(process.env.TEST_SEED);

const random = seededRandom(seed, 1);

/** A number from 0 up to, and without, 1. */
export const draw = (): number => random.between(0, 0x3fffffff) / 0x40000000;

/** The backends of a drill: both in a long run, else one that is drawn from the seed. */
export function drawBackends(drill: string): Backend[] {
  const backends: Backend[] = ['redis', 'postgresql'];
  return minutes > 0 ? backends : [seededRandom(seed, drill.length).pick(backends)];
}
