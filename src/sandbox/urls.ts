import { documentedEvent, documentedEvents, type Family } from './families.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The URL that a callback is sent to. */
export type UrlOf = (callback: { readonly family: Family; readonly event: string }) => string;

/**
 * The registered URLs below `base`: for each event its documented path; where the environment sets the paths of the
 * family and the documented one is not among them, the first of these.
 */
export function registeredUrls(base: string, env: Env = {}): UrlOf {
  return ({ family, event }) => {
    const ofFamily = documentedEvents.filter((documented) => documented.family === family);
    const { path } = documentedEvent(event);
    const set = env[ofFamily[0]?.variable ?? ''];
    const registered = set ? set.split(',').map((one) => one.trim()) : ofFamily.map((one) => one.path);
    return below(base, registered.includes(path) ? path : registered[0]!);
  };
}

/** The one URL below `base` that takes every event. */
export function eventsUrl(base: string, env: Env = {}): UrlOf {
  const url = below(base, env.EVENTS_PATH || '/events');
  return () => url;
}

const below = (base: string, path: string) => base.replace(/\/+$/, '') + path;
