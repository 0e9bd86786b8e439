import type { fieldsOfBody } from '../../intake/correct-fields.ts';
import type { QuarantinedBody } from '../../intake/list-quarantine.ts';
import { withoutHealthRecords } from '../../intake/secrets.ts';
import type { Note } from '../../store/notes.ts';
import { reasonOfBody } from '../../store/rejections.ts';
import { Notes } from '../notes/routes.tsx';
import { FaultList } from '../problems/causes.tsx';
import { PostForm, Submit } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';
import { Facts, formatCount, formatTimes, IdLink, Moment, Named, Verbatim } from '../ui/values.tsx';
import { type Attempt, CorrectionForm } from './correction-form.tsx';
import { BodyActions } from './pages.tsx';

interface BodyProps {
  body: QuarantinedBody;
  notes: readonly Note[];
  fields: ReturnType<typeof fieldsOfBody>;
  attempt: Attempt | undefined;
  revealed: boolean;
}

const bodyLink = (id: string | null) => (id ? <IdLink to="quarantine" id={id} /> : undefined);

export function BodyPage({ body, notes, fields, attempt, revealed }: BodyProps) {
  const address = `/console/quarantine/${body.id}`;
  const isOpen = !body.replayed_at && !body.corrected_by;
  const text = attempt?.text;
  const isShown = revealed || text !== undefined;
  const received = body.body.toString('utf8');
  const visible = withoutHealthRecords(body.body);
  // A correction of what is visible would lose the rest.
  const isEditable = isOpen && visible === received;
  const hasFaulty = fields.faulty.length > 0;
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
        <ShowPersonal revealed={isShown} address={address} what="the body" />
      </div>
      {attempt && (
        <p class="fault" role="alert">
          Nothing was stored or replayed. {attempt.message}
        </p>
      )}
      {isOpen && (isEditable || !isShown) && hasFaulty && text === undefined && (
        <CorrectionForm action={`${address}/fields`} {...fields} {...{ attempt, revealed }} />
      )}
      <PersonalNote revealed={isShown} address={address}>
        The body ({formatCount(body.size)} bytes) may contain personal data.
      </PersonalNote>
      {isShown && isEditable && (
        <details class="card" open={!hasFaulty || text !== undefined}>
          <summary>The whole body as JSON</summary>
          <PostForm action={`${address}/body`}>
            <label for="field-body">The body, to be corrected</label>
            <textarea id="field-body" name="body" rows={16} spellcheck={false}>
              {text ?? received}
            </textarea>
            <div class="actions">
              <Submit kind={hasFaulty ? 'second' : undefined}>Replay this body</Submit>
            </div>
          </PostForm>
        </details>
      )}
      {isShown && !isEditable && <Verbatim label="The body as it was received" text={visible} />}
      <Notes section="quarantine" subject={body.id} notes={notes} />
    </>
  );
}

/** Paths for every event expect none. */
function expectedAt(family: string | null) {
  if (family === 'other') return undefined;
  return family ? `an event of the family ${words(family)}` : 'unknown: its path is no longer registered';
}
