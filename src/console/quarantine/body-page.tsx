import { PostForm, Submit } from '../ui/forms.tsx';
import { formatCount, Moment, Verbatim } from '../ui/values.tsx';
import { Choices, FaultList } from './pages.tsx';
import type { QuarantinedBody } from './rows.ts';

/** One body of the quarantine; what it says, only where that was asked for. */
export function BodyPage({ body, revealed }: { body: QuarantinedBody; revealed: boolean }) {
  const address = `/console/quarantine/${body.id}`;
  return (
    <>
      <dl class="card">
        <dt>Reason</dt>
        <dd>{body.reason.replaceAll('_', ' ')}</dd>
        <dt>Faults</dt>
        <dd>
          <FaultList faults={body.faults} />
        </dd>
        <dt>Came in for</dt>
        <dd>{body.family?.replaceAll('_', ' ') ?? 'a path that is not registered any more'}</dd>
        <dt>Business</dt>
        <dd>{body.business ?? 'it names none'}</dd>
        <dt>First arrived</dt>
        <dd>
          <Moment at={body.received_at} />
        </dd>
        <dt>Last arrived</dt>
        <dd>
          <Moment at={body.last_received_at} />, {formatCount(body.times)}{' '}
          {body.times === 1 ? 'time' : 'times'} in all
        </dd>
        <dt>Taken in</dt>
        <dd>
          <Moment at={body.replayed_at} />
        </dd>
      </dl>
      <div class="actions">
        {!body.replayed_at && <Choices values={{ id: body.id }} />}
        {!revealed && (
          <PostForm action={`${address}/personal`}>
            <Submit kind="second">Show the body</Submit>
          </PostForm>
        )}
      </div>
      {revealed ? (
        <>
          <p class="note">
            This page shows personal data; that it was asked for is in the log. <a href={address}>Hide it</a>
          </p>
          <Verbatim label="The body as it was received" text={body.body.toString('utf8')} />
        </>
      ) : (
        <p class="note">
          The body ({formatCount(body.bytes)} bytes) may hold personal data. Asking for it is noted in the
          log.
        </p>
      )}
    </>
  );
}
