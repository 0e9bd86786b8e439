import type { Router } from 'express';
import type { RouteDependencies } from './dependencies.ts';
import { guardRoutes, type Routes } from './guard.ts';
import type { Rights } from './rights.ts';
import type { Entry } from './ui/context.ts';

interface Definition<R extends Rights> {
  /** Its place in the navigation. */
  entry?: Entry;
  /** The path of the entry that its pages are below, where it has none. */
  below?: string;
  /** The least role for each of its routes. */
  rights: R;
  /** Whether it works while PostgreSQL is unavailable. */
  worksInOutage?: true;
  addRoutes: (routes: Routes<R>, dependencies: RouteDependencies) => void;
}

/** A part of the console: what the pages share, and how it is reached. */
export interface Section extends Omit<Definition<Rights>, 'addRoutes'> {
  addTo: (router: Router, dependencies: RouteDependencies) => void;
}

/** Creates a section; a route that its rights do not list cannot be added. */
export const defineSection = <const R extends Rights>({ addRoutes, ...section }: Definition<R>): Section => ({
  ...section,
  addTo: (router, dependencies) => {
    const place = section.entry?.path ?? section.below;
    addRoutes(guardRoutes(router, section.rights, place), dependencies);
  },
});
