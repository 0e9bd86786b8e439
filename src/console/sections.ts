import { section as accessLog } from './access-log/routes.tsx';
import { section as aliases } from './aliases/routes.tsx';
import { section as deliveries } from './deliveries/routes.tsx';
import type { Section } from './dependencies.ts';
import { section as health } from './health/routes.tsx';
import { section as patients } from './patients/routes.tsx';
import { section as problems } from './problems/routes.tsx';
import { section as quarantine } from './quarantine/routes.tsx';
import { section as records } from './records/routes.tsx';
import { section as reports } from './reports/routes.tsx';
import { section as search } from './search/routes.tsx';
import { section as sessions } from './sessions/routes.tsx';
import { section as today } from './today/routes.tsx';

/** All sections of the console. */
export const sections: readonly Section[] = [
  deliveries,
  problems,
  reports,
  patients,
  aliases,
  accessLog,
  sessions,
  records,
  quarantine,
  search,
  health,
  today,
];
