import { callbackEvents, type Family } from '../src/receiver/families/family.ts';
import { families } from '../src/receiver/families/index.ts';

/** What the sandbox and the client, which import nothing of the receiver, know of its families. */
export interface Registration {
  /** The environment variable of the registered paths; undefined: they are the documented ones. */
  variable?: string;
  events: readonly string[];
  /** The documented paths: one for each event, or one for all. */
  paths: readonly string[];
  /** The fields of `data` that identify a record; one of them is enough. */
  identifiedBy: string[];
}

/** The families that list events, by name. */
export const registrations: Record<string, Registration> = Object.fromEntries(
  (families as readonly Family[])
    .filter((family) => callbackEvents(family).length > 0)
    .map((family) => [family.name, registrationOf(family)]),
);

function registrationOf(family: Family): Registration {
  const { path, fields, identifiedBy } = family;
  const events = callbackEvents(family);
  const id = identifiedBy && !fields[identifiedBy]!.fromEnvelope ? fields[identifiedBy] : undefined;
  return {
    ...(path.variable && { variable: path.variable }),
    events,
    // Where there are as many as events, each event has its own.
    paths: path.default.length === events.length ? path.default : path.default.slice(0, 1),
    identifiedBy: id ? [identifiedBy!, ...(id.alias ? [id.alias] : [])] : [],
  };
}
