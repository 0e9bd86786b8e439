import type { QuarantineOutcome } from '../../intake/replay-quarantine.ts';
import { PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount } from '../ui/values.tsx';
import { BodyLink } from './pages.tsx';

type Values = Record<string, string | undefined>;

const bodies = (count: number) => `${formatCount(count)} ${count === 1 ? 'body' : 'bodies'}`;
const cancel = <a href="/console/quarantine">Cancel</a>;
const back = (
  <p>
    <a href="/console/quarantine">Back to the quarantine</a>
  </p>
);

/** What a replay would do; `matching`: how many bodies match the filter. */
export function ConfirmReplay({
  outcome,
  values,
}: {
  outcome: QuarantineOutcome & { matching: number };
  values: Values;
}) {
  const { matching, accepted, rejected } = outcome;
  const tried = accepted + rejected;
  return (
    <>
      <p>
        {bodies(matching)} {matching === 1 ? 'matches' : 'match'}
        {matching > tried && `; one replay covers the first ${formatCount(tried)}`}. Validated with the
        current schemas; nothing was stored:
      </p>
      <Result outcome={outcome} would />
      <div class="actions">
        {accepted > 0 && (
          <PostForm action="/console/quarantine/replay" values={values}>
            <Submit>Replay {bodies(accepted)}</Submit>
          </PostForm>
        )}
        {cancel}
      </div>
    </>
  );
}

export function ReplayDone({ outcome }: { outcome: QuarantineOutcome }) {
  return (
    <>
      <Result outcome={outcome} />
      <p>The worker applies the accepted deliveries.</p>
      {back}
    </>
  );
}

function Result({ outcome, would = false }: { outcome: QuarantineOutcome; would?: boolean }) {
  const { accepted, duplicates, rejected, reasons } = outcome;
  return (
    <>
      <dl class="card">
        <dt>{would ? 'Would be accepted' : 'Accepted'}</dt>
        <dd>{formatCount(accepted)}</dd>
        {!would && <dt>Of these, duplicates</dt>}
        {!would && <dd>{formatCount(duplicates)}</dd>}
        <dt>{would ? 'Would still be rejected' : 'Still rejected'}</dt>
        <dd>{formatCount(rejected)}</dd>
      </dl>
      {reasons.length > 0 && (
        <Table
          label="Why some are still rejected"
          rows={reasons}
          empty=""
          columns={[
            { head: 'Error', cell: ({ message }) => message, wide: true },
            { head: 'Bodies', cell: ({ count }) => formatCount(count), numeric: true },
            { head: 'Example', cell: ({ example }) => <BodyLink id={example} /> },
          ]}
        />
      )}
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
          <PostForm action="/console/quarantine/drop" values={values}>
            <Submit kind="danger">Drop {bodies(count)}</Submit>
          </PostForm>
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
