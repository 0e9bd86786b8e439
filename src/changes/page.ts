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
  key: RecordKey;
  kind: ChangeKind;
  /** The last event of the record; null where it is gone. */
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
  /** How many records it contains, and the patients whom they name. */
  records: number;
  patients: string[];
}

export interface PageDependencies {
  db: Db;
  /** Those of the feed. */
  families: readonly Family[];
  records: RecordReader;
}
