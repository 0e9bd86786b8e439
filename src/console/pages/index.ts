import type { Page } from '../page.ts';
import type { Group } from '../ui/context.ts';
import { accessLog } from './access-log.tsx';
import { aliases } from './aliases.tsx';
import { health } from './health.tsx';
import { patients } from './patients.tsx';
import { reports } from './reports.tsx';
import { sessions } from './sessions.tsx';
import { today } from './today.tsx';

/** All pages of the console: a file each. */
export const pages: readonly Page[] = [today, reports, patients, health, aliases, accessLog, sessions];

/** The places of the console; a user sees those that the roles open. */
export const navigation: readonly Group[] = [
  {
    title: 'Clinic',
    entries: [
      { title: 'Today', path: '/today' },
      { title: 'Receipts', path: '/reports/receipts', also: ['/records/receipt'] },
      { title: 'Appointments', path: '/reports/appointments', also: ['/records/appointment'] },
      { title: 'Dues', path: '/reports/outstanding_receipts' },
      { title: 'Reports', path: '/reports', also: ['/records'] },
      { title: 'Patients', path: '/patients' },
    ],
  },
  {
    title: 'Operations',
    entries: [
      { title: 'Health', path: '/health' },
      { title: 'Deliveries', path: '/deliveries' },
      { title: 'Problems', path: '/problems', also: ['/quarantine'], counted: true },
      { title: 'Names', path: '/aliases' },
      { title: 'Access log', path: '/access-log', also: ['/sessions'] },
    ],
  },
];
