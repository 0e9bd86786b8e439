import type { Family } from '../families/index.ts';
import type { ChangeKind } from '../store/changed-records.ts';
import type { Db } from '../store/tables.ts';
import type { RecordKey, RecordReader } from './read-records.ts';

export interface PageQuery {
  /** A cursor; undefined: from the beginning. */
  after: string | undefined;
  families: readonly Family[];
  businessId: string | undefined;
  /** The most changes of the page. */
  limit: number;
  /** Without the columns that are personal. */
  isPublic: boolean;
}

export interface Change {
  cursor: string;
  /** The change as JSON. */
  json: string;
  family: string;
  /** The key of its row; unlike the id in the JSON it may identify a patient. */
  key: RecordKey;
  publicId: string;
  kind: ChangeKind;
  event: string | null;
  version: number;
  changedAt: Date | null;
}

export interface Page {
  changes: Change[];
  /** The cursor after the page. */
  next: string;
  /** Whether something may follow now. */
  more: boolean;
  /** Whether something followed already when it was read. */
  isCut: boolean;
  /** The last position when it was read. */
  head: number;
  /** How many records it contains, and the patients whom they name. */
  records: number;
  patients: string[];
}

export interface PageDependencies {
  db: Db;
  secret: Buffer;
  /** All families. */
  families: readonly Family[];
  records: RecordReader;
}
