/** What a list shows of a record; what its kind does not have is absent. */
export interface Details {
  patient?: string | null;
  name?: string | null;
  phone?: string | null;
  number?: string | null;
  /** In rupees. */
  net?: string | null;
  paid?: string | null;
  due?: string | null;
  clinic?: string | null;
  doctor?: string | null;
  status?: string | null;
  /** When an appointment begins, as PostgreSQL writes it. */
  begins?: string | null;
  /** Whether an appointment is still to come, or under way. */
  isOpen?: boolean;
  deleted?: boolean;
  /** What a reader should know of it. */
  note?: string;
}

/** A record, or what else a search finds. */
export interface Hit {
  /** The look-up that found it, such as phone. */
  by: string;
  /** delivery, quarantine, patient, or a family: that of a record. */
  kind: string;
  business_id: string | null;
  id: string;
  at: Date | null;
  details: Details;
}

export const shownHits = 50;
