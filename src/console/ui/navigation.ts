import type { Role } from '../../common/config/value-types.ts';

interface Entry {
  title: string;
  /** Below /console; pages below it belong to it. */
  path: string;
  role: Role;
  /** The paths of other pages that belong to it. */
  also: readonly string[];
  /** The number of problems stands beside it. */
  isCounted?: true;
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
    { ...entry('Callbacks', '/callbacks', ['/rejected']), isCounted: true },
    entry('Health', '/health', ['/names', '/sessions']),
    entry('Access log', '/access-log', [], 'privacy'),
  ],
};

/** The entry that a page belongs to: the one with the longest path that the page is at or below. */
export function entryOf(path: string): Entry | undefined {
  return Object.values(navigation)
    .flat()
    .flatMap((entry) => [entry.path, ...entry.also].map((at) => ({ entry, at })))
    .filter(({ at }) => path === at || path.startsWith(`${at}/`))
    .toSorted((one, other) => other.at.length - one.at.length)[0]?.entry;
}
