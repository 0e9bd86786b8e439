import { console } from '../console/feature.ts';
import { move } from '../embedded/move/feature.ts';
import { feed } from '../feed/feature.ts';
import { inbox } from '../inbox/feature.ts';
import { operations } from '../operations/feature.ts';
import { privacy } from '../privacy/feature.ts';
import type { Feature } from '../receiver/feature.ts';
import { reconciliation } from '../reconcile/feature.ts';

export const features: readonly Feature[] = [inbox, console, feed, move, operations, privacy, reconciliation];
