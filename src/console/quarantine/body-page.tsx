import type { QuarantinedBody } from '../../intake/list-quarantine.ts';
import { withoutHealthRecords } from '../../intake/secrets.ts';
import type { FieldError } from '../../receiver/intake/rejection.ts';
import { FaultList } from '../problems/causes.tsx';
import { PostForm, Submit } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';
import { Facts, formatCount, formatTimes, IdLink, Moment, Named, Verbatim } from '../ui/values.tsx';
import { BodyActions } from './pages.tsx';
import { reasonOfBody } from './reasons.ts';

/** A correction that was rejected. */
export interface Attempt {
  message: string;
  errors: readonly FieldError[];
  /** The body as entered. */
  text: string;
}

interface BodyProps {
  body: QuarantinedBody;
  attempt: Attempt | undefined;
  revealed: boolean;
}

const bodyLink = (id: string | null) => (id ? <IdLink to="quarantine" id={id} /> : undefined);

export function BodyPage({ body, attempt, revealed }: BodyProps) {
  const address = `/console/quarantine/${body.id}`;
  const received = body.body.toString('utf8');
  const visible = withoutHealthRecords(body.body);
  // A correction of what is visible would lose the rest.
  const isEditable = !body.replayed_at && !body.corrected_by && visible === received;
  return (
    <>
      <Facts
        facts={{
          Reason: reasonOfBody(body.reason).meaning,
          Errors: <FaultList faults={body.errors} />,
          Expected: expectedAt(body.family),
          Business: body.business_id ? <Named kind="business" id={body.business_id} /> : 'none given',
          'First received': <Moment at={body.received_at} />,
          'Last received': <Moment at={body.last_received_at} />,
          Received: formatTimes(body.count),
          Replayed: <Moment at={body.replayed_at} />,
          'Corrects the body': bodyLink(body.corrects),
          'Corrected by the body': bodyLink(body.corrected_by),
        }}
      />
      <div class="actions">
        {!body.replayed_at && <BodyActions values={{ id: body.id }} />}
        <ShowPersonal revealed={revealed} address={address} what="the body" />
      </div>
      {attempt && (
        <section class="warning" role="alert">
          <p>Nothing was stored or replayed. {attempt.message}</p>
          <FaultList faults={attempt.errors} />
        </section>
      )}
      <PersonalNote revealed={revealed} address={address}>
        The body ({formatCount(body.size)} bytes) may contain personal data.
      </PersonalNote>
      {revealed && isEditable && (
        <PostForm action={`${address}/body`} class="card">
          <label for="field-body">The body, to be corrected</label>
          <textarea id="field-body" name="body" rows={16} spellcheck={false}>
            {attempt?.text ?? received}
          </textarea>
          <div class="actions">
            <Submit>Replay this body</Submit>
          </div>
        </PostForm>
      )}
      {revealed && !isEditable && <Verbatim label="The body as it was received" text={visible} />}
    </>
  );
}

/** Paths for every event expect none. */
function expectedAt(family: string | null) {
  if (family === 'other') return undefined;
  return family ? `an event of the family ${words(family)}` : 'unknown: its path is no longer registered';
}
