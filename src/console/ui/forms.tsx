import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Role } from '../../common/config/value-types.ts';
import { words } from '../../common/words.ts';
import { type AliasKind, isAliasKind } from '../../reconcile/aliases.ts';
import { useMay, useVisit, type Values } from './context.ts';

interface PostFormProps {
  action: string;
  /** The least role that may post it; it is shown to no other user. */
  least: Role;
  /** Hidden fields; undefined ones are left out. */
  values?: Values;
  class?: string | undefined;
  /** For screen readers. */
  label?: string | undefined;
  children?: ComponentChildren;
}

export function PostForm({ action, least, values = {}, children, class: name, label }: PostFormProps) {
  if (!useMay(least)) return null;
  return (
    <form method="post" action={action} class={name} aria-label={label}>
      <Hidden values={values} />
      {children}
    </form>
  );
}

/** @param kind its style: the main action of the page, or one that destroys */
export function PostButton({ text, kind, ...form }: PostFormProps & { text: string; kind?: 'main' | 'bad' }) {
  return (
    <PostForm {...form}>
      <button type="submit" class={kind}>
        {text}
      </button>
    </PostForm>
  );
}

export function Hidden({ values }: { values: Values }) {
  const filled = Object.entries(values).filter(([, value]) => value !== undefined);
  return filled.map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />);
}

/** A field of a form; the ids of businesses, clinics and doctors are pick-lists. */
export interface FormField {
  name: string;
  label: string;
  required?: boolean;
  autocomplete?: string;
  kind?: 'text' | 'password' | 'date' | AliasKind;
  options?: readonly string[];
  value?: string | undefined;
  fault?: string | undefined;
}

/** A page does not grow with the aliases. */
const maxListed = 200;

/** An input with its label and its error. Its id is no other's: two forms of a page may have fields of one name. */
export function Field({ label, fault, kind = 'text', options, value, ...field }: FormField) {
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
          {options.map((option) => (
            <option key={option} value={option} selected={option === value}>
              {words(option)}
            </option>
          ))}
        </select>
      ) : (
        <input type="text" {...attributes} {...typed} value={(value && names?.get(value)) || value} />
      )}
      {names && (
        <datalist id={`${id}-names`}>
          {[...names].slice(0, maxListed).map(([id, alias]) => (
            <option key={id} value={alias} label={id} />
          ))}
        </datalist>
      )}
      {fault && (
        <p class="bad" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
