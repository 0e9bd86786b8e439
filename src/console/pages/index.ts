import type { Page } from '../page.ts';
import type { Group } from '../ui/context.ts';
import { accessLog, sessions } from './access-log.tsx';
import { deliveries } from './deliveries.tsx';
import { health } from './health.tsx';
import { aliases } from './names.tsx';
import { patients } from './patients.tsx';
import { quarantine } from './quarantine.tsx';
import { records } from './records.tsx';
import { reports } from './reports.tsx';
import { search } from './search.tsx';
import { today } from './today.tsx';

export const pages: readonly Page[] = [
  today,
  search,
  records,
  reports,
  patients,
  deliveries,
  quarantine,
  health,
  aliases,
  accessLog,
  sessions,
];

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
      { title: 'Deliveries', path: '/deliveries', counted: 'failed' },
      { title: 'Rejected', path: '/quarantine', counted: 'quarantine' },
      { title: 'Names', path: '/aliases' },
      { title: 'Access log', path: '/access-log', also: ['/sessions'] },
    ],
  },
];
