import type { Group } from './ui/context.ts';

/** The places of the console: first what a clinic asks, then whether the receiver works. */
export const navigation: readonly Group[] = [
  {
    title: 'Clinic',
    entries: [
      { title: 'Today', path: '/today', key: 't' },
      { title: 'Receipts', path: '/reports/receipts', key: 'r', also: ['/records/receipt'] },
      { title: 'Appointments', path: '/reports/appointments', key: 'a', also: ['/records/appointment'] },
      { title: 'Dues', path: '/reports/outstanding_receipts', key: 'd' },
      { title: 'Patients', path: '/patients', key: 'p' },
      { title: 'Reports', path: '/reports', key: 'e', also: ['/records'] },
    ],
  },
  {
    title: 'Operations',
    words: {
      Callback: 'A message of the platform about one event, such as a new receipt',
      Delivery: 'A callback that was accepted; a resent one is the same delivery',
      Envelope: 'What is around the data of a callback: the event, its time, the business, the client',
      Family: 'The events about one kind of record, such as all events of receipts',
      Schema: 'The fields that the records of a family have, and the types of their values',
      Drift: 'Fields, values and events that the platform has not documented, or no longer sends',
      Quarantine:
        'Where callbacks are kept that were rejected, until somebody corrects, replays or drops them',
      'p50, p95': 'Half of the deliveries took at most the first time, 95 of 100 at most the second',
    },
    entries: [
      {
        title: 'Health',
        path: '/health',
        key: 'h',
        also: ['/completeness', '/test-callback'],
      },
      { title: 'Deliveries', path: '/deliveries', key: 'v' },
      {
        title: 'Problems',
        path: '/problems',
        key: 'b',
        also: ['/quarantine', '/rejections', '/replay'],
        counted: true,
      },
      { title: 'Access log', path: '/access-log', key: 'l', also: ['/sessions'] },
      { title: 'Webhooks', path: '/destinations', key: 'w' },
      { title: 'Names', path: '/aliases', key: 'n' },
    ],
  },
];
