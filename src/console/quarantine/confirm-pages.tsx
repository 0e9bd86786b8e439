import { PostForm, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount } from '../ui/values.tsx';
import { BodyLink } from './pages.tsx';
import { atOnce, type Replayed } from './replay.ts';

type Values = Record<string, string | undefined>;

const bodies = (count: number) => `${formatCount(count)} ${count === 1 ? 'body' : 'bodies'}`;
const leave = <a href="/console/quarantine">Leave everything as it is</a>;

/** What taking in would come to, before it is done. */
export function ConfirmReplay({ found, values }: { found: Replayed; values: Values }) {
  return (
    <>
      <p>
        {bodies(found.matching)} {found.matching === 1 ? 'matches' : 'match'}.
        {found.matching > atOnce && ` At most ${formatCount(atOnce)} are tried at once.`} Checked with today’s
        schemas, and nothing done yet:
      </p>
      <Result found={found} would />
      <div class="actions">
        {found.accepted > 0 && (
          <PostForm action="/console/quarantine/replay" values={values}>
            <Submit>Take in {bodies(found.accepted)}</Submit>
          </PostForm>
        )}
        {leave}
      </div>
    </>
  );
}

export function ReplayDone({ found }: { found: Replayed }) {
  return (
    <>
      <Result found={found} />
      <p>The worker applies what was taken in.</p>
      <p>
        <a href="/console/quarantine">To the quarantine</a>
      </p>
    </>
  );
}

function Result({ found, would = false }: { found: Replayed; would?: boolean }) {
  return (
    <>
      <dl class="card">
        <dt>{would ? 'Would be taken in' : 'Taken in'}</dt>
        <dd>{formatCount(found.accepted)}</dd>
        {!would && <dt>Of these held already</dt>}
        {!would && <dd>{formatCount(found.duplicates)}</dd>}
        <dt>{would ? 'Would still be refused' : 'Still refused'}</dt>
        <dd>{formatCount(found.rejected)}</dd>
      </dl>
      {found.reasons.length > 0 && (
        <Table
          label="Why some are still refused"
          rows={found.reasons}
          empty=""
          columns={[
            { head: 'Why', cell: ({ reason }) => reason, wide: true },
            { head: 'Bodies', cell: (row) => formatCount(row.bodies), numeric: true },
            { head: 'Such as', cell: ({ example }) => <BodyLink id={example} /> },
          ]}
        />
      )}
    </>
  );
}

/** What would be dropped, before it is. */
export function ConfirmDrop({ count, values }: { count: number; values: Values }) {
  return (
    <>
      <p>
        {bodies(count)} would be deleted for good. Their senders were told that they were refused; unless they
        send them again, what they say is lost.
      </p>
      <div class="actions">
        {count > 0 && (
          <PostForm action="/console/quarantine/drop" values={values}>
            <Submit kind="danger">Drop {bodies(count)}</Submit>
          </PostForm>
        )}
        {leave}
      </div>
    </>
  );
}

export function DropDone({ count }: { count: number }) {
  return (
    <>
      <p>{bodies(count)} dropped.</p>
      <p>
        <a href="/console/quarantine">To the quarantine</a>
      </p>
    </>
  );
}
