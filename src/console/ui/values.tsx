import { type ComponentChildren, Fragment } from 'preact';
import { formatDuration, formatMoment, parseMoment } from '../../common/local-times.ts';
import { formatAmount, formatCount, titled } from '../../common/words.ts';
import type { AliasKind } from '../../reconcile/aliases.ts';
import { useVisit } from './context.ts';

export * from '../../common/words.ts';

export function Moment({ at }: { at: Date | null | undefined }) {
  const { timezone } = useVisit();
  if (!at) return <Nothing />;
  return <time dateTime={at.toISOString()}>{formatMoment(at, timezone)}</time>;
}

/** A moment that PostgreSQL wrote. */
export function WrittenMoment({ value }: { value: string }) {
  const at = parseMoment(value);
  return at ? <Moment at={at} /> : value;
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

/** An id: its ends, where it is long. */
export function Id({ id, href }: { id: string; href?: string }) {
  const short = id.length > 12 ? `${id.slice(0, 4)}…${id.slice(-4)}` : id;
  const text = { class: 'id', title: id, children: short };
  return href ? <a {...text} href={href} /> : <span {...text} />;
}

/** A business, a clinic or a doctor by its alias; without one, its id. */
export function Named({ kind, id }: { kind: AliasKind; id: string | null | undefined }) {
  const { aliases } = useVisit();
  if (!id) return <Nothing />;
  const alias = aliases?.[kind].get(id);
  return alias ? <span title={id}>{alias}</span> : <Id id={id} />;
}

/** The status of a delivery, by word and not by colour alone. */
export function Status({ status }: { status: string }) {
  return <span class={`status status-${status}`}>{status}</span>;
}

/** A list of names and values; those that are undefined are left out, empty ones are a dash. */
export function Facts({ facts }: { facts: Record<string, ComponentChildren> }) {
  const given = Object.entries(facts).filter(([, value]) => value !== undefined);
  return (
    <dl class="card">
      {given.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === '' ? <Nothing /> : value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

export function Figures({ figures }: { figures: Record<string, number> }) {
  const facts = Object.entries(figures).map(([name, count]) => [titled(name), formatCount(count)]);
  return <Facts facts={Object.fromEntries(facts)} />;
}

export function Verbatim({ label, text }: { label: string; text: string }) {
  return (
    <section class="verbatim" aria-label={label} tabindex={0}>
      <pre>{text}</pre>
    </section>
  );
}

/** A link to the page of a delivery or of a rejected body: its id, or a time of it. */
export function IdLink({ to, id, at }: { to: 'deliveries' | 'quarantine'; id: string; at?: Date }) {
  return (
    <a class={at ? undefined : 'id'} href={`/console/${to}/${id}`}>
      {at ? <Moment at={at} /> : id}
    </a>
  );
}

/** An amount in rupees; a dash where there is none. */
export function Amount({ value }: { value: number | string | null | undefined }) {
  return value == null || value === '' ? <Nothing /> : formatAmount(value);
}
