import { type ComponentChildren, Fragment } from 'preact';
import { formatDay } from '../../common/days.ts';
import { formatMoment, formatShort, parseMoment } from '../../common/local-times.ts';
import { formatAmount, formatCount, titled, words } from '../../common/words.ts';
import type { ColumnKind } from '../../receiver/store/view-columns.ts';
import { type AliasKind, isAliasKind } from '../../reconcile/aliases.ts';
import { useVisit } from './context.ts';

export * from '../../common/words.ts';

export const Nothing = () => <span class="soft">–</span>;

interface MomentProps {
  at: Date | null | undefined;
  exact?: boolean;
  href?: string;
}

/** A time without seconds, and without this year; `exact`: as of a callback. */
export function Moment({ at, exact = false, href }: MomentProps) {
  const { timezone } = useVisit();
  if (!at) return <Nothing />;
  const full = formatMoment(at, timezone);
  const time = (
    <time dateTime={at.toISOString()} title={full}>
      {exact ? full : formatShort(at, timezone)}
    </time>
  );
  return href ? <a href={href}>{time}</a> : time;
}

export function Id({ id, href }: { id: string; href?: string | undefined }) {
  const short = id.length > 12 ? `${id.slice(0, 4)}…${id.slice(-4)}` : id;
  const text = { title: id, children: short };
  return href ? <a {...text} href={href} /> : <span {...text} />;
}

export function Named({ kind, id, href }: { kind: AliasKind; id: string | null | undefined; href?: string }) {
  const { aliases } = useVisit();
  if (!id) return <Nothing />;
  const alias = aliases[kind].get(id);
  const name = alias ? <span title={id}>{alias}</span> : id.trim() ? <Id id={id} /> : 'blank';
  return href ? <a href={href}>{name}</a> : name;
}

const tones = {
  good: ['paid', 'completed', 'completed_without_prescription', 'applied', 'ok'],
  warn: ['part_paid', 'ongoing', 'waiting', 'received', 'warn'],
  bad: ['unpaid', 'failed', 'rejected', 'no_show', 'fail'],
};

/** Unpaid is what is due, also of receipts that are paid in part. */
export const nothingPaid = 'Nothing paid';

export function Badge({ state, children }: { state: string; children?: ComponentChildren }) {
  const [tone = ''] = Object.entries(tones).find(([, states]) => states.includes(state)) ?? [];
  return (
    <span class={`badge ${tone}`}>{children ?? (state === 'unpaid' ? nothingPaid : titled(state))}</span>
  );
}

export const sumOf = <Row,>(rows: readonly Row[], of: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + of(row), 0);

/** How many percent more or less it is; undefined: there is nothing to compare with. */
export function formatChange(now: number, before: number | undefined): string | undefined {
  if (!before) return undefined;
  const percent = Math.round(((now - before) / Math.abs(before)) * 100);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${formatCount(Math.abs(percent))} %`;
}

/** A list of names and values; those that are undefined are left out, empty ones are a dash. */
export function Facts({ facts }: { facts: Record<string, ComponentChildren> }) {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  return (
    <dl>
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === '' ? <Nothing /> : value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

export function Sums({ sums }: { sums: readonly { value: ComponentChildren; label: ComponentChildren }[] }) {
  return (
    <ul class="sums">
      {sums.map(({ value, label }, index) => (
        <li key={index}>
          <b>{value}</b> {label}
        </li>
      ))}
    </ul>
  );
}

export function Phone({ number }: { number: string | null | undefined }) {
  if (!number) return <Nothing />;
  const digits = number.replace(/[^\d+]/g, '');
  // A number of India is shown as people say it.
  const [, one, other] = /^(?:\+?91|0)?(\d{5})(\d{5})$/.exec(digits) ?? [];
  return digits.length < 6 ? number : <a href={`tel:${digits}`}>{one ? `${one} ${other}` : number}</a>;
}

/** @returns undefined: it is no address */
export function linkOf(value: string, name: string, text?: string) {
  if (!/^https?:\/\/\S+$/.test(value)) return undefined;
  return (
    <a href={value} rel="noreferrer" target="_blank">
      {text ?? 'Open'}
      {!text && <span class="unseen"> {words(name)}</span>}
    </a>
  );
}

interface ValueProps {
  kind: ColumnKind;
  name: string;
  value: string;
  text?: string;
  href?: string | undefined;
}

export function Value({ kind, name, value, text = value, href }: ValueProps) {
  const shown = () => {
    if (isAliasKind(kind)) return <Named kind={kind} id={value} />;
    switch (kind) {
      case 'amount':
        return formatAmount(value);
      case 'count':
      case 'figure':
        return formatCount(value);
      case 'day':
        return formatDay(value);
      case 'moment':
        return <Moment at={parseMoment(value)} />;
      case 'state':
        return <Badge state={value} />;
      case 'phone':
        return <Phone number={value} />;
      case 'id':
      case 'reference':
        return <Id id={value} />;
      case 'json':
        return text === value ? <code>{value}</code> : text;
      case 'verbatim':
        return text;
      default:
        return (!href && linkOf(value, name)) || text;
    }
  };
  return href ? <a href={href}>{shown()}</a> : shown();
}
