import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { words } from '../../common/words.ts';
import { type AliasKind, isAliasKind } from '../../reconcile/aliases.ts';
import { useMayPost, useVisit, type Values } from './context.ts';

interface PostFormProps {
  action: string;
  /** Hidden fields; undefined ones are left out. */
  values?: Values;
  class?: string | undefined;
  /** For screen readers. */
  label?: string | undefined;
  children: ComponentChildren;
}

/** It is shown only to users who may post it. */
export function PostForm({ action, values = {}, children, class: name, label }: PostFormProps) {
  if (!useMayPost(action)) return null;
  return (
    <form method="post" action={action} class={name} aria-label={label}>
      <Hidden values={values} />
      {children}
    </form>
  );
}

interface PostButtonProps {
  action: string;
  values?: Values;
  text: string;
  /** Its style; '': the main action of the page. */
  kind?: string;
}

export function PostButton({ action, values = {}, text, kind = 'second' }: PostButtonProps) {
  return (
    <PostForm {...{ action, values }}>
      <Submit kind={kind}>{text}</Submit>
    </PostForm>
  );
}

export function Hidden({ values }: { values: Values }) {
  return (
    <>
      {Object.entries(values).map(
        ([name, value]) =>
          value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
    </>
  );
}

export function Submit({ kind, children }: { kind?: string | undefined; children: ComponentChildren }) {
  return (
    <button type="submit" class={kind}>
      {children}
    </button>
  );
}

/** A field of a form; the ids of businesses, clinics and doctors are pick-lists. */
export interface FormField {
  name: string;
  label: string;
  required?: boolean;
  autocomplete?: string;
  kind?: 'text' | 'password' | 'date' | 'datetime-local' | AliasKind;
  /** An alias may be entered as well as the id; the field then holds the alias. */
  byName?: boolean;
  options?: readonly string[];
  /** The choice of none; false: there is no such choice. */
  any?: string | false;
}

interface FieldProps extends FormField {
  value?: string | undefined;
  fault?: string | undefined;
}

/** A page does not grow with the aliases. */
const maxListed = 200;

/** An input with its label and its error. Its id is no other's: two forms of a page may have fields of one name. */
export function Field({
  label,
  fault,
  kind = 'text',
  byName,
  options,
  any = 'any',
  value,
  ...field
}: FieldProps) {
  const id = useId();
  const { aliases } = useVisit();
  const error = fault ? ({ 'aria-invalid': true, 'aria-describedby': `${id}-fault` } as const) : {};
  const attributes = { ...field, ...error, id };
  const names = isAliasKind(kind) ? (aliases?.[kind] ?? new Map<string, string>()) : undefined;
  // Preact's types allow no type that is decided here.
  const typed = (names ? { list: `${id}-names`, autocomplete: 'off' } : { type: kind }) as object;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options ? (
        <select {...attributes}>
          {any && <option value="">{any}</option>}
          {options.map((option) => (
            <option key={option} value={option} selected={option === value}>
              {words(option)}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          {...attributes}
          {...typed}
          value={(byName && value && names?.get(value)) || value}
        />
      )}
      {names && (
        <datalist id={`${id}-names`}>
          {[...names].slice(0, maxListed).map(([id, alias]) => (
            <option key={id} value={byName ? alias : id} label={byName ? id : alias} />
          ))}
        </datalist>
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

interface FieldsProps {
  fields: readonly FormField[];
  entered?: Values;
  faults?: Values;
}

export function Fields({ fields, entered = {}, faults = {} }: FieldsProps) {
  return (
    <div class="fields">
      {fields.map((field) => (
        <Field key={field.name} {...field} value={entered[field.name]} fault={faults[field.name]} />
      ))}
    </div>
  );
}

interface EntryFormProps extends FieldsProps {
  action: string;
  values?: Values;
  title?: string;
  hint?: string;
  submit: string;
}

export function EntryForm({ action, values = {}, title, hint, submit, ...fields }: EntryFormProps) {
  return (
    <PostForm {...{ action, values }} class="card" label={title}>
      {title && <h2>{title}</h2>}
      {hint && <p class="hint">{hint}</p>}
      <Fields {...fields} />
      <div class="actions">
        <Submit kind="second">{submit}</Submit>
      </div>
    </PostForm>
  );
}

interface PersonalProps {
  revealed: boolean;
  /** The page's address; below it, `/personal` shows its personal data. */
  address: string;
}

export function ShowPersonal(props: PersonalProps & { values?: Values; what?: string }) {
  const { revealed, address, values = {}, what = 'personal data' } = props;
  if (revealed) return null;
  return <PostButton action={`${address}/personal`} values={values} text={`Show ${what}`} />;
}

export function PersonalNote(props: PersonalProps & { hiddenAt?: string; children: ComponentChildren }) {
  const { revealed, address, hiddenAt = address, children } = props;
  const mayShow = useMayPost(`${address}/personal`);
  if (!revealed)
    return (
      <p class="note">
        {children} {mayShow ? 'Showing it is logged.' : 'Showing it takes the role desk.'}
      </p>
    );
  return (
    <p class="note">
      This page shows personal data; showing it was logged. <a href={hiddenAt}>Hide it</a>
    </p>
  );
}
