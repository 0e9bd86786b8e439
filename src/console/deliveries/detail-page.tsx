import { formatDuration } from '../../common/times.ts';
import { uuid } from '../../common/uuid.ts';
import { type Family, titleOf, userDelete } from '../../families/index.ts';
import { readDelivery } from '../../intake/list-deliveries.ts';
import { withoutHealthRecords } from '../../intake/secrets.ts';
import { redactEnvelope } from '../../privacy/redact.ts';
import { readNewest } from '../../search/record.ts';
import { readCauses } from '../../store/refusals.ts';
import { readSeen } from '../../store/seen.ts';
import type { Db } from '../../store/tables.ts';
import { PageNotFound } from '../errors.ts';
import { CauseText, sameCause } from '../problems/causes.tsx';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, recordHref } from '../ui/links.ts';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';
import { Facts, formatCount, IdLink, Moment, Named, Status, Verbatim } from '../ui/values.tsx';

const preview = '/console/replay/preview';

/**
 * Reads what the page of a delivery shows: the `record` that it is about, as it is now, and the `cause` of its failure.
 * Without `recordKey`, this version does not have its family.
 *
 * @throws PageNotFound
 */
export async function readDetails(db: Db, families: readonly Family[], id: string) {
  const delivery = uuid.test(id) ? await readDelivery(db, families, id) : undefined;
  if (!delivery) throw new PageNotFound('There is no such delivery.');
  const family = families.find(({ name }) => name === delivery.family);
  const recordKey = family && { family, business: delivery.business_id, id: delivery.record ?? id };
  const record = recordKey && (await readNewest(db, recordKey));
  const [[cause], seen] = await Promise.all([
    delivery.error ? readCauses(db, [delivery.error]) : [],
    readSeen(db, delivery.id),
  ]);
  return { delivery, recordKey, record, cause, seen };
}

type DetailProps = Awaited<ReturnType<typeof readDetails>> & { revealed: boolean };

export function DeliveryDetail(props: DetailProps) {
  const { delivery, recordKey, record, revealed, cause, seen } = props;
  const { id, status, text, received_at, applied_at, delivery_count } = delivery;
  const address = `/console/deliveries/${id}`;
  const envelope = revealed
    ? withoutHealthRecords(text)
    : JSON.stringify(redactEnvelope(delivery.envelope, recordKey?.family), null, 4);
  return (
    <>
      <Facts
        facts={{
          Delivery: <span class="id">{id}</span>,
          Status: <Status status={status} />,
          Error: cause && (
            <>
              <CauseText cause={cause} />{' '}
              <a href={sameCause(delivery.event, cause.error)}>Deliveries with the same cause</a>
            </>
          ),
          Business: <Named kind="business" id={delivery.business_id} />,
          Client: delivery.client_id,
          Source: delivery.source === 'reconcile' ? 'found by reconciliation' : undefined,
          'Event time': <Moment at={delivery.event_time} />,
          'First received': <Moment at={received_at} />,
          Applied: (
            <>
              <Moment at={applied_at} />
              {applied_at && `, ${formatDuration(applied_at.getTime() - received_at.getTime())} later`}
            </>
          ),
          Duplicates:
            delivery_count === 1 ? (
              'none'
            ) : (
              <>
                {formatCount(delivery_count - 1)}, the last one at <Moment at={delivery.last_received_at} />
              </>
            ),
          Seen: seen && (
            <>
              <Moment at={seen.seen_at} /> by {seen.seen_by}
            </>
          ),
          'Table row': rowOf(props),
        }}
      />
      <div class="actions">
        {status !== 'received' && (
          <PostButton action={preview} values={{ id, status }} kind={status === 'failed' ? '' : 'second'}>
            Replay …
          </PostButton>
        )}
        {!seen && (cause || delivery.event === userDelete) && (
          <PostButton action={`${address}/seen`} kind="second">
            Mark as seen
          </PostButton>
        )}
        <ShowPersonal {...{ revealed, address }} />
        {recordKey && record && (
          <a href={recordHref(recordKey.family.name, recordKey.business, recordKey.id)}>
            The {titleOf(recordKey.family)} itself
          </a>
        )}
        {recordKey?.family.name === 'receipt' && (
          <a href={hrefTo('/deliveries', { business: recordKey.business, receipt: recordKey.id })}>
            All deliveries of this receipt
          </a>
        )}
      </div>
      <PersonalNote {...{ revealed, address }}>Personal data is hidden.</PersonalNote>
      <Verbatim label="The callback as received" text={envelope} />
    </>
  );
}

/** Which delivery the row of its record comes from. */
function rowOf({ delivery, recordKey, record }: DetailProps) {
  if (!recordKey) return 'This version of the receiver does not have this family.';
  if (!record) return 'none for this delivery';
  const { delivery_id } = record.newest.row;
  if (delivery_id === delivery.id) return 'This delivery is the row’s current version.';
  return (
    <>
      The row’s current version is delivery <IdLink to="deliveries" id={delivery_id!} />
    </>
  );
}
