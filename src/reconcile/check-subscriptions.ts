import { callbackEvents, takesEveryEvent } from '../callbacks/families/family.ts';
import type { ServiceClient, Subscription } from '../client/index.ts';
import { dayMs } from '../common/days.ts';
import type { Check, Core } from '../receiver/feature.ts';
import { readSetting, writeSettings } from '../receiver/store/tables.ts';

/** No text has a path, which may be a secret. */
type Finding = Pick<Check, 'about' | 'title' | 'detail' | 'todo'>;

const setting = 'subscriptions';
const maxAgeMs = 3 * dayMs;
const command = 'receiver subscriptions';

/** Compares with the receiver's addresses and events; without PUBLIC_URL, with its paths alone. */
function compareSubscriptions(subscriptions: readonly Subscription[], core: Core): Finding[] {
  const routes = subscriptions.map((subscription) => ({ ...subscription, ...routeOf(subscription, core) }));
  const own = routes.filter(({ takes }) => takes);
  if (own.length === 0) {
    const others = [...new Set(routes.map(({ where }) => where))].join('; ');
    const title = 'No subscription of the platform leads to this receiver';
    const detail = others ? `They lead to: ${others}` : 'There is none at all';
    return [{ title, detail, todo: `${command} add --url <address>; see also PUBLIC_URL` }];
  }
  // The events of a subscription without names are not documented: it counts as all.
  const arrives = (event: string) =>
    own.some(({ event_names: names, takes }) => (!names?.length || names.includes(event)) && takes?.(event));
  const absent = core.families.flatMap(callbackEvents).filter((event) => !arrives(event));
  return routes.flatMap(({ id: about, event_names, where }): Finding[] => {
    const past = absent.filter((event) => event_names?.includes(event));
    const title = 'A subscription leads events past this receiver';
    const detail = `To ${where}: ${past.join(', ')}. No other brings them here`;
    const todo = `${command} remove ${about}, then ${command} add --url <address>`;
    return past.length > 0 ? [{ about, title, detail, todo }] : [];
  });
}

/** `takes` undefined: it is not an address of this receiver. */
function routeOf(
  { endpoint }: Subscription,
  { config, families }: Core,
): { where: string; takes?: (event: string) => boolean } {
  if (!endpoint || !/^https?:/i.test(endpoint) || !URL.canParse(endpoint)) return { where: 'no web address' };
  const { host, pathname } = new URL(endpoint);
  if (config.publicUrl !== undefined && new URL(config.publicUrl).host !== host) return { where: host };
  const family = families.find(({ name }) => config.paths[name]?.includes(pathname));
  if (!family) return { where: `${host}, on a path that the receiver does not serve` };
  return {
    where: `${host}, on the path of ${family.path.variable ?? family.name}`,
    takes: (event: string) => takesEveryEvent(family) || Object.hasOwn(family.events, event),
  };
}

/** Keeps the result for `checkSubscriptions`. @throws ServiceError; the reason of the signal */
export async function compareWithPlatform(
  core: Core,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<void> {
  const findings = compareSubscriptions((await client.listSubscriptions({ signal })).data, core);
  await writeSettings(core.db, { [setting]: JSON.stringify({ at: new Date(), findings }) });
}

export async function checkSubscriptions({ db }: Core): Promise<Check[]> {
  const result = (await readSetting(db, setting)) ?? '{"at": "never", "findings": []}';
  const { at, findings }: { at: string; findings: Finding[] } = JSON.parse(result);
  const check = { name: 'subscriptions', status: 'warn', detail: `Last compared: ${at}` } as const;
  if (!(Date.now() - Date.parse(at) < maxAgeMs)) {
    const title = 'The subscriptions of the platform are not known';
    return [{ ...check, title, todo: 'The log of the workers says why' }];
  }
  if (findings.length === 0) return [{ ...check, status: 'ok', title: 'Subscriptions lead here' }];
  return findings.map((finding) => ({ ...check, ...finding }));
}
