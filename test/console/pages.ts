import { reports } from '../../src/reports/reports.ts';
import { routesOf } from './routes.ts';

/** What the pages are about that name something. */
export interface Subjects {
  delivery: string;
  /** A rejected body. */
  body: string;
  receipt: { business: string; id: string };
}

const views = reports.map(({ view }) => view);

/** The first page leads to another. */
const isPage = (path: string) => !/^\/?$|^\/(assets|sign-in)\/|\/(csv|xlsx)$/.test(path);

/** The addresses of all pages of the console, as Express has them; of reports, those of these views. */
export function pagesOf({ delivery, body, receipt }: Subjects, shown: readonly string[] = views): string[] {
  const examples: Record<string, readonly string[]> = {
    '/deliveries/:id': [`/deliveries/${delivery}`],
    '/quarantine/:id': [`/quarantine/${body}`],
    '/records/:family': [`/records/receipt?${new URLSearchParams(receipt)}`],
    '/reports/:view': shown.map((view) => `/reports/${view}`),
    '/search': ['/search?q=nobody'],
  };
  return routesOf().flatMap((route) => {
    const [method, path] = route.split(' ') as [string, string];
    if (method !== 'GET' || !isPage(path)) return [];
    if (path.includes(':') && !examples[path]) throw new Error(`pagesOf needs an example of ${path}`);
    return examples[path] ?? [path];
  });
}
