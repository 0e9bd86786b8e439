import { titled } from '../common/words.ts';
import type { families } from '../families/index.ts';
import type { AliasKind } from '../store/aliases.ts';
import type { RangeName } from './ranges.ts';
import type { SummedRows } from './summed-rows.ts';

/** A chart of a report: a series for each SQL expression, over groups of rows. Amounts per day are lines. */
export interface ReportChart {
  /** `day` in it is replaced where the chart is of months. Without it, the report and what its rows are grouped by. */
  title?: string;
  stacked?: boolean;
  /** The SQL expression that rows are grouped by; without it, the day, or the month in a long range. */
  by?: string;
  /** Without them, the number of rows. */
  series?: Record<string, string>;
  amounts?: boolean;
  /** Only the largest groups, by the first series. */
  largest?: number;
  /** What the groups are the ids of. */
  ids?: AliasKind;
}

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
  /** The sums of its rows by day, where they are kept. */
  summed?: SummedRows;
  /** How many rows are counted, summed and sorted, where each is computed from others. Default: 100,000. */
  counted?: number;
  /** Where there are more receipts than `over`: a view with the same columns, and its order, which is that of an index. */
  many?: { over: number; view: string; order: string };
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
  chart?: ReportChart;
}

/** The view's name in words: Receipts per day. */
export const titleOf = ({
  view,
  title = view.replace(/_daily$/, '_per_day').replace(/_monthly$/, '_per_month'),
}: Report) => titled(title);

export const chartTitleOf = (report: Report, { title, by }: ReportChart) =>
  title ?? `${titleOf(report)} ${by ? `by ${by}` : 'per day'}`;
