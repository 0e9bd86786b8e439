import { type AliasKind, aliasKinds } from '../../store/aliases.ts';
import { AliasField, Choice, Field, Hidden, Submit } from './forms.tsx';

/** A field of a filter; the ids of businesses, clinics and doctors are pick-lists. */
export type FilterField = { name: string; label: string } & (
  | { kind?: 'text' | 'date' | 'datetime-local' | AliasKind }
  | { kind: 'choice'; options: readonly string[]; any?: string }
);

interface FiltersProps {
  /** The page's address, which holds the filter. */
  action: string;
  fields: readonly FilterField[];
  /** The fields as entered, and their errors. */
  entered: Readonly<Record<string, string | undefined>>;
  faults?: Readonly<Record<string, string>>;
  /** What else the address keeps. */
  hidden?: Record<string, string | undefined>;
  /** Whether it is a line that opens. */
  folded?: boolean;
}

/** The filter of a list, in its page's address. */
export function Filters({ action, fields, entered, faults = {}, hidden = {}, folded = false }: FiltersProps) {
  const given = fields.filter(({ name }) => entered[name]);
  const form = (
    <form method="get" action={action} class={folded ? undefined : 'card'}>
      <Hidden values={hidden} />
      <div class="fields">
        {fields.map((field) => (
          <FilterInput key={field.name} {...{ field, entered, faults }} />
        ))}
      </div>
      <div class="actions">
        <Submit>Show</Submit>
        {given.length > 0 && <a href={action}>Show all</a>}
      </div>
    </form>
  );
  if (!folded) return form;
  const words = given.map(({ name, label }) => `${label.toLowerCase()} ${entered[name]}`);
  return (
    <>
      <details class="card" open={Object.keys(faults).length > 0}>
        <summary>Filter{words.length > 0 && `: ${words.join(', ')}`}</summary>
        {form}
      </details>
      {given.length > 0 && (
        <p>
          <a href={action}>Show all</a>
        </p>
      )}
    </>
  );
}

const isAliasKind = (kind: string): kind is AliasKind => aliasKinds.some((one) => one === kind);

type InputProps = { field: FilterField } & Required<Pick<FiltersProps, 'entered' | 'faults'>>;

function FilterInput({ field, entered, faults }: InputProps) {
  const { name, label, kind = 'text' } = field;
  const input = { name, label, value: entered[name], fault: faults[name] };
  if (field.kind === 'choice') return <Choice {...input} options={field.options} any={field.any} />;
  return isAliasKind(kind) ? <AliasField {...input} kind={kind} /> : <Field {...input} type={kind} />;
}
