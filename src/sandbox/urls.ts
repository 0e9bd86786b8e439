import { documentedEvent, type Family, registrations } from './families.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The URL that a callback is sent to. */
export type UrlOf = (callback: { readonly family: Family; readonly event: string }) => string;

/**
 * The registered URLs below `base`: for each event its documented path; where the environment sets the paths of the
 * family and the documented one is not among them, the first of these.
 */
export function registeredUrls(base: string, env: Env = {}): UrlOf {
  return ({ family, event }) => {
    const { variable, paths } = registrations[family];
    const set = variable && env[variable];
    const registered = set ? set.split(',').map((path) => path.trim()) : paths;
    const documented = documentedEvent(event).path;
    return below(base, registered.includes(documented) ? documented : registered[0]!);
  };
}

/** The one URL below `base` that takes every event. */
export function eventsUrl(base: string, env: Env = {}): UrlOf {
  const url = below(base, env.EVENTS_PATH || '/events');
  return () => url;
}

const below = (base: string, path: string) => base.replace(/\/+$/, '') + path;
