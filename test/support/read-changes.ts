import { untilServed } from './service.ts';

const token = 'k3v9x7q2m5n8b1c4';

/** The variable of a service whose feed `readChanges` reads. */
export const changesEnv = { CHANGES_TOKENS: token };

interface Page {
  changes?: { id: string; version: number }[];
  next?: string;
  more?: boolean;
}

/** Reads the receipts that have changed after a cursor, to the end, once the feed is open. */
export async function readChanges(
  service: { url: string },
  after?: string,
): Promise<{ status: number; ids: string[]; next: string; least: number; greatest: number }> {
  const query = new URLSearchParams({ families: 'receipt', ...(after && { after }) });
  const headers = { Authorization: `Bearer ${token}` };
  const response = await untilServed(() => fetch(`${service.url}/changes?${query}`, { headers }));
  const { changes = [], next = '', more } = (await response.json()) as Page;
  const rest = more ? await readChanges(service, next) : undefined;
  const ids = [...changes.map(({ id }) => id), ...(rest?.ids ?? [])];
  const versions = changes.map(({ version }) => version);
  return {
    status: response.status,
    ids,
    next: rest?.next ?? next,
    least: Math.min(...versions, rest?.least ?? Number.POSITIVE_INFINITY),
    greatest: Math.max(...versions, rest?.greatest ?? 0),
  };
}
