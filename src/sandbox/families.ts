import { callbackEvents, type Family as FamilyFile } from '../callbacks/families/family.ts';
import { families as files } from '../callbacks/families/index.ts';

/** The envelope of section 2.1. */
export interface Envelope {
  readonly event: string;
  readonly event_time: number;
  readonly timestamp: number;
  readonly client_id: string;
  readonly business_id: string;
  /** Names the admission that an event, a clearance or an estimate belongs to. */
  readonly transaction_id?: string;
  readonly data: Record<string, unknown>;
}

export type Family = Exclude<(typeof files)[number]['name'], 'other'>;

/** The events, each with its family and its documented path. */
export const documentedEvents = (files as readonly FamilyFile[]).flatMap((family) => {
  const events = callbackEvents(family);
  const { variable, default: paths } = family.path;
  return events.map((event, index) => ({
    event,
    family: family.name as Family,
    // Where there are as many as events, each event has its own.
    path: paths.length === events.length ? paths[index]! : paths[0]!,
    /** The environment variable of the family's registered paths. */
    variable,
    /** The fields of `data` that identify a record; one of them is enough. */
    identifiedBy: keysOf(family),
  }));
});

function keysOf({ identifiedBy, fields }: FamilyFile): string[] {
  const key = identifiedBy === undefined ? undefined : fields[identifiedBy];
  if (identifiedBy === undefined || !key || key.fromEnvelope) return [];
  return [identifiedBy, ...(key.alias ? [key.alias] : [])];
}

export type DocumentedEvent = (typeof documentedEvents)[number];

export const families = [...new Set(documentedEvents.map(({ family }) => family))];

const byEvent = new Map(documentedEvents.map((documented) => [documented.event, documented]));

/** The family and the documented path of an event. */
export function documentedEvent(event: string): DocumentedEvent {
  const found = byEvent.get(event);
  if (!found) throw new Error(`No family has the event ${event}`);
  return found;
}
