import type { Request, Response } from 'express';
import { type Family, labelledFields, labelOf, meaningOf, titleOf } from '../../callbacks/families/family.ts';
import { titled } from '../../common/words.ts';
import { hidden, maskRow, withoutContents } from '../../inbox/mask.ts';
import {
  type FamilyRecord,
  findRecord,
  type RecordPage,
  type Row,
  readRecord,
  type Version,
} from '../../inbox/read-record.ts';
import { type Page, PageNotFound } from '../page.ts';
import { readForm, text } from '../read-form.ts';
import { aliasKindOf } from '../reports/report-columns.ts';
import { recordHref } from '../ui/context.ts';
import { PersonalNote, ShowPersonal } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Amount, Empty, Id, IdLink, linkOf, Moment, Named, Nothing, Status } from '../ui/values.tsx';

export const records: Page = (routes, core) => {
  const show = async (req: Request, res: Response, revealed: boolean) => {
    const { data } = readForm(revealed ? req.body : req.query, { business: text, id: text });
    const { business = '', id = '' } = data;
    const key = await findRecord(core, String(req.params.family), business, id);
    const record = key && (await readRecord(core, key));
    if (!record) throw new PageNotFound('There is no such record. It never came, or it was erased.');
    const { subjects, versions } = record;
    const filter = { family: key.family.name, delivery: versions[0]!.id };
    if (revealed) await core.logAccess(res, { action: 'reveal', subjects, filter, rows: versions.length });
    const title = nameOf({ family: key.family, id, row: record.row ?? null });
    sendPage(
      res,
      title,
      <RecordBody {...{ recordKey: key, id, record, revealed, families: core.families }} />,
    );
  };
  routes.get('/records/:family', 'viewer', (req, res) => show(req, res, false));
  routes.post('/records/:family/personal', 'desk', (req, res) => show(req, res, true));
};

interface HeadlineProps {
  family: Family;
  row: Row | null;
}

interface RecordLinkProps extends HeadlineProps {
  businessId: string;
  id: string;
}

function nameOf({ family, row, id }: HeadlineProps & { id: string }): string {
  const number = (family.printedNumber && row?.[family.printedNumber]) || id;
  return `${titled(titleOf(family))}${number.length <= 15 ? ` ${number}` : ''}`;
}

export function RecordLink({ businessId, ...record }: RecordLinkProps) {
  return <a href={recordHref(record.family.name, businessId, record.id)}>{nameOf(record)}</a>;
}

/** Without personal data. */
export function Headline({ family, row }: HeadlineProps) {
  const shown = maskRow(row ?? {}, family);
  const names = (family.headline ?? []).filter((name) => shown[name] && shown[name] !== hidden);
  return (
    <>
      {row?.deleted_at && 'deleted '}
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ' · '}
          <Value {...{ family, name, row: shown }} />{' '}
          {isAmount(family, name) && labelOf(family, name).toLowerCase()}
        </span>
      ))}
    </>
  );
}

const isAmount = ({ fields }: Family, name: string) => fields[name]?.kind === 'amount';

function Value({ family, name, row }: { family: Family; name: string; row: Row }) {
  const value = row[name];
  const { kind, refersTo } = family.fields[name] ?? {};
  const alias = aliasKindOf(name);
  if (value === hidden) return <>{value}</>;
  if (!value) return value === '' ? <Empty /> : <Nothing />;
  if (alias) return <Named kind={alias} id={value} />;
  if (refersTo) return <Id id={value} href={recordHref(refersTo, row.business_id ?? '', value)} />;
  if (kind === 'time' || /_(at|time)$/.test(name)) return <Moment at={new Date(value)} />;
  if (kind === 'amount') return <Amount value={value} />;
  if (kind === 'nested') return <code>{value}</code>;
  return linkOf(value, name) ?? <>{meaningOf(family, name, value)}</>;
}

interface RecordBodyProps {
  recordKey: FamilyRecord;
  id: string;
  record: RecordPage;
  revealed: boolean;
  families: readonly Family[];
}

function RecordBody(props: RecordBodyProps) {
  const { id, record, revealed, families } = props;
  const { family, businessId } = props.recordKey;
  const { versions, isComplete, referring } = record;
  const row = record.row && (revealed ? withoutContents(record.row) : maskRow(record.row, family));
  const address = `/console/records/${family.name}`;
  return (
    <>
      <p class="headline">
        <Headline {...{ family, row: record.row ?? null }} />
      </p>
      <div class="actions">
        <ShowPersonal {...{ revealed, address }} values={{ business: businessId, id }} />
      </div>
      <PersonalNote {...{ revealed, address }} hiddenAt={recordHref(family.name, businessId, id)}>
        Personal data is hidden.
      </PersonalNote>
      {row ? (
        <Fields {...{ family, record, row }} />
      ) : (
        <p class="warning">None of its callbacks was applied yet.</p>
      )}
      {referring.length > 0 && <h2>Refer to it</h2>}
      <ul>
        {referring.map((other) => (
          <li key={other.family + other.id}>
            <RecordLink {...other} family={families.find(({ name }) => name === other.family)!} row={null} />
          </li>
        ))}
      </ul>
      <h2>Callbacks</h2>
      <Versions {...{ family, versions, revealed }} />
      {!isComplete && <p class="note">Older callbacks are not shown.</p>}
    </>
  );
}

function Fields({ family, record, row }: { family: Family; record: RecordPage; row: Row }) {
  const shown = [...labelledFields(family), ...(family.headline ?? []), ...Object.keys(family.fields)];
  const names = [...new Set([...shown, 'business_id', 'client_id', 'deleted_at'])];
  const since = (name: string) => {
    const decided = record.since.get(name);
    return decided && <IdLink to="deliveries" {...decided} />;
  };
  const extra = row.extra && row.extra !== hidden ? (JSON.parse(row.extra) as Record<string, unknown>) : {};
  const documented = names
    .filter((name) => row[name] != null || record.since.has(name))
    .map((name) => ({ name, label: labelOf(family, name), value: <Value {...{ family, name, row }} /> }));
  const further = Object.entries(extra).map(([name, value]) => ({
    name: `extra.${name}`,
    label: <code>{name}</code>,
    value: <code>{JSON.stringify(value)}</code>,
  }));
  return (
    <>
      <Table
        label="Fields"
        rows={[...documented, ...further]}
        columns={[
          { head: 'Field', cell: ({ label }) => label, rowHead: true },
          { head: 'Value', cell: ({ value }) => value, wide: true },
          { head: 'Since', cell: ({ name }) => since(name) },
        ]}
      />
      {row.extra === hidden && <p class="note">Undocumented fields are hidden.</p>}
    </>
  );
}

interface VersionsProps {
  family: Family;
  versions: readonly Version[];
  revealed: boolean;
}

function Versions({ family, versions, revealed }: VersionsProps) {
  /** Undocumented names may be personal. */
  const labels = (keys: readonly string[]) => {
    const shown = keys.filter((key) => revealed || Object.hasOwn(family.fields, key));
    const others = keys.length - shown.length;
    return [...shown.map((key) => labelOf(family, key)), others > 0 && `${others} further`]
      .filter(Boolean)
      .join(', ');
  };
  return (
    <Table
      label="Callbacks, the newest version first"
      rows={versions}
      columns={[
        {
          head: 'Event time',
          cell: ({ id, eventTime }) => <IdLink to="deliveries" id={id} at={eventTime} />,
        },
        { head: 'Event', cell: ({ event }) => event },
        { head: 'Received', cell: ({ receivedAt }) => <Moment at={receivedAt} /> },
        { head: 'Changed', cell: ({ changed }) => labels(changed), wide: true },
        {
          head: 'Said the same',
          cell: ({ keys, changed }) => labels(keys.filter((key) => !changed.includes(key))),
          wide: true,
        },
        {
          head: 'Status',
          cell: ({ status, error, isReduced }) => (
            <>
              <Status status={status} /> {isReduced && 'reduced by an erasure'} {error}
            </>
          ),
          wide: true,
        },
      ]}
    />
  );
}
