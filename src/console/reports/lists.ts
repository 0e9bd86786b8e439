import { operations } from './definitions/about-receiver.ts';
import { accountant } from './definitions/accountant.ts';
import { admissions } from './definitions/admissions.ts';
import { appointments } from './definitions/appointments.ts';
import { certificates } from './definitions/certificates.ts';
import { money } from './definitions/money.ts';
import type { Report } from './report.ts';

/** A clinic's reports, by what they are about; and those about the receiver itself. */
export const reportGroups = {
  money: { title: 'Money', reports: money },
  appointments: { title: 'Appointments', reports: appointments },
  admissions: { title: 'Admissions', reports: admissions },
  certificates: { title: 'Certificates and reviews', reports: certificates },
  accountant: { title: 'For the accountant', reports: accountant },
  operations: { title: 'Operations', reports: operations },
} as const satisfies Record<string, { title: string; reports: readonly Report[] }>;
export type ReportGroup = keyof typeof reportGroups;

export const reports: readonly Report[] = Object.values(reportGroups).flatMap(({ reports }) => reports);

/** The groups of a clinic, and for operators that of the receiver itself. */
export const groupsFor = (isOperator: boolean) =>
  (Object.keys(reportGroups) as ReportGroup[]).filter((name) => isOperator || name !== 'operations');

/** What a clinic asks most: reports with what they are asked with. */
export const mostUsed = {
  'Takings of yesterday': 'receipts_daily?range=yesterday',
  'Who owes us, the oldest first': 'outstanding_receipts',
  'Appointments of tomorrow': 'schedule?range=tomorrow',
  'Receipts of last month': 'receipts?range=last_month',
};
