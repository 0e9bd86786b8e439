import { PostForm, Submit } from '../ui/forms.tsx';
import { formatCount, formatTimes, Moment, Verbatim } from '../ui/values.tsx';
import { Actions, FaultList } from './pages.tsx';
import type { QuarantinedBody } from './rows.ts';

/** One body of the quarantine; its content only on demand. */
export function BodyPage({ body, revealed }: { body: QuarantinedBody; revealed: boolean }) {
  const address = `/console/quarantine/${body.id}`;
  return (
    <>
      <dl class="card">
        <dt>Reason</dt>
        <dd>{body.reason.replaceAll('_', ' ')}</dd>
        <dt>Errors</dt>
        <dd>
          <FaultList faults={body.faults} />
        </dd>
        <dt>Expected family</dt>
        <dd>{body.family?.replaceAll('_', ' ') ?? 'unknown: its path is no longer registered'}</dd>
        <dt>Business</dt>
        <dd>{body.business ?? 'none given'}</dd>
        <dt>First received</dt>
        <dd>
          <Moment at={body.received_at} />
        </dd>
        <dt>Last received</dt>
        <dd>
          <Moment at={body.last_received_at} />
        </dd>
        <dt>Received</dt>
        <dd>{formatTimes(body.times)}</dd>
        <dt>Replayed</dt>
        <dd>
          <Moment at={body.replayed_at} />
        </dd>
      </dl>
      <div class="actions">
        {!body.replayed_at && <Actions values={{ id: body.id }} />}
        {!revealed && (
          <PostForm action={`${address}/personal`}>
            <Submit kind="second">Show the body</Submit>
          </PostForm>
        )}
      </div>
      {revealed ? (
        <>
          <p class="note">
            This page shows personal data; showing it was logged. <a href={address}>Hide it</a>
          </p>
          <Verbatim label="The body as it was received" text={body.body.toString('utf8')} />
        </>
      ) : (
        <p class="note">
          The body ({formatCount(body.bytes)} bytes) may contain personal data. Showing it is logged.
        </p>
      )}
    </>
  );
}
