/** Something that is wrong now. */
export interface Condition {
  name: string;
  /** Where several may be: the business that is silent, for example; otherwise empty. */
  subject: string;
  /** Figures of the message; without personal data. */
  detail: Record<string, unknown>;
}

/** The state of a condition for one channel. Times are milliseconds since 1970, by the clock of its store. */
export interface Alert extends Condition {
  channel: string;
  startedAt: number;
  sentAt: number | null;
  /** When it was first found to be over; null: it is on. */
  endedAt: number | null;
}

export interface Delays {
  /** How long it must last before it is sent, by name; absent: not at all. */
  afterMs: Readonly<Record<string, number>>;
  /** How long it must be over before its end is sent: what comes back before is the same alert. */
  settledMs: number;
}

const repeatMs = 24 * 60 * 60 * 1000;

const keyOf = ({ name, subject }: Condition) => JSON.stringify([name, subject]);

/**
 * The alerts of a channel after a check.
 *
 * @param checked the names that were checked; alerts of other names stay as they are
 */
export function updateAlerts(
  channel: string,
  alerts: readonly Alert[],
  conditions: readonly Condition[],
  checked: ReadonlySet<string>,
  now: number,
  { afterMs, settledMs }: Delays,
): Alert[] {
  const found = new Map(conditions.map((condition) => [keyOf(condition), condition]));
  const known = alerts.map((alert): Alert => {
    const condition = found.get(keyOf(alert));
    found.delete(keyOf(alert));
    const { startedAt, sentAt, endedAt } = alert;
    // A clock that was set back must not delay a message.
    const past = { startedAt: Math.min(startedAt, now), sentAt: sentAt && Math.min(sentAt, now) };
    if (condition) return { ...alert, ...past, detail: condition.detail, endedAt: null };
    return { ...alert, ...past, endedAt: checked.has(alert.name) ? Math.min(endedAt ?? now, now) : endedAt };
  });
  const begun = Array.from(
    found.values(),
    (condition): Alert => ({ ...condition, channel, startedAt: now, sentAt: null, endedAt: null }),
  );
  // An alert that ended before it was due is dropped; one that could not be sent in time is not.
  const isForgotten = ({ name, startedAt, sentAt, endedAt }: Alert) =>
    endedAt !== null &&
    sentAt === null &&
    now - endedAt >= settledMs &&
    endedAt - startedAt < (afterMs[name] ?? 0);
  return [...known, ...begun].filter((alert) => !isForgotten(alert));
}

/** Whether its start, its repetition or its end is to be sent. */
export function isDue({ name, startedAt, sentAt, endedAt }: Alert, now: number, delays: Delays): boolean {
  if (endedAt !== null) return now - endedAt >= delays.settledMs;
  if (sentAt === null) return now - startedAt >= (delays.afterMs[name] ?? 0);
  return now - sentAt >= repeatMs;
}

/** The alert after it was sent; none, where that was its end. */
export const afterSending = (alert: Alert, now: number): Alert[] =>
  alert.endedAt === null ? [{ ...alert, sentAt: now }] : [];
