import type { Group } from './ui/context.ts';

/** The places of the console: first what a clinic asks, then whether the receiver works. */
export const navigation: readonly Group[] = [
  {
    title: 'Clinic',
    entries: [
      { title: 'Today', path: '/today' },
      { title: 'Receipts', path: '/reports/receipts', also: ['/records/receipt'] },
      { title: 'Appointments', path: '/reports/appointments', also: ['/records/appointment'] },
      { title: 'Dues', path: '/reports/outstanding_receipts' },
      { title: 'Patients', path: '/patients' },
      { title: 'Reports', path: '/reports', also: ['/records'] },
    ],
  },
  {
    title: 'Operations',
    entries: [
      {
        title: 'Health',
        path: '/health',
      },
      { title: 'Deliveries', path: '/deliveries' },
      {
        title: 'Problems',
        path: '/problems',
        also: ['/quarantine', '/replay'],
        counted: true,
      },
      { title: 'Access log', path: '/access-log', also: ['/sessions'] },
      { title: 'Names', path: '/aliases' },
    ],
  },
];
