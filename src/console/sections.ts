import { section as accessLog } from './access-log/routes.tsx';
import { section as aliases } from './aliases/routes.tsx';
import { assetRights } from './assets.ts';
import { section as deliveries } from './deliveries/routes.tsx';
import { section as failed } from './failed/routes.tsx';
import { section as health } from './health/routes.tsx';
import { section as notes } from './notes/routes.ts';
import { section as overview } from './overview/routes.tsx';
import { section as patients } from './patients/routes.tsx';
import { section as quarantine } from './quarantine/routes.tsx';
import { section as records } from './records/routes.tsx';
import { section as rejections } from './rejections/routes.tsx';
import { section as reports } from './reports/routes.tsx';
import type { Rights } from './rights.ts';
import { section as search } from './search/routes.tsx';
import type { Section } from './section.ts';
import { section as sessions } from './sessions/routes.tsx';
import { signInRights } from './sign-in/rights.ts';

/** All sections of the console, in the order of the navigation; the last ones have no place in it. */
export const sections: readonly Section[] = [
  overview,
  deliveries,
  failed,
  quarantine,
  reports,
  patients,
  aliases,
  accessLog,
  sessions,
  records,
  rejections,
  search,
  notes,
  health,
];

export const navigation = sections.flatMap(({ entry }) => entry ?? []);

/** The least role for each route of the console. */
export const rights: Rights = Object.assign(
  {},
  signInRights,
  assetRights,
  ...sections.map((section) => section.rights),
);
