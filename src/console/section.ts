import type { RouteDependencies } from './dependencies.ts';
import type { Routes } from './guard.ts';
import type { Entry } from './ui/context.ts';

/** A part of the console: what the pages share, and how it is reached. */
export interface Section {
  /** Its place in the navigation. */
  entry?: Entry;
  /** The path of the entry that its pages are below, where it has none. */
  below?: string;
  /** Whether it works while PostgreSQL is unavailable. */
  worksInOutage?: true;
  addRoutes: (routes: Routes, dependencies: RouteDependencies) => void;
}
