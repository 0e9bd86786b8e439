/** An appointment as the platform tells it: fields of the family under their names, and others. Few of them are required. */
export type ReadAppointment = Readonly<Record<string, unknown>> & { readonly appointment_id: string };

/** A page of a list. */
export interface Page {
  appointments: readonly ReadAppointment[];
  /** The `Date` of the answer: by the platform's clock. */
  answeredAt: Date;
  isLast: boolean;
}

/** What the reconciliation reads. The composition makes it of the client; each call raises what it raises. */
export interface Platform {
  /** The business of the credentials; undefined: the platform does not tell it. */
  business: (signal?: AbortSignal) => Promise<string | undefined>;
  /**
   * The appointments of days such as 2026-11-22, by the time at which they take place; pages are numbered from 0. Whether the
   * last day is one of them is not documented.
   */
  appointmentsPage: (from: string, to: string, pageNo: number, signal?: AbortSignal) => Promise<Page>;
}

/** The platform could not be read. Its message has no data of an answer. */
export class PlatformUnreadable extends Error {
  override readonly name = 'PlatformUnreadable';
}
