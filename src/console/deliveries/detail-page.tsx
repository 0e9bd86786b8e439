import { Fragment } from 'preact';
import type { Family } from '../../families/index.ts';
import { redactEnvelope, redactRow } from '../redact.ts';
import { PostForm, Submit } from '../ui/forms.tsx';
import { formatDuration } from '../ui/time.ts';
import { DeliveryLink, formatCount, Moment, Status, Verbatim } from '../ui/values.tsx';
import type { DeliveryDetails } from './read-delivery.ts';

export interface DetailProps {
  delivery: DeliveryDetails;
  family: Family | undefined;
  row: Record<string, string | null> | undefined;
  /** Whether personal data is shown. */
  revealed: boolean;
}

export function DeliveryDetail({ delivery, family, row, revealed }: DetailProps) {
  const address = `/console/deliveries/${delivery.id}`;
  const envelope = revealed
    ? delivery.text
    : JSON.stringify(redactEnvelope(delivery.envelope, family), null, 4);
  return (
    <>
      <Facts delivery={delivery} />
      <div class="actions">
        {delivery.status !== 'received' && (
          <PostForm action="/console/replay/preview" values={{ id: delivery.id, status: delivery.status }}>
            <Submit kind={delivery.status === 'failed' ? '' : 'second'}>Replay …</Submit>
          </PostForm>
        )}
        {!revealed && (
          <PostForm action={`${address}/personal`}>
            <Submit kind="second">Show personal data</Submit>
          </PostForm>
        )}
        <RelatedLink delivery={delivery} family={family} />
      </div>
      {revealed ? (
        <p class="note">
          This page shows personal data; showing it was logged. <a href={address}>Hide it</a>
        </p>
      ) : (
        <p class="note">Personal data is hidden. Showing it is logged.</p>
      )}
      <h2>Callback</h2>
      <Verbatim label="The callback as received" text={envelope} />
      <h2>Table row</h2>
      <Row delivery={delivery} family={family} row={row} revealed={revealed} />
    </>
  );
}

function Facts({ delivery }: { delivery: DeliveryDetails }) {
  const { received_at, applied_at, last_received_at, delivery_count, error } = delivery;
  return (
    <dl class="card">
      <dt>Delivery</dt>
      <dd class="id">{delivery.id}</dd>
      <dt>Status</dt>
      <dd>
        <Status status={delivery.status} />
      </dd>
      {error && <dt>Error</dt>}
      {error && <dd>{error}</dd>}
      <dt>Business, client</dt>
      <dd>
        {delivery.business_id}, {delivery.client_id}
      </dd>
      <dt>Event time</dt>
      <dd>
        <Moment at={delivery.event_time} />
      </dd>
      <dt>First received</dt>
      <dd>
        <Moment at={received_at} />
      </dd>
      <dt>Applied</dt>
      <dd>
        <Moment at={applied_at} />
        {applied_at && `, ${formatDuration(applied_at.getTime() - received_at.getTime())} later`}
      </dd>
      <dt>Duplicates</dt>
      <dd>
        {delivery_count === 1 ? (
          'none'
        ) : (
          <>
            {formatCount(delivery_count - 1)}, the last one at <Moment at={last_received_at} />
          </>
        )}
      </dd>
    </dl>
  );
}

/** Leads to all deliveries of the same receipt. */
function RelatedLink({ delivery, family }: Pick<DetailProps, 'delivery' | 'family'>) {
  if (family?.name !== 'receipt') return null;
  const { receipt_id } = delivery.envelope.data as { receipt_id: number };
  const query = new URLSearchParams({ business: delivery.business_id, receipt: String(receipt_id) });
  return <a href={`/console/deliveries?${query}`}>All deliveries of this receipt</a>;
}

function Row({ delivery, family, row, revealed }: DetailProps) {
  if (!family) return <p class="empty">This version of the service does not have this family.</p>;
  if (!row) return <p class="empty">The table {family.table} has no row for this delivery.</p>;
  const shown = revealed ? row : redactRow(row, family);
  const isOwn = row.delivery_id === delivery.id;
  return (
    <>
      <p>
        Table <code>{family.table}</code>.{' '}
        {isOwn ? (
          'This delivery is the row’s current version.'
        ) : (
          <>
            The row’s current version is delivery <DeliveryLink id={row.delivery_id ?? ''} />
          </>
        )}
      </p>
      <dl class="card">
        {Object.entries(shown).map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value === null || value === '' ? <span class="nothing">–</span> : String(value)}</dd>
          </Fragment>
        ))}
      </dl>
    </>
  );
}
