import type { families } from '../../callbacks/families/index.ts';
import { titled } from '../../common/words.ts';
import type { RangeName } from './ranges.ts';

/**
 * A view of the schema `reporting`, as the console shows it. Its filters follow from its columns, and what it says of
 * itself is the view's comment.
 */
export interface Report {
  /** The view's name; the address of the page too. */
  view: string;
  /** What it says, in one line. */
  line: string;
  /** Where it is not the view's name. */
  title?: string;
  /** The families of the platform's records that it is made of; none: it is of what the receiver itself records. */
  families: readonly (typeof families)[number]['name'][];
  /** It is a function of a moment, which returns the rows that this view had then. */
  rowsOf?: string;
  /** No two rows are equal in it, so that pages do not overlap. */
  order: string;
  /** Whether `order` begins with a time, newest first, that the column `day` is the day of. */
  newestDayFirst?: boolean;
  /** Whether the indexes below the view begin with the business, so that a query has to name one. */
  leadsWithBusiness?: boolean;
  /** The days that are shown if none are asked for, instead of the last 30. */
  range?: RangeName;
  /** Whether its days may be to come. */
  hasDaysToCome?: boolean;
  /** Columns that are shown among all of them only, besides those of every report. */
  details?: readonly string[];
  /** Whether amounts are of versions or of deleted receipts too, so that their sum says nothing. */
  withoutTotals?: boolean;
}

/** The view's name in words: Receipts per day. */
export const titleOf = ({ view, title = view.replace(/_daily$/, '_per_day') }: Report) => titled(title);
