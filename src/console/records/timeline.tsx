import { formatDuration, parseMoment } from '../../common/times.ts';
import { actOf, type Family, isShown, labelOf } from '../../families/index.ts';
import { isHidden, redactRow } from '../../privacy/redact.ts';
import type { TypedColumn } from '../../reports/column-kinds.ts';
import { changedColumns, shownVersions, type Version } from '../../search/record.ts';
import { formatCountOf, IdLink } from '../ui/values.tsx';
import { Value } from './fields.tsx';
import { Headline } from './headline.tsx';

interface TimelineProps {
  family: Family;
  columns: readonly TypedColumn[];
  versions: readonly Version[];
  /** The row of a version, as far as it may be shown. */
  shown: (version: Version) => Version['row'];
}

/** What became of a record, the newest first: each change with what it was before. */
export function Timeline({ family, columns, versions, shown }: TimelineProps) {
  // The time of the change changes with every one.
  const told = columns.filter(({ name }) => name !== family.orderedBy);
  return (
    <ol class="timeline">
      {versions.map((version, index) => {
        const before = versions[index + 1];
        const changed = before && changedColumns(told, before, version);
        return (
          <li key={version.row.delivery_id}>
            <p>
              {changed ? (
                <Changes {...{ family, changed, before: shown(before), after: shown(version) }} />
              ) : versions.length < shownVersions ? (
                <>
                  First: <Headline family={family} row={redactRow(version.row, family)} />
                </>
              ) : (
                'Earlier versions are not shown'
              )}
            </p>
            <p class="hint">
              {actOf(family, version.row.last_event!)} at <Happened version={version} />
            </p>
          </li>
        );
      })}
    </ol>
  );
}

/** When it happened, which leads to how it arrived, and how much later, or earlier, it did. */
function Happened({ version: { row, received } }: { version: Version }) {
  const at = parseMoment(row.event_time!);
  const laterMs = at && received ? received.getTime() - at.getTime() : undefined;
  return (
    <>
      {at ? <IdLink to="deliveries" id={row.delivery_id!} at={at} /> : row.event_time}
      {laterMs !== undefined &&
        `, received ${formatDuration(Math.abs(laterMs))} ${laterMs < 0 ? 'earlier' : 'later'}`}
    </>
  );
}

interface ChangesProps extends Pick<TimelineProps, 'family'> {
  changed: readonly TypedColumn[];
  before: Version['row'];
  after: Version['row'];
}

/** Fields that people do not read are only counted. */
function Changes({ family, changed, before, after }: ChangesProps) {
  if (changed.length === 0) return 'Nothing changed';
  const told = changed.filter(
    ({ name }) => name === 'deleted_at' || name === 'extra' || isShown(family, name),
  );
  const others = changed.length - told.length;
  return (
    <>
      {told.map((column, index) => (
        <span key={column.name}>
          {index > 0 && ', '}
          <Change {...{ family, column, before, after }} />
        </span>
      ))}
      {others > 0 &&
        `${told.length > 0 ? ', and ' : ''}${formatCountOf(others, ['other field', 'other fields'])}`}
    </>
  );
}

/** What is hidden says only that it differs. */
function Change({ family, column, before, after }: Omit<ChangesProps, 'changed'> & { column: TypedColumn }) {
  const { name } = column;
  if (name === 'deleted_at') return after.deleted_at ? 'Deleted' : 'Restored';
  const label = <strong>{labelOf(family, name)}</strong>;
  if ([before, after].some((row) => isHidden(row[name]))) return <>{label} changed</>;
  const value = (row: Version['row']) => <Value {...{ family, column, row }} />;
  return (
    <>
      {label} {value(before)} → {value(after)}
    </>
  );
}
