import type { Role } from '../../common/config/value-types.ts';

interface Entry {
  title: string;
  /** Below /console; pages below it belong to it. */
  path: string;
  role: Role;
  /** The paths of other pages that belong to it. */
  also: readonly string[];
}

const entry = (title: string, path: string, also: readonly string[] = [], role: Role = 'viewer'): Entry => ({
  title,
  path,
  role,
  also,
});

export const navigation: Readonly<Record<string, readonly Entry[]>> = {
  Clinic: [
    entry('Today', '/today'),
    entry('Appointments', '/appointments', ['/booked', '/hours', '/records/appointment']),
    entry('Patients', '/patients', ['/search'], 'desk'),
    entry('Receipts', '/receipts', ['/unpaid', '/deleted', '/twice', '/records/receipt']),
    entry('Takings', '/takings', ['/payments']),
  ],
  'More lists': [
    entry('Admissions', '/admissions', ['/records/admission']),
    entry('Papers', '/papers', ['/records/consent_form', '/records/prescription', '/records/review_request']),
    entry('Payment links', '/payment-links', ['/records/payment_request']),
  ],
  System: [
    entry('Callbacks', '/callbacks', ['/rejected']),
    entry('Health', '/health', ['/names']),
    entry('Access log', '/access-log', [], 'privacy'),
  ],
};

export const belongsTo = (entry: Entry, path: string): boolean =>
  [entry.path, ...entry.also].some((at) => path === at || path.startsWith(`${at}/`));
