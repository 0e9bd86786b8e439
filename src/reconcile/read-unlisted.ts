import { type Counts, compareAndFill, type FillOptions, noCounts } from './fill.ts';
import type { Unlisted } from './notes.ts';

const chunk = 30;

/**
 * Asks for appointments one by one that are on none of the pages: the platform may not know them, or they take place on other
 * days.
 *
 * @param onChunk called with those that were compared, before they count as read
 */
export async function readUnlisted(
  filling: FillOptions,
  rows: readonly Unlisted[],
  onUnknown: (row: Unlisted) => Promise<void>,
  onChunk: (ids: string[], counts: Counts, askedAt: Date) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < rows.length; start += chunk) {
    const asked = rows.slice(start, start + chunk);
    const counts = { ...noCounts, unlisted: asked.length };
    let askedAt = new Date();
    for (const row of asked) {
      const reading = await filling.reader.one(row.id);
      askedAt = reading.askedAt;
      if (reading.appointments.length === 0) {
        counts.unknown += 1;
        await onUnknown(row);
      } else addTo(counts, await compareAndFill(filling, reading, row.day));
    }
    await onChunk(
      asked.map(({ id }) => id),
      counts,
      askedAt,
    );
  }
}

export function addTo(counts: Counts, more: Readonly<Partial<Counts>>): void {
  for (const [name, count] of Object.entries(more)) counts[name as keyof Counts] += count;
}
