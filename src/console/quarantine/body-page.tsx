import { PostButton } from '../ui/forms.tsx';
import { Facts, formatCount, formatTimes, Moment, PersonalNote, Verbatim } from '../ui/values.tsx';
import { Actions, FaultList } from './pages.tsx';
import type { QuarantinedBody } from './queries.ts';

/** One body of the quarantine; its content only on demand. */
export function BodyPage({ body, revealed }: { body: QuarantinedBody; revealed: boolean }) {
  const address = `/console/quarantine/${body.id}`;
  return (
    <>
      <Facts
        facts={{
          Reason: body.reason.replaceAll('_', ' '),
          Errors: <FaultList faults={body.errors} />,
          'Expected family': body.family?.replaceAll('_', ' ') ?? 'unknown: its path is no longer registered',
          Business: body.business ?? 'none given',
          'First received': <Moment at={body.received_at} />,
          'Last received': <Moment at={body.last_received_at} />,
          Received: formatTimes(body.count),
          Replayed: <Moment at={body.replayed_at} />,
        }}
      />
      <div class="actions">
        {!body.replayed_at && <Actions values={{ id: body.id }} />}
        {!revealed && (
          <PostButton action={`${address}/personal`} kind="second">
            Show the body
          </PostButton>
        )}
      </div>
      <PersonalNote revealed={revealed} shownAt={`${address}/personal`} hiddenAt={address}>
        The body ({formatCount(body.bytes)} bytes) may contain personal data.
      </PersonalNote>
      {revealed && <Verbatim label="The body as it was received" text={body.body.toString('utf8')} />}
    </>
  );
}
