/** A page that was read and compared. */
export interface ReadPage {
  /** The first day of the window. */
  from: string;
  /** From 1; 0: appointments that were asked for one by one. */
  round: number;
  page: number;
  isLast: boolean;
  /** Whether it has an appointment that the rounds before should have had. */
  hasLate: boolean;
  ids: readonly string[];
  askedAt: Date;
}

export type Next =
  | { step: 'read'; round: number; page: number }
  /** Every appointment that existed at this time was read. */
  | { step: 'complete'; asOf: Date }
  /** The pages shift all the time. */
  | { step: 'unsettled' };

const maxRounds = 5;

/**
 * What follows the pages of a window that were read, in order. Pages shift while they are read, so that an appointment may be
 * on none of them: a window of several pages is read again, until a round has nothing that the rounds before should have had.
 */
export function nextOf(pages: readonly ReadPage[]): Next {
  const last = pages.at(-1);
  if (!last) return { step: 'read', round: 1, page: 0 };
  if (!last.isLast) return { step: 'read', round: last.round, page: last.page + 1 };
  const round = pages.filter(({ round }) => round === last.round);
  const isComplete = last.round === 1 ? round.length === 1 : !round.some(({ hasLate }) => hasLate);
  if (isComplete) return { step: 'complete', asOf: pages[0]!.askedAt };
  return last.round < maxRounds ? { step: 'read', round: last.round + 1, page: 0 } : { step: 'unsettled' };
}
