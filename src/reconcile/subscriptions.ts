import type { Config } from '../config/config.ts';
import { type Family, takesEveryEvent } from '../families/index.ts';

/** A subscription at the platform, as far as it matters here. */
export interface Subscription {
  id: string;
  /** None: which events it sends is not documented; it counts as all. */
  event_names?: readonly string[] | null | undefined;
  endpoint?: string | null | undefined;
  signing_key?: string | null | undefined;
}

/** A difference of the subscriptions from what the receiver takes. Its texts hold no key and no path, which may be a secret. */
export interface SubscriptionFinding {
  kind: 'missing' | 'elsewhere' | 'unsigned';
  /** The id of a subscription; otherwise empty. */
  subject: string;
  title: string;
  /** What to do. */
  detail: string;
}

export interface Receiver {
  config: Pick<Config, 'publicUrl' | 'paths' | 'authentication'>;
  families: readonly Family[];
}

/** Compares the platform's subscriptions with the receiver's addresses and events. Without PUBLIC_URL, paths alone are compared. */
export function compareSubscriptions(
  subscriptions: readonly Subscription[],
  receiver: Receiver,
): SubscriptionFinding[] {
  const { families } = receiver;
  const routes = subscriptions.map((one) => ({ ...one, ...routeOf(one.endpoint, receiver) }));
  const own = routes.filter(({ takes }) => takes);
  if (own.length === 0) return [missing(routes.map(({ where }) => where))];

  const reached = families
    .flatMap(({ events }) => events)
    .filter((event) => own.some((one) => includes(one, event) && one.takes!(event)));
  const lost = (events: readonly string[]) => events.filter((event) => !reached.includes(event));
  return [
    ...routes.flatMap(({ id, event_names, where }) => elsewhere(id, lost(event_names ?? []), where)),
    ...own.flatMap(({ id, signing_key }) => (signing_key ? [] : [unsigned(id, receiver)])),
  ];
}

const includes = ({ event_names }: Subscription, event: string) =>
  !event_names?.length || event_names.includes(event);

/** Where an endpoint leads: which events are taken there; undefined: it is not one of ours. */
function routeOf(endpoint: string | null | undefined, { config, families }: Receiver) {
  if (!endpoint || !/^https?:/i.test(endpoint) || !URL.canParse(endpoint)) return { where: 'no web address' };
  const { host, pathname } = new URL(endpoint);
  const isOurs = config.publicUrl === undefined || new URL(config.publicUrl).host === host;
  if (!isOurs) return { where: host };
  const family = families.find(({ name }) => config.paths[name]?.includes(pathname));
  if (!family) return { where: `${host}, on a path that the receiver does not serve` };
  return {
    where: `${host}, on the path of ${family.path.variable ?? family.name}`,
    takes: (event: string) => takesEveryEvent(family) || family.events.includes(event),
  };
}

function missing(others: readonly string[]): SubscriptionFinding {
  const found =
    others.length > 0 ? `They lead to: ${[...new Set(others)].join('; ')}` : 'There is none at all';
  return {
    kind: 'missing',
    subject: '',
    title: 'No subscription of the platform leads to this receiver',
    detail: `${found}. Run npx receiver subscriptions add --url <address>; see also PUBLIC_URL`,
  };
}

function elsewhere(id: string, events: readonly string[], where: string): SubscriptionFinding[] {
  if (events.length === 0) return [];
  return [
    {
      kind: 'elsewhere',
      subject: id,
      title: `Subscription ${id} leads events past this receiver`,
      detail: `To ${where}: ${events.join(', ')}. No other subscription brings them here: remove it and add one with this address`,
    },
  ];
}

function unsigned(id: string, { config }: Receiver): SubscriptionFinding {
  const effect =
    config.authentication.signingKeys.length > 0
      ? 'Its callbacks are not signed, and are rejected'
      : 'Its callbacks are not signed: whoever knows the address can send some';
  return {
    kind: 'unsigned',
    subject: id,
    title: `Subscription ${id} has no signing key`,
    detail: `${effect}. Set SIGNING_KEYS, remove it, and add it again`,
  };
}
