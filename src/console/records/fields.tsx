import { type Family, labelOf, meaningOf, shownGroups, signOf, wrongSums } from '../../families/index.ts';
import type { TypedColumn } from '../../reports/column-kinds.ts';
import type { keptFields, Version } from '../../search/record.ts';
import { FieldValue } from '../ui/field-value.tsx';
import { Amount, Facts, IdLink, Named } from '../ui/values.tsx';

export interface FieldsProps {
  family: Family;
  columns: readonly TypedColumn[];
  /** As far as it may be shown. */
  row: Version['row'];
  /** The fields that its newest delivery did not say, with the delivery that did. */
  kept?: ReturnType<typeof keptFields>;
}

/** A value for people: codes by their meaning, links by their names. The record's own id is no link: it would lead here. */
export function Value({ family, column, row }: Omit<FieldsProps, 'columns'> & { column: TypedColumn }) {
  const { name } = column;
  const value = row[name];
  if (value && family.fields[name]?.meanings?.[value]) return <>{meaningOf(family, name, value)}</>;
  if (value && [family.identifiedBy, family.printed].includes(name)) return <span class="id">{value}</span>;
  return <FieldValue column={column} row={row} />;
}

/** What people read of a record, in groups; empty fields are left out. */
export function Groups({ family, columns, row, kept }: FieldsProps) {
  const groups = Object.entries(shownGroups).map(([group, title]) => {
    const names = Object.keys(family.shown?.[group as keyof typeof shownGroups] ?? {});
    const facts = names.flatMap((name) => {
      const column = columns.find((one) => one.name === name);
      if (!column || !row[name] || row[name] === '[]') return [];
      const since = kept?.get(name);
      const value = (
        <>
          <Value key={name} {...{ family, column, row }} />
          {since && (
            <span class="hint">
              {' '}
              since <IdLink to="deliveries" id={since.delivery} at={since.at} />
            </span>
          )}
        </>
      );
      return [[signOf(family, name) + labelOf(family, name), value]];
    });
    if (group === 'people')
      facts.push(['Business', <Named key="own" kind="business" id={row.business_id} />]);
    return { group, title, facts: Object.fromEntries(facts) };
  });
  return (
    <div class="groups">
      {groups
        .filter(({ facts }) => Object.keys(facts).length > 0)
        .map(({ group, title, facts }) => (
          <section key={group} class={`group-${group}`} aria-labelledby={group}>
            <h2 id={group}>{title}</h2>
            <Facts facts={facts} />
            {group === 'money' && <WrongSums {...{ family, row }} />}
          </section>
        ))}
    </div>
  );
}

/** Names the amounts that are not what they are made of. */
function WrongSums({ family, row }: Omit<FieldsProps, 'columns'>) {
  return wrongSums(family, row).map(({ total, sum }) => (
    <p key={total} class="warn">
      As sent, this does not add up: {labelOf(family, total)} would be <Amount value={sum} />.
    </p>
  ));
}

/** Every field by its own name, in a line that opens. */
export function AsReceived({ family, columns, row }: FieldsProps) {
  const names = columns.filter(
    ({ name }) => name !== 'deleted_at' && !(name === 'extra' && row.extra === '{}'),
  );
  const facts = names.map((column) => [
    column.name === 'extra' ? labelOf(family, 'extra') : column.name,
    row[column.name] === '' ? 'empty' : row[column.name],
  ]);
  return (
    <details class="card">
      <summary>As received</summary>
      <Facts facts={Object.fromEntries(facts)} />
    </details>
  );
}
