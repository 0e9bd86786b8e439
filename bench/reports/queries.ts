/** A typical query of a report. */
export interface Query {
  view: string;
  text: string;
}

const since = 'day >= reporting.today() - 30';
const lastDays = [
  'receipts',
  'deleted_receipts',
  'all_receipts',
  'receipts_daily',
  'outstanding_receipts',
  'doctors_daily',
  'clinics_daily',
  'consent_forms',
  'review_requests',
  'receipt_history',
  'deliveries',
  'quarantine',
  'delivery_health',
];

/** Every view, for one business and the last 30 days. */
export function queries(business: string): Query[] {
  const of = `business_id = '${business}'`;
  return [
    ...lastDays.map((view) => ({ view, text: `select * from reporting.${view} where ${of} and ${since}` })),
    {
      view: 'receipt_history, amounts',
      text: `select receipt_id, version, event, event_time, net_amount, paid_amount, due_amount
             from reporting.receipt_history where ${of} and ${since}`,
    },
    { view: 'silence', text: `select * from reporting.silence where ${of}` },
    {
      view: 'receipts_as_of()',
      text: `select * from reporting.receipts_as_of(now() - interval '7 days') where ${of} and ${since}`,
    },
  ];
}
