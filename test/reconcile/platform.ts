import type { Config } from '../../src/common/config/config.ts';
import type { RunningCore } from '../../src/receiver/feature.ts';
import { coreOf } from '../support/core.ts';
import { listen } from '../support/listen.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';

export type Listed = Record<string, unknown> & { appointment_id: string };
export const business = 'b-1';
const pageSize = 30;
const dayOf = (seconds: unknown) => new Date((Number(seconds) + 19_800) * 1000).toISOString().slice(0, 10);

/** A platform over HTTP with a clock of its own, in seconds, whose list shifts when one is booked. */
export async function startPlatform(now: number) {
  const platform = {
    now,
    /** The newest first. */
    listed: [] as Listed[],
    directory: { business: { business_id: business, name: 'North' } } as Record<string, unknown>,
    /** Called with the number of a page, before the list is read; its result is called before the list is sent. */
    onPage: (_page: number): unknown => undefined,
    /** The status of answers to a path that begins so. */
    refuses: {} as Record<string, number>,
    /** It repeats its pages after so many. */
    pages: Number.POSITIVE_INFINITY,
    url: '',
  };
  platform.url = await listen(async (req, res) => {
    const { pathname, searchParams: query } = new URL(req.url!, 'http://platform');
    const status = Object.entries(platform.refuses).find(([path]) => pathname.startsWith(path))?.[1] ?? 200;
    let body: object = { data: platform.directory };
    let sending: unknown;
    if (pathname === '/dr/v1/appointment' && status === 200) {
      const page = Number(query.get('page_no'));
      sending = await platform.onPage(page);
      const days = platform.listed.filter(({ start_time }) => {
        const day = dayOf(start_time);
        return day >= query.get('start_date')! && day < query.get('end_date')!;
      });
      const first = (page % platform.pages) * pageSize;
      body = structuredClone({ appointments: days.slice(first, first + pageSize) });
    }
    const { now: answeredAt } = platform;
    if (typeof sending === 'function') await sending();
    res.sendDate = false;
    res.setHeader('Date', new Date(answeredAt * 1000).toUTCString());
    res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  return platform;
}

export type Platform = Awaited<ReturnType<typeof startPlatform>>;

/** What the feature works with, with this platform. */
export const coreWith = (
  database: ReceiverDatabase,
  { url }: Pick<Platform, 'url'>,
  config: Partial<Config> = {},
): RunningCore =>
  coreOf(database, {
    ...testConfig({ reconcile: { days: 7 } }),
    platform: { ...testConfig({}).platform, SERVICE_BASE_URL: url, SERVICE_TOKEN: 'token' },
    ...config,
  });
