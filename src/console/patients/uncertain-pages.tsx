import type { ComponentChildren } from 'preact';
import { withoutHealthRecords } from '../../intake/secrets.ts';
import type { UncertainBody } from '../../privacy/erasure/uncertain.ts';
import { PostButton } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { Facts, Moment, Named, Nothing, Verbatim } from '../ui/values.tsx';

const shown: readonly [name: string, value: (body: UncertainBody) => ComponentChildren][] = [
  ['Body', ({ id }) => <span class="id">{id}</span>],
  ['Event', ({ event }) => event ?? <Nothing />],
  ['Business', ({ business_id }) => <Named kind="business" id={business_id} />],
  ['Received', ({ received_at }) => <Moment at={received_at} />],
  ['Erasure', ({ erasure_id }) => <span class="id">{erasure_id}</span>],
];

const valuesOf = ({ id, erasure_id }: UncertainBody) => ({ body: id, erasure: erasure_id });

/** Bodies that contain an erased id as a word, for a person to decide; nothing where there are none. */
export function UncertainBodies({ bodies }: { bodies: readonly UncertainBody[] }) {
  if (bodies.length === 0) return null;
  return (
    <>
      <h2>To decide</h2>
      <p class="note">
        These contain the id of an erased patient as a word, and no key says that it names the patient. They
        are on no other page, in no report and in no feed until somebody decides.
      </p>
      <Table
        label="Bodies with an erased id, oldest first"
        rows={bodies}
        columns={[
          ...shown.map(([head, cell]) => ({ head, cell })),
          {
            head: 'Content',
            cell: (body) => (
              <PostButton action="/console/patients/uncertain" values={valuesOf(body)} kind="small second">
                Show
              </PostButton>
            ),
          },
        ]}
      />
    </>
  );
}

export function UncertainPage({ body }: { body: UncertainBody & { body: string } }) {
  const decideTo = (decision: 'erase' | 'keep') => ({ ...valuesOf(body), decision });
  const action = '/console/patients/uncertain/decide';
  return (
    <>
      <Facts facts={Object.fromEntries(shown.map(([name, value]) => [name, value(body)]))} />
      <div class="actions">
        <PostButton action={action} values={decideTo('erase')} kind="danger">
          Erase
        </PostButton>
        <PostButton action={action} values={decideTo('keep')} kind="second">
          Keep
        </PostButton>
      </div>
      <p class="note">
        This page shows personal data; showing it was logged. What is kept is stored as if it came now.
      </p>
      <Verbatim label="Body as received" text={withoutHealthRecords(body.body)} />
    </>
  );
}
