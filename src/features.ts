import type { Feature } from './feature.ts';

/** Everything beside the path of a callback. */
export const features: readonly Feature[] = [];
