export interface Page {
  /** The address with its ids replaced, so that pages of one kind are one. */
  kind: string;
  path: string;
}

export interface TimedPage extends Page {
  status: number;
  /** Until the first byte and the last, medians. */
  ms: number;
  wholeMs: number;
  /** Whether a part of it is left out, because a query took too long. */
  isPartial: boolean;
}

const perKind = 2;

/** A page without its ids, days and texts: two of a kind have the same. */
export const kindOf = (path: string): string =>
  path
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id')
    .replace(/([?&](?!order|age|range)\w+)=[^&]*/g, '$1=…')
    .replace(/\/\d+$/, '/:n');

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/**
 * Visits the console's pages as a user would, each link on the way, and times a few pages of each kind.
 *
 * @param begin the addresses to begin with
 * @param onPage called after each page
 */
export async function crawl(
  url: string,
  cookie: string,
  begin: readonly string[],
  runs: number,
  onPage: (page: TimedPage) => void,
): Promise<TimedPage[]> {
  const queue = [...begin];
  const known = new Set(queue);
  const kinds = new Map<string, number>();
  const timed: TimedPage[] = [];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const kind = kindOf(path);
    const count = kinds.get(kind) ?? 0;
    if (count === perKind) continue;
    kinds.set(kind, count + 1);
    const [times, whole]: [number[], number[]] = [[], []];
    let status = 0;
    let html = '';
    for (let run = 0; run < runs; run += 1) {
      const began = performance.now();
      const response = await fetch(url + path, { headers: { cookie }, redirect: 'manual' });
      times.push(performance.now() - began);
      status = response.status;
      html = await response.text();
      whole.push(performance.now() - began);
    }
    const isPartial = /timed out|Query timeout/.test(html);
    const page = { kind, path, status, ms: median(times), wholeMs: median(whole), isPartial };
    timed.push(page);
    onPage(page);
    for (const [, href] of html.matchAll(/href="(\/console[^"#]*)"/g)) {
      const next = href!.replaceAll('&amp;', '&');
      if (known.has(next) || next.includes('/assets/') || /\/(csv|xlsx|download)\b/.test(next)) continue;
      known.add(next);
      queue.push(next);
    }
  }
  return timed;
}
