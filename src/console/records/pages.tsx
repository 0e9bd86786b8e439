import { mayHaveSecrets, withoutHealthRecords } from '../../intake/secrets.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { redactRow } from '../../privacy/redact.ts';
import { keptFields, type RecordDetails, type RecordKey, type Version } from '../../search/record.ts';
import type { Related } from '../../search/related.ts';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, recordHref } from '../ui/links.ts';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';

import { AsReceived, Groups } from './fields.tsx';
import { Headline, RecordLine } from './headline.tsx';
import { Timeline } from './timeline.tsx';

interface RecordProps {
  recordKey: RecordKey;
  record: RecordDetails;
  related: readonly Related[];
  revealed: boolean;
}

export function RecordPage({ recordKey, record, related, revealed }: RecordProps) {
  const { family, business, id } = recordKey;
  const { versions, columns } = record;
  const { row } = versions[0];
  const address = `/console/records/${family.name}`;
  const named = { family: family.name, business, record: id };
  const ofReceipt = family.name === 'receipt' && hrefTo('/deliveries', { business, receipt: id });
  const shown = ({ row }: Version): Version['row'] => {
    if (!revealed) return redactRow(row, family);
    return mayHaveSecrets(row.last_event!) ? { ...row, extra: withoutHealthRecords(row.extra!) } : row;
  };
  const fields = { family, columns, row: shown(versions[0]) };
  return (
    <>
      <p class="headline">
        <Headline family={family} row={redactRow(row, family)} />
      </p>
      <div class="actions">
        <ShowPersonal {...{ revealed, address }} values={{ business, id }} />
        {patientsOfRow(row).length > 0 && (
          <>
            <PostButton action="/console/patients" values={named} kind="second">
              Show the patient
            </PostButton>
            <PostButton action="/console/access-log" values={named} kind="second">
              Who looked at this
            </PostButton>
          </>
        )}
        <a href={ofReceipt || `/console/deliveries/${row.delivery_id}`}>How it arrived</a>
      </div>
      <PersonalNote {...{ revealed, address }} hiddenAt={recordHref(family.name, business, id)}>
        Personal data is hidden.
      </PersonalNote>
      <Groups {...fields} kept={keptFields(row)} />
      <Together related={related} />
      <h2>What became of it</h2>
      <Timeline {...{ family, columns, versions, shown }} />
      <AsReceived {...fields} />
    </>
  );
}

function Together({ related }: Pick<RecordProps, 'related'>) {
  if (related.length === 0) return null;
  return (
    <>
      <h2>Belongs together</h2>
      <ul>
        {related.map((one) => (
          <li key={one.family.name + one.id}>
            <RecordLine {...one} />
          </li>
        ))}
      </ul>
    </>
  );
}
