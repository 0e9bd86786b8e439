import type { Role } from '../../common/config/value-types.ts';

/** `path`: below /console, with the pages below it; `also`: of other pages that belong to it; `role`: default viewer. */
export type Entry = readonly [title: string, path: string, also?: readonly string[], role?: Role];

export const navigation: Readonly<Record<string, readonly Entry[]>> = {
  Clinic: [
    ['Today', '/today'],
    ['Appointments', '/appointments', ['/booked', '/hours', '/records/appointment']],
    ['Patients', '/search', ['/patients'], 'desk'],
    ['Receipts', '/receipts', ['/unpaid', '/deleted', '/failed', '/twice', '/records/receipt']],
    ['Takings', '/takings', ['/payments', '/takings-by-month', '/takings-by-doctor', '/takings-by-clinic']],
  ],
  'More lists': [
    ['Admissions', '/admissions', ['/records/admission']],
    ['Papers', '/papers', ['/records/consent_form', '/records/prescription', '/records/review_request']],
    ['Payment links', '/payment-links', ['/records/payment_request']],
  ],
  System: [
    ['Callbacks', '/callbacks', ['/rejected']],
    ['Health', '/health', ['/names']],
    ['Access log', '/access-log', ['/erasures'], 'privacy'],
  ],
};

export const belongsTo = ([, own, also = []]: Entry, path: string): boolean =>
  [own, ...also].some((at) => path === at || path.startsWith(`${at}/`));
