import { type FollowUpOptions, followUp } from '../../src/reconcile/follow-up.ts';
import type { Platform } from '../../src/reconcile/platform.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { business, listedAppointments } from '../support/listed-appointments.ts';
import { useReconciliation } from './use-reconciliation.ts';

type Answer = Record<string, unknown> | Error | undefined;

/** What tests of the follow-ups do, besides those of the reconciliation. */
export function useFollowUps() {
  const reconciliation = useReconciliation();
  const { database, newIntake } = reconciliation;

  return {
    ...reconciliation,
    /** The answers by payment, and the payments that were asked for. */
    payments: (answers: Record<string, Answer>) => {
      const asked: string[] = [];
      const payment: Platform['payment'] = async (id) => {
        asked.push(id);
        const answer = answers[id];
        if (answer instanceof Error) throw answer;
        return answer;
      };
      return { asked, answers, platform: { ...listedAppointments().platform, payment } };
    },
    followUp: ({ platform }: { platform: Platform }, more: Partial<FollowUpOptions> = {}) =>
      followUp({
        ...{ db: database.db, intake: newIntake(), platform, business, signal: undefined },
        ...{ from: '2023-11-14', to: '2023-11-15', with: ['payments'], perMinute: 1_000_000 },
        ...more,
      }),
    /** Receipts of 2023-11-15 with these payments. */
    receipts: (ids: readonly string[], more: object = {}) =>
      apply(
        database,
        ids.map((payment_id, index) =>
          receiptCallback({ data: { receipt_id: index + 1, payment_id, ...more } }),
        ),
      ),
    makeAllDue: (days = 0) =>
      database.rows(`
        update payments set first_asked_at = first_asked_at - ${days} * interval '1 day',
          ask_again_at = case when ask_again_at is not null then now() end`),
  };
}
