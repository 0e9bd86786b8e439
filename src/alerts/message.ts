import type { Alert } from './alert.ts';
import { definitions, outage } from './definitions.ts';
import type { Definition } from './find.ts';

export interface Message {
  /** One line. */
  title: string;
  text: string;
}

const maxPerKind = 20;

const minuteMs = 60_000;
const units = [
  [48 * 60, 24 * 60, 'days'],
  [2 * 60, 60, 'hours'],
  [0, 1, 'minutes'],
] as const;

/** A duration in words, such as `3 hours`. */
function inWords(ms: number): string {
  const minutes = ms / minuteMs;
  if (minutes < 1) return 'less than a minute';
  const [, size, unit] = units.find(([least]) => minutes >= least)!;
  return Math.floor(minutes) === 1 ? '1 minute' : `${Math.floor(minutes / size)} ${unit}`;
}

function describe({ title, explain }: Definition, alert: Alert, now: number): string {
  const { startedAt, sentAt, endedAt } = alert;
  if (endedAt !== null) return `${title(alert)}: ended after ${inWords(endedAt - startedAt)}`;
  const since = sentAt === null ? '' : ` (for ${inWords(now - startedAt)})`;
  return `${title(alert)}${since}. ${explain(alert)}`;
}

/** One message about several alerts: what began, what ended, what is still on. */
export function compose(alerts: readonly Alert[], now: number): Message {
  const parts = [
    { name: 'began', of: alerts.filter(({ sentAt, endedAt }) => sentAt === null && endedAt === null) },
    { name: 'ended', of: alerts.filter(({ endedAt }) => endedAt !== null) },
    { name: 'still on', of: alerts.filter(({ sentAt, endedAt }) => sentAt !== null && endedAt === null) },
  ].filter(({ of }) => of.length > 0);
  const listOf = (part: readonly Alert[]) =>
    [outage, ...definitions].flatMap((definition) => {
      const own = part.filter(({ name }) => name === definition.name);
      const lines = own.slice(0, maxPerKind).map((alert) => describe(definition, alert, now));
      return own.length > maxPerKind
        ? [...lines, `${own.length - maxPerKind} more: ${definition.name}`]
        : lines;
    });
  const title = `Webhook receiver alerts: ${parts.map(({ name, of }) => `${of.length} ${name}`).join(', ')}`;
  const text = parts.flatMap(({ name, of }) => [
    '',
    `Alerts that ${name === 'still on' ? 'are still on' : name}:`,
    ...listOf(of).map((line) => `• ${line}`),
  ]);
  return { title, text: [title, ...text].join('\n') };
}
