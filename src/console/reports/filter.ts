import type { Age } from './ranges.ts';

type Optional<T> = { [Name in keyof T]?: T[Name] | undefined };

/** Which rows of a report are asked for, and in which order. Absent fields do not filter. */
export type ReportFilter = Optional<{
  /** Days such as 2026-11-22, both included. */
  from: string;
  to: string;
  business: string;
  clinic: string;
  doctor: string;
  receipt: string;
  age: Age;
  at: Date;
  /** A column; with `-` before it, descending. */
  sort: string;
  /** From 1. */
  page: number;
}>;
