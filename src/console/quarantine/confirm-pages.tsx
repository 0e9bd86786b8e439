import type { QuarantineOutcome } from '../../intake/replay-quarantine.ts';
import { PostButton } from '../ui/forms.tsx';
import { Outcome } from '../ui/outcome.tsx';
import { formatCount } from '../ui/values.tsx';

type Values = Record<string, string>;

const bodies = (count: number) => `${formatCount(count)} ${count === 1 ? 'body' : 'bodies'}`;
const cancel = <a href="/console/quarantine">Cancel</a>;
const back = (
  <p>
    <a href="/console/quarantine">Back to the quarantine</a>
  </p>
);

interface ReplayProps {
  /** `matching`: how many bodies match the filter. */
  outcome: QuarantineOutcome & { matching: number };
  /** The form's fields, to be sent again. */
  values: Values;
}

/** What a replay would do. */
export function ConfirmReplay({ outcome, values }: ReplayProps) {
  const { matching, accepted, notStored, rejected, reasons } = outcome;
  const tried = accepted + notStored + rejected;
  return (
    <>
      <p>
        {bodies(matching)} {matching === 1 ? 'matches' : 'match'}
        {matching > tried && `; one replay covers the first ${formatCount(tried)}`}. Validated with the
        current schemas; nothing was stored:
      </p>
      <Outcome
        figures={{
          'Would be accepted': accepted,
          ...(notStored > 0 && { 'Would not be stored': notStored }),
          'Would still be rejected': rejected,
        }}
        messages={reasons}
        label="Why some are still rejected"
        section="quarantine"
      />
      <div class="actions">
        {accepted > 0 && (
          <PostButton action="/console/quarantine/replay" values={values}>
            Replay {bodies(tried - rejected)}
          </PostButton>
        )}
        {cancel}
      </div>
      {accepted === 0 && (
        <p>
          A replay would accept nothing.{' '}
          {tried === 0 && 'Of a body that was corrected, only the correction can be replayed. '}
          {rejected > 0 && 'Bodies that are still rejected can be corrected on their pages. '}
          {notStored > 0 && 'What would not be stored is older than what is kept: it can be dropped.'}
        </p>
      )}
    </>
  );
}

/** What a replay did. */
export function ReplayDone({ outcome }: Pick<ReplayProps, 'outcome'>) {
  const { accepted, duplicates, notStored, rejected, reasons } = outcome;
  return (
    <>
      <Outcome
        figures={{
          Accepted: accepted,
          'Of these, duplicates': duplicates,
          ...(notStored > 0 && { 'Not stored': notStored }),
          'Still rejected': rejected,
        }}
        messages={reasons}
        label="Why some are still rejected"
        section="quarantine"
      />
      <p>The worker applies the accepted deliveries.</p>
      {back}
    </>
  );
}

/** What would be dropped. */
export function ConfirmDrop({ count, values }: { count: number; values: Values }) {
  return (
    <>
      <p>{bodies(count)} would be deleted permanently. Unless the sender resends them, their data is lost.</p>
      <div class="actions">
        {count > 0 && (
          <PostButton action="/console/quarantine/drop" values={values} kind="danger">
            Drop {bodies(count)}
          </PostButton>
        )}
        {cancel}
      </div>
    </>
  );
}

export function DropDone({ count }: { count: number }) {
  return (
    <>
      <p>{bodies(count)} dropped.</p>
      {back}
    </>
  );
}
