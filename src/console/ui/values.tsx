import { useContext } from 'preact/hooks';
import { VisitContext } from './context.ts';
import { formatDuration, formatMoment } from './time.ts';

/** A moment in the time zone of the reports. */
export function Moment({ at }: { at: Date | null | undefined }) {
  const { timezone } = useContext(VisitContext);
  if (!at) return <Nothing />;
  return <time dateTime={at.toISOString()}>{formatMoment(at, timezone)}</time>;
}

/** How long ago a moment was. */
export function Ago({ at }: { at: Date }) {
  const { timezone } = useContext(VisitContext);
  return (
    <time dateTime={at.toISOString()} title={formatMoment(at, timezone)}>
      {formatDuration(Date.now() - at.getTime())}
    </time>
  );
}

export function Nothing() {
  return <span class="nothing">–</span>;
}

/** The status of a delivery, by word and not by colour alone. */
export function Status({ status }: { status: string }) {
  return <span class={`status status-${status}`}>{status}</span>;
}

/** A text as it is, in a frame that scrolls. */
export function Verbatim({ label, text }: { label: string; text: string }) {
  return (
    <section class="verbatim" aria-label={label} tabindex={0}>
      <pre>{text}</pre>
    </section>
  );
}

export function DeliveryLink({ id }: { id: string }) {
  return (
    <a class="id" href={`/console/deliveries/${id}`}>
      {id}
    </a>
  );
}

const whole = new Intl.NumberFormat('en-IN');
const paise = new Intl.NumberFormat('en-IN', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** How often something was received: 2×. */
export const formatTimes = (count: number) => `${whole.format(count)}×`;

/** A count, or a number as PostgreSQL writes it. */
export const formatCount = (value: number | string) => whole.format(value as number);

/** An amount in rupees, exact to the paisa. */
export const formatAmount = (value: number | string) => paise.format(value as number);
