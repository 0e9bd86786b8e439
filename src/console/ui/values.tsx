import { type ComponentChildren, Fragment } from 'preact';
import { formatDay } from '../../common/days.ts';
import { formatDuration, formatInterval, formatMoment, parseMoment } from '../../common/local-times.ts';
import { formatAmount, formatCount, words } from '../../common/words.ts';
import type { AliasKind } from '../../reconcile/aliases.ts';
import type { ReportRow } from '../reports/queries.ts';
import {
  aliasKindOf,
  familyOfId,
  isAmount,
  isId,
  isNumeric,
  type TypedColumn,
} from '../reports/report-columns.ts';
import { hrefTo, recordHref, useVisit } from './context.ts';

export * from '../../common/words.ts';

export function Moment({ at }: { at: Date | null | undefined }) {
  const { timezone } = useVisit();
  if (!at) return <Nothing />;
  return <time dateTime={at.toISOString()}>{formatMoment(at, timezone)}</time>;
}

export function Ago({ at }: { at: Date }) {
  const { timezone } = useVisit();
  return (
    <time dateTime={at.toISOString()} title={formatMoment(at, timezone)}>
      {formatDuration(Date.now() - at.getTime())}
    </time>
  );
}

export function Nothing() {
  return <span class="nothing">–</span>;
}

export function Empty() {
  return <span class="nothing">empty</span>;
}

export function Id({ id, href }: { id: string; href?: string }) {
  const short = id.length > 12 ? `${id.slice(0, 4)}…${id.slice(-4)}` : id;
  const text = { class: 'id', title: id, children: short };
  return href ? <a {...text} href={href} /> : <span {...text} />;
}

export function Named({ kind, id }: { kind: AliasKind; id: string | null | undefined }) {
  const { aliases } = useVisit();
  if (!id) return <Nothing />;
  const alias = aliases?.[kind].get(id);
  return alias ? <span title={id}>{alias}</span> : <Id id={id} />;
}

export function Status({ status }: { status: string }) {
  return <span class={`status status-${status}`}>{status}</span>;
}

/** A list of names and values; those that are undefined are left out, empty ones are a dash. */
export function Facts({ facts }: { facts: Record<string, ComponentChildren> }) {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  return (
    <dl class="card">
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === '' ? <Nothing /> : value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

export function Verbatim({ label, text }: { label: string; text: string }) {
  return (
    <section class="verbatim" aria-label={label} tabindex={0}>
      <pre>{text}</pre>
    </section>
  );
}

export function IdLink({ to, id, at }: { to: 'deliveries' | 'quarantine'; id: string; at?: Date }) {
  return (
    <a class={at ? undefined : 'id'} href={hrefTo(`/${to}/${id}`)}>
      {at ? <Moment at={at} /> : id}
    </a>
  );
}

export function Amount({ value }: { value: number | string | null | undefined }) {
  return value == null || value === '' ? <Nothing /> : formatAmount(value);
}

const percent = new Intl.NumberFormat('en-IN', { style: 'percent', maximumFractionDigits: 1 });

export function linkOf(value: string, name: string) {
  if (!/^https?:\/\/\S+$/.test(value)) return undefined;
  return (
    <a href={value} rel="noreferrer" target="_blank">
      Open<span class="unseen"> {words(name)}</span>
    </a>
  );
}

export function FieldValue({ column, row }: { column: TypedColumn; row: ReportRow }) {
  const { name, type } = column;
  const value = name === 'receipt_number' ? row[name] || row.receipt_id : row[name];
  if (value === null || value === undefined) return <Nothing />;
  if (value === '') return <Empty />;
  const kind = aliasKindOf(name);
  if (kind) return <Named kind={kind} id={value} />;
  if (name === 'receipt_number' && row.business_id && row.receipt_id)
    return <a href={recordHref('receipt', row.business_id, row.receipt_id)}>{value}</a>;
  const family = familyOfId(name);
  if (family && row.business_id != null)
    return <Id id={value} href={recordHref(family, row.business_id, value)} />;
  if (name === 'delivery_id' || name === 'example_delivery')
    return <Id id={value} href={hrefTo(`/deliveries/${value}`)} />;
  if (name === 'quarantine_id') return <Id id={value} href={hrefTo(`/quarantine/${value}`)} />;
  const link = linkOf(value, name);
  if (link) return link;
  if (isAmount(column)) return <Amount value={value} />;
  const unitMs = /_seconds$/.test(name) ? 1_000 : /_hours$/.test(name) ? 3_600_000 : undefined;
  if (unitMs && isNumeric(column)) return formatDuration(Number(value) * unitMs);
  if (/_share$/.test(name) && isNumeric(column)) return percent.format(Number(value));
  if (isId(name)) return /number$/.test(name) ? value : <Id id={value} />;
  return name === 'state' ? words(value) : typed(type, value);
}

function typed(type: string, value: string) {
  if (['numeric', 'bigint', 'integer'].includes(type)) return formatCount(value);
  if (type === 'boolean') return value === 'true' ? 'yes' : 'no';
  if (type === 'date') return formatDay(value);
  if (type === 'interval') return formatInterval(value);
  const at = type === 'timestamp with time zone' && parseMoment(value);
  if (at) return <Moment at={at} />;
  return type === 'jsonb' ? <code>{value}</code> : value;
}
