import { section as accessLog } from './access-log/routes.tsx';
import { section as aliases } from './aliases/routes.tsx';
import { section as completeness } from './completeness/routes.tsx';
import { section as deliveries } from './deliveries/routes.tsx';
import type { Section } from './dependencies.ts';
import { section as health } from './health/routes.tsx';
import { section as notes } from './notes/routes.tsx';
import { section as overview } from './overview/routes.tsx';
import { section as patients } from './patients/routes.tsx';
import { section as problems } from './problems/routes.tsx';
import { section as quarantine } from './quarantine/routes.tsx';
import { section as records } from './records/routes.tsx';
import { section as rejections } from './rejections/routes.tsx';
import { section as reports } from './reports/routes.tsx';
import { section as search } from './search/routes.tsx';
import { section as sessions } from './sessions/routes.tsx';

/** All sections of the console, in the order of the navigation; the last ones have no place in it. */
export const sections: readonly Section[] = [
  overview,
  deliveries,
  problems,
  reports,
  completeness,
  patients,
  aliases,
  accessLog,
  sessions,
  records,
  quarantine,
  rejections,
  search,
  notes,
  health,
];

export const navigation = sections.flatMap(({ entry }) => entry ?? []);
