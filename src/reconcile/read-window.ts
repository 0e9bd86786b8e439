import { milliseconds } from '../families/times.ts';
import type { Window } from './days.ts';
import { nextOf, type ReadPage } from './pages.ts';
import { PlatformUnreadable } from './platform.ts';
import type { Reader, Reading } from './reader.ts';

/** In a round: 300,000 appointments of a week. */
const maxPages = 10_000;

/**
 * Reads a window to its end, in as many rounds as it takes.
 *
 * @param read the pages that were read before a stop
 * @param compared appointments of other windows: the last day of a window may be the first one of the next
 * @param onPage called with each page, and what no page before it had, before it counts as read
 * @returns when the platform was asked, for all that existed then; undefined: the pages shift all the time
 * @throws PlatformUnreadable, also where the pages do not end
 */
export async function readWindow(
  reader: Reader,
  { from, to }: Window,
  read: readonly ReadPage[],
  compared: readonly string[],
  onPage: (reading: Reading, page: ReadPage) => Promise<void>,
): Promise<Date | undefined> {
  const pages = [...read];
  const seen = new Set([...compared, ...pages.flatMap(({ ids }) => ids)]);
  const inRound = new Set(
    pages.filter(({ round }) => round === pages.at(-1)?.round).flatMap(({ ids }) => ids),
  );
  for (let next = nextOf(pages); ; next = nextOf(pages)) {
    if (next.step === 'complete') return next.asOf;
    if (next.step === 'unsettled') return undefined;
    const { round, page } = next;
    if (page >= maxPages) throw new PlatformUnreadable(`The list from ${from} to ${to} has no last page.`);
    const reading = await reader.page(from, to, page);
    const appointments = reading.appointments.filter((one) => !seen.has(one.appointment_id));
    const ids = reading.appointments.map(({ appointment_id }) => appointment_id);
    if (page === 0) inRound.clear();
    const done: ReadPage = {
      from,
      round,
      page,
      // A platform that repeats a page would have no last one.
      isLast: reading.isLast || ids.every((id) => inRound.has(id)),
      hasLate: appointments.some(
        ({ created_at }) => !isSince(created_at, pages[0]?.askedAt ?? reading.askedAt),
      ),
      ids,
      askedAt: reading.askedAt,
    };
    await onPage({ ...reading, appointments }, done);
    for (const id of ids) {
      seen.add(id);
      inRound.add(id);
    }
    pages.push(done);
  }
}

/** Whether an appointment was booked at this time or later; a time that is not told may be an earlier one. */
const isSince = (createdAt: unknown, time: Date) =>
  (typeof createdAt === 'number' || typeof createdAt === 'string') &&
  milliseconds(createdAt) >= time.getTime();
