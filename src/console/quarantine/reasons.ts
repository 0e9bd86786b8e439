import type { QuarantineReason } from '../../callbacks/rejection.ts';

interface Reason {
  meaning: string;
  action: string;
}

const correct = 'Open one: correct and replay it, or report the change to the service.';

const reasons: Readonly<Record<QuarantineReason, Reason>> = {
  not_json: { meaning: 'The body is not JSON.', action: correct },
  unsupported_media: { meaning: 'The body was not sent as JSON in UTF-8.', action: correct },
  invalid: { meaning: 'A field is missing or has another type, or the event is unknown.', action: correct },
  wrong_family: {
    meaning: 'The event belongs to another path.',
    action: 'Correct the address at the platform, and replay.',
  },
  refused_by_database: { meaning: 'PostgreSQL cannot store the data.', action: correct },
};

/** Why a body is in the quarantine. */
export const reasonOfBody = (reason: string): Reason =>
  reasons[reason as QuarantineReason] ?? { meaning: reason, action: correct };
