import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { words } from '../../common/words.ts';
import { type AliasKind, isAliasKind } from '../../reconcile/aliases.ts';
import { useMayPost, useVisit } from './context.ts';

interface PostFormProps {
  action: string;
  /** Hidden fields; undefined ones are left out. */
  values?: Record<string, string | undefined>;
  class?: string | undefined;
  /** For screen readers. */
  label?: string | undefined;
  children: ComponentChildren;
}

/** A form that is posted. It is shown to users only who may post it. */
export function PostForm({ action, values = {}, children, class: name, label }: PostFormProps) {
  if (!useMayPost(action)) return null;
  return (
    <form method="post" action={action} class={name} aria-label={label}>
      <Hidden values={values} />
      {children}
    </form>
  );
}

export function PostButton({ kind, children, ...form }: PostFormProps & { kind?: string }) {
  return (
    <PostForm {...form}>
      <Submit kind={kind}>{children}</Submit>
    </PostForm>
  );
}

export function Hidden({ values }: { values: Record<string, string | undefined> }) {
  return (
    <>
      {Object.entries(values).map(
        ([name, value]) =>
          value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
    </>
  );
}

/** `list`: the id of a list of values. */
type FieldProps = Omit<FormField, 'kind'> &
  Partial<Record<'type' | 'value' | 'fault' | 'list', string | undefined>>;

type LabelledProps = Pick<FieldProps, 'label' | 'fault'> & {
  input: (attributes: {
    id: string;
    'aria-invalid'?: true;
    'aria-describedby'?: string;
  }) => ComponentChildren;
};

/** An input with its label and its error. Its id is no other's: two forms of a page may have fields of one name. */
function Labelled({ label, fault, input }: LabelledProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {input(fault ? { id, 'aria-invalid': true, 'aria-describedby': `${id}-fault` } : { id })}
      {fault && (
        <p class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

export function Field({ label, fault, ...input }: FieldProps) {
  return (
    <Labelled
      {...{ label, fault }}
      input={(attributes) => <input type="text" {...attributes} {...(input as object)} />}
    />
  );
}

/** A page does not grow with the aliases. */
const mostOptions = 200;

/**
 * A field for a business, a clinic or a doctor, with a list of those that have an alias: of many, the first. It holds the
 * alias where it may be entered as well as the id.
 */
function AliasField({ kind, byName, value, ...field }: FieldProps & { kind: AliasKind }) {
  const { aliases } = useVisit();
  const list = useId();
  const known = [...(aliases?.[kind] ?? [])].slice(0, mostOptions);
  const shown = (byName && value && aliases?.[kind].get(value)) || value;
  return (
    <>
      <Field {...field} value={shown} list={list} autocomplete="off" />
      <datalist id={list}>
        {known.map(([id, alias]) => (
          <option key={id} value={byName ? alias : id} label={byName ? id : alias} />
        ))}
      </datalist>
    </>
  );
}

type ChoiceField = Extract<FormField, { kind: 'choice' }> & Pick<FieldProps, 'value' | 'fault'>;

function Choice({ label, name, value, fault, options, any = 'any' }: ChoiceField) {
  return (
    <Labelled
      {...{ label, fault }}
      input={(attributes) => (
        <select name={name} {...attributes}>
          {any && <option value="">{any}</option>}
          {options.map((option) => (
            <option key={option} value={option} selected={option === value}>
              {words(option)}
            </option>
          ))}
        </select>
      )}
    />
  );
}

/** Submits its form. `kind` is its style; the main action of a page has none. */
export function Submit({ kind, children }: { kind?: string | undefined; children: ComponentChildren }) {
  return (
    <button type="submit" class={kind}>
      {children}
    </button>
  );
}

/** A field of a form; the ids of businesses, clinics and doctors are pick-lists. */
export type FormField = {
  name: string;
  label: string;
  required?: boolean;
  autocomplete?: string;
  /** Whether an alias may be entered. */
  byName?: boolean | undefined;
} & (
  | { kind?: 'text' | 'date' | 'datetime-local' | AliasKind }
  /** `any` is the choice of none; false: there is no such choice. */
  | { kind: 'choice'; options: readonly string[]; any?: string | false }
);

interface FieldsProps {
  fields: readonly FormField[];
  /** The fields as entered, and their errors. */
  entered?: Readonly<Record<string, string | undefined>>;
  faults?: Readonly<Record<string, string | undefined>>;
}

export function Fields({ fields, entered = {}, faults = {} }: FieldsProps) {
  const input = ({ kind = 'text', byName, ...field }: FormField) => {
    const { name } = field;
    const props = { ...field, key: name, value: entered[name], fault: faults[name] };
    if ('options' in props) return <Choice {...props} kind="choice" />;
    return isAliasKind(kind) ? (
      <AliasField {...props} {...{ kind, byName }} />
    ) : (
      <Field {...props} type={kind} />
    );
  };
  return <div class="fields">{fields.map(input)}</div>;
}

interface EntryFormProps extends FieldsProps, Pick<PostFormProps, 'action' | 'values'> {
  title?: string;
  hint?: string;
  /** The text of the button, and its style. */
  submit: string;
  kind?: string;
}

/** A card with fields to fill in, which are posted. */
export function EntryForm({ action, values = {}, title, hint, submit, kind, ...fields }: EntryFormProps) {
  return (
    <PostForm {...{ action, values }} class="card" label={title}>
      {title && <h2>{title}</h2>}
      {hint && <p class="hint">{hint}</p>}
      <Fields {...fields} />
      <div class="actions">
        <Submit kind={kind}>{submit}</Submit>
      </div>
    </PostForm>
  );
}
