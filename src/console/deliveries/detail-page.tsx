import { Fragment } from 'preact';
import type { Family } from '../../families/index.ts';
import { redactEnvelope, redactRow } from '../redact.ts';
import { PostForm, Submit } from '../ui/forms.tsx';
import { formatDuration } from '../ui/time.ts';
import { DeliveryLink, formatCount, Moment, Status, Verbatim } from '../ui/values.tsx';
import type { DeliveryInFull } from './one.ts';

export interface DetailProps {
  delivery: DeliveryInFull;
  family: Family | undefined;
  row: Record<string, string | null> | undefined;
  /** Whether what may be personal is shown. */
  revealed: boolean;
}

export function DeliveryDetail({ delivery, family, row, revealed }: DetailProps) {
  const address = `/console/deliveries/${delivery.id}`;
  const envelope = revealed
    ? delivery.text
    : JSON.stringify(redactEnvelope(delivery.envelope, family), null, 4);
  return (
    <>
      <Life delivery={delivery} />
      <div class="actions">
        {delivery.status !== 'received' && (
          <PostForm action="/console/replay/preview" values={{ id: delivery.id, status: delivery.status }}>
            <Submit kind={delivery.status === 'failed' ? '' : 'second'}>
              {delivery.status === 'failed' ? 'Replay …' : 'Apply again …'}
            </Submit>
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
          This page shows personal data; that it was asked for is in the log. <a href={address}>Hide it</a>
        </p>
      ) : (
        <p class="note">What may be personal is hidden. Asking for it is noted in the log.</p>
      )}
      <h2>Callback</h2>
      <Verbatim label="The callback as it was received" text={envelope} />
      <h2>Row</h2>
      <Row delivery={delivery} family={family} row={row} revealed={revealed} />
    </>
  );
}

function Life({ delivery }: { delivery: DeliveryInFull }) {
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
      <dt>Happened</dt>
      <dd>
        <Moment at={delivery.event_time} />
      </dd>
      <dt>Arrived</dt>
      <dd>
        <Moment at={received_at} />
      </dd>
      <dt>Applied</dt>
      <dd>
        <Moment at={applied_at} />
        {applied_at && `, ${formatDuration(applied_at.getTime() - received_at.getTime())} later`}
      </dd>
      <dt>Repetitions</dt>
      <dd>
        {delivery_count === 1 ? (
          'none'
        ) : (
          <>
            {formatCount(delivery_count - 1)}, the last at <Moment at={last_received_at} />
          </>
        )}
      </dd>
    </dl>
  );
}

/** The other deliveries of the same thing. */
function RelatedLink({ delivery, family }: Pick<DetailProps, 'delivery' | 'family'>) {
  if (family?.name !== 'receipt') return null;
  const { receipt_id } = delivery.envelope.data as { receipt_id: number };
  const query = new URLSearchParams({ business: delivery.business_id, receipt: String(receipt_id) });
  return <a href={`/console/deliveries?${query}`}>All deliveries of this receipt</a>;
}

function Row({ delivery, family, row, revealed }: DetailProps) {
  if (!family) return <p class="empty">This version of the service does not know the family.</p>;
  if (!row) return <p class="empty">There is no row of this in {family.table}.</p>;
  const shown = revealed ? row : redactRow(row, family);
  const isOwn = row.delivery_id === delivery.id;
  return (
    <>
      <p>
        In <code>{family.table}</code>.{' '}
        {isOwn ? (
          'This delivery made the row as it is.'
        ) : (
          <>
            Another version made it as it is: <DeliveryLink id={row.delivery_id ?? ''} />
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
