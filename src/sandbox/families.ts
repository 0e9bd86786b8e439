import { createRequire } from 'node:module';
import type generated from './registrations.json';

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

interface Registration {
  /** The environment variable of the registered paths. */
  readonly variable?: string;
  readonly events: readonly string[];
  /** The documented paths: one for each event, or one for all. */
  readonly paths: readonly string[];
  /** The fields of `data` that identify a record; one of them is enough. */
  readonly identifiedBy: readonly string[];
}

export type Family = keyof typeof generated;

/** Generated from the receiver's families: npm run docs. */
export const registrations: Record<Family, Registration> = createRequire(import.meta.url)(
  './registrations.json',
);

export const families = Object.keys(registrations) as Family[];

/** The events, each with its family and its documented path. */
export const documentedEvents = families.flatMap((family) => {
  const { events, paths } = registrations[family];
  return events.map((event, index) => ({ event, family, path: paths[index] ?? paths[0]! }));
});

export type DocumentedEvent = (typeof documentedEvents)[number];

const byEvent = new Map(documentedEvents.map((documented) => [documented.event, documented]));

/** The family and the documented path of an event. */
export function documentedEvent(event: string): DocumentedEvent {
  const found = byEvent.get(event);
  if (!found)
    throw new Error(`No family of registrations.json, which npm run docs writes, has the event ${event}`);
  return found;
}
